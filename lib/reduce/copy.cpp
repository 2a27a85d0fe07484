// Copies, past the cache where the caller asks for it and the size is worth it. Source and destination are equal or do not overlap.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/copy.cpp"
#include "reduce/targets.hpp"

#include <hwy/foreach_target.h>

#include "reduce/driver_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace smddp::reduce {
namespace HWY_NAMESPACE {

// Whole cache lines from an aligned destination on.
void stream_lines(Byte* to, const Byte* from, size_t bytes) {
  const hn::ScalableTag<uint64_t> d;
  constexpr size_t kStep = bytes_of(hn::ScalableTag<uint64_t>());
  for (size_t at = 0; at < bytes; at += 4 * kStep) {
    const auto x0 = load(d, from + at), x1 = load(d, from + at + kStep);
    const auto x2 = load(d, from + at + 2 * kStep), x3 = load(d, from + at + 3 * kStep);
    hn::Stream(x0, d, reinterpret_cast<uint64_t*>(to + at));
    hn::Stream(x1, d, reinterpret_cast<uint64_t*>(to + at + kStep));
    hn::Stream(x2, d, reinterpret_cast<uint64_t*>(to + at + 2 * kStep));
    hn::Stream(x3, d, reinterpret_cast<uint64_t*>(to + at + 3 * kStep));
  }
  hwy::FlushStream();
}

}  // namespace HWY_NAMESPACE
}  // namespace smddp::reduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace smddp::reduce {
HWY_EXPORT(stream_lines);

void copy(void* destination, const void* source, size_t bytes, bool stream) {
  constexpr size_t kSmall = 4096, kLine = 64, kBlock = 256;  // a block is a multiple of what stream_lines moves at a time
  if (bytes == 0 || destination == source) return;
  if (!stream || bytes < kSmall) {
    std::memcpy(destination, source, bytes);
    return;
  }
  unsigned char* to = static_cast<unsigned char*>(destination);
  const unsigned char* from = static_cast<const unsigned char*>(source);
  const size_t head = -reinterpret_cast<uintptr_t>(to) % kLine;
  const size_t body = (bytes - head) / kBlock * kBlock;
  std::memcpy(to, from, head);
  HWY_DYNAMIC_DISPATCH(stream_lines)(to + head, from + head, body);
  std::memcpy(to + head + body, from + head + body, bytes - head - body);
}

}  // namespace smddp::reduce
#endif
