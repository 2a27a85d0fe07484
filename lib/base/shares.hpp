// Cutting vectors: into shares among ranks, into segments of a pipeline. One arithmetic for the whole library.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace smddp {

struct Range {
  size_t begin = 0, length = 0;  // elements
};

// Shares are cut on this boundary, so that every level of splitting keeps alignment.
constexpr size_t kShareElements = 64;

// Share r of a vector of count elements cut into n. Earlier shares are never shorter than later ones.
constexpr Range share_of(size_t count, int n, int r) {
  const size_t blocks = (count + kShareElements - 1) / kShareElements;
  const size_t each = blocks / static_cast<size_t>(n), more = blocks % static_cast<size_t>(n);
  const size_t rank = static_cast<size_t>(r);
  const size_t first = rank * each + std::min(rank, more);
  const size_t last = first + each + (rank < more ? 1 : 0);
  const size_t begin = std::min(first * kShareElements, count);
  return {begin, std::min(last * kShareElements, count) - begin};
}

// Shares first … first + shares − 1 of n: adjacent ones are one range.
constexpr Range shares_of(size_t count, int n, int first, int shares) {
  if (shares == 0) return {};
  const Range low = share_of(count, n, first), high = share_of(count, n, first + shares - 1);
  return {low.begin, high.begin + high.length - low.begin};
}

// Part of segment k, of so many elements, in a piece of length elements.
constexpr Range segment_of(size_t length, uint32_t k, size_t elements) {
  const size_t begin = std::min(static_cast<size_t>(k) * elements, length);
  return {begin, std::min(elements, length - begin)};
}

}  // namespace smddp
