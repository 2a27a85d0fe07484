// Which numbers of a sequence have been seen, when they come in any order: all below `next_`, and those in a window above it.
#pragma once

#include <array>
#include <cstdint>

namespace smddp::transport {

class NumberFilter {
 public:
  static constexpr uint32_t kWindow = 4096;

  // True the first time for each number. Numbers beyond the window are refused: their sender is not that far ahead.
  bool add(uint32_t number) {
    const uint32_t ahead = number - next_;
    if (ahead >= kWindow || test(number)) return false;
    set(number, true);
    while (test(next_)) set(next_++, false);
    return true;
  }

  // All numbers below this one have been added.
  uint32_t next() const { return next_; }

  // Whether it was added before.
  bool seen(uint32_t number) const {
    const uint32_t ahead = number - next_;
    return ahead < kWindow ? test(number) : static_cast<int32_t>(ahead) < 0;
  }

 private:
  bool test(uint32_t number) const { return bits_[(number % kWindow) / 64] >> (number % 64) & 1; }
  void set(uint32_t number, bool value) {
    uint64_t& word = bits_[(number % kWindow) / 64];
    word = value ? word | uint64_t{1} << (number % 64) : word & ~(uint64_t{1} << (number % 64));
  }

  uint32_t next_ = 0;
  std::array<uint64_t, kWindow / 64> bits_{};
};

}  // namespace smddp::transport
