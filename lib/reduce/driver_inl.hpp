// The loop over elements that all kernels share, compiled once for each SIMD target. An operation is a class with
//   first(d, v) → accumulator, next(d, accumulator, v) → accumulator, last(d, accumulator) → v
// over vectors v of the type in memory. Elements are taken in blocks of four vectors, then vectors, then halves of a vector down to
// one element, all by the same operation: what an element's result is does not depend on where it lies.
// Within a block all loads come before all stores, therefore a destination may be one of the sources.
#if defined(SMDDP_REDUCE_DRIVER_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SMDDP_REDUCE_DRIVER_INL
#undef SMDDP_REDUCE_DRIVER_INL
#else
#define SMDDP_REDUCE_DRIVER_INL
#endif

#include "reduce/families.hpp"

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace smddp::reduce {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Byte = unsigned char;

template <class D>
constexpr size_t bytes_of(D d) {
  return hn::MaxLanes(d) * sizeof(hn::TFromD<D>);
}

// Whether it is a vector and not a piece of one: pieces are loaded by memcpy, since Highway would dereference a T* that may be
// misaligned.
template <class D>
constexpr bool is_vector(D d) {
  return HWY_TARGET != HWY_SCALAR && bytes_of(d) >= 16;
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load(D d, const Byte* from) {
  if constexpr (is_vector(d)) {
    return hn::LoadU(d, reinterpret_cast<const T*>(from));
  } else {
    alignas(16) T lanes[hn::MaxLanes(d)];
    std::memcpy(lanes, from, sizeof(lanes));
    return hn::Load(d, lanes);
  }
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store(hn::Vec<D> v, D d, Byte* to) {
  if constexpr (is_vector(d)) {
    hn::StoreU(v, d, reinterpret_cast<T*>(to));
  } else {
    alignas(16) T lanes[hn::MaxLanes(d)];
    hn::Store(v, d, lanes);
    std::memcpy(to, lanes, sizeof(lanes));
  }
}

HWY_INLINE const Byte* source(const Arguments& a, int s, size_t at) { return static_cast<const Byte*>(a.sources[s]) + at; }

enum class Past { kNone, kFirst, kBoth };  // which destinations are written past the cache

template <Past kPast, class D, class T = hn::TFromD<D>>
HWY_INLINE void write(D d, hn::Vec<D> v, const Arguments& a, size_t at) {
  Byte* to = static_cast<Byte*>(a.destinations[0]) + at;
  if constexpr (kPast != Past::kNone) {
    hn::Stream(v, d, reinterpret_cast<T*>(to));
  } else {
    store(v, d, to);
  }
  if constexpr (kPast == Past::kBoth) {
    hn::Stream(v, d, reinterpret_cast<T*>(static_cast<Byte*>(a.destinations[1]) + at));
  } else {
    if (a.destinations[1]) store(v, d, static_cast<Byte*>(a.destinations[1]) + at);
  }
}

template <class Op, class D>
HWY_INLINE void vector_at(const Op& op, D d, const Arguments& a, size_t at) {
  auto x = op.first(d, load(d, source(a, 0, at)));
  for (int s = 1; s < a.source_count; ++s) x = op.next(d, x, load(d, source(a, s, at)));
  write<Past::kNone>(d, op.last(d, x), a, at);
}

template <Past kPast, class Op, class D>
HWY_INLINE void block_at(const Op& op, D d, const Arguments& a, size_t at) {
  constexpr size_t kStep = bytes_of(D());
  const Byte* from = source(a, 0, at);
  auto x0 = op.first(d, load(d, from));
  auto x1 = op.first(d, load(d, from + kStep));
  auto x2 = op.first(d, load(d, from + 2 * kStep));
  auto x3 = op.first(d, load(d, from + 3 * kStep));
  for (int s = 1; s < a.source_count; ++s) {
    from = source(a, s, at);
    x0 = op.next(d, x0, load(d, from));
    x1 = op.next(d, x1, load(d, from + kStep));
    x2 = op.next(d, x2, load(d, from + 2 * kStep));
    x3 = op.next(d, x3, load(d, from + 3 * kStep));
  }
  write<kPast>(d, op.last(d, x0), a, at);
  write<kPast>(d, op.last(d, x1), a, at + kStep);
  write<kPast>(d, op.last(d, x2), a, at + 2 * kStep);
  write<kPast>(d, op.last(d, x3), a, at + 3 * kStep);
}

// The end of the range, less than one vector of D.
template <class Op, class D>
HWY_INLINE void pieces(const Op& op, D, const Arguments& a, size_t at, size_t end) {
  if constexpr (hn::MaxLanes(D()) > 1) {
    const hn::Half<D> half;
    if (end - at >= bytes_of(half)) {
      vector_at(op, half, a, at);
      at += bytes_of(half);
    }
    pieces(op, half, a, at, end);
  }
}

// Bytes at … end of all buffers.
template <class Op, class D>
HWY_NOINLINE void range(const Op& op, D d, const Arguments& a, size_t at, size_t end) {
  constexpr size_t kStep = bytes_of(D());
  for (; end - at >= 4 * kStep; at += 4 * kStep) block_at<Past::kNone>(op, d, a, at);
  for (; end - at >= kStep; at += kStep) vector_at(op, d, a, at);
  pieces(op, d, a, at, end);
}

// Applies op to all elements, of type T in memory.
template <class T, class Op>
HWY_INLINE void run(const Op& op, const Arguments& a) {
  const hn::ScalableTag<T> d;
  constexpr size_t kBlock = 4 * bytes_of(hn::ScalableTag<T>());
  constexpr size_t kLine = 64;
  const size_t end = a.count * sizeof(T);
  const uintptr_t address = reinterpret_cast<uintptr_t>(a.destinations[0]);
  if (HWY_LIKELY(!a.stream || end < 2 * kBlock + kLine || address % sizeof(T) != 0)) return range(op, d, a, 0, end);
  size_t at = -address % kLine;
  range(op, d, a, 0, at);
  if (a.stream_second && reinterpret_cast<uintptr_t>(a.destinations[1]) % kLine == address % kLine) {
    for (; end - at >= kBlock; at += kBlock) block_at<Past::kBoth>(op, d, a, at);
  } else {
    for (; end - at >= kBlock; at += kBlock) block_at<Past::kFirst>(op, d, a, at);
  }
  hwy::FlushStream();
  range(op, d, a, at, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace smddp::reduce
HWY_AFTER_NAMESPACE();

#endif
