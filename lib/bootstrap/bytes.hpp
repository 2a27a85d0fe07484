// Little-endian encoding of numbers and texts, and bytes as text. Invariant: a reader never looks beyond its input and stays failed once it has failed,
// so that a decoder may read all its fields and ask once.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace smddp::bootstrap {

class ByteWriter {
 public:
  template <typename T>
  void number(T value) {
    static_assert(std::is_integral_v<T>);
    auto bits = static_cast<std::make_unsigned_t<T>>(value);
    for (size_t i = 0; i < sizeof(T); ++i) bytes_.push_back(static_cast<char>(static_cast<uint64_t>(bits) >> (8 * i)));
  }
  void raw(const void* data, size_t bytes) { bytes_.append(static_cast<const char*>(data), bytes); }
  void text(std::string_view text) {
    number(static_cast<uint32_t>(text.size()));
    raw(text.data(), text.size());
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  T number() {
    static_assert(std::is_integral_v<T>);
    uint64_t bits = 0;
    const char* from = take(sizeof(T));
    for (size_t i = 0; from && i < sizeof(T); ++i) bits |= uint64_t{static_cast<uint8_t>(from[i])} << (8 * i);
    return static_cast<T>(bits);
  }
  void raw(void* data, size_t bytes) {
    if (const char* from = take(bytes)) std::memcpy(data, from, bytes);
  }
  std::string text(size_t most) {
    const auto bytes = number<uint32_t>();
    if (bytes > most) failed_ = true;
    const char* from = take(bytes);
    return from ? std::string(from, bytes) : std::string();
  }
  // Whether all fields were there and nothing follows them.
  bool complete() const { return !failed_ && bytes_.empty(); }
  bool failed() const { return failed_; }

 private:
  const char* take(size_t bytes) {
    if (failed_ || bytes > bytes_.size()) {
      failed_ = true;
      return nullptr;
    }
    const char* from = bytes_.data();
    bytes_.remove_prefix(bytes);
    return from;
  }

  std::string_view bytes_;
  bool failed_ = false;
};

// FNV-1a: finds accidents and strangers, not forgeries.
inline uint64_t checksum(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3u;
  return hash;
}

inline std::string hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<uint8_t>(byte) >> 4];
    text += kDigits[static_cast<uint8_t>(byte) & 15];
  }
  return text;
}

// "" for a text that hex has not written.
inline std::string unhex(std::string_view text) {
  const auto value = [](char digit) { return digit >= '0' && digit <= '9' ? digit - '0' : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1; };
  std::string bytes;
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = value(text[i]), low = i + 1 < text.size() ? value(text[i + 1]) : -1;
    if (high < 0 || low < 0) return "";
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

}  // namespace smddp::bootstrap
