// What each collective moves: who contributes how much, who reads whose contribution. Pure functions of call, rank and size.
#pragma once

#include "node/operation.hpp"

#include <algorithm>

namespace smddp::node {

// Elements of one rank's share are cut on this boundary, so that every level of splitting keeps alignment.
constexpr size_t kShareElements = 64;

// Every rank reads every rank's contribution, so that a finished operation proves that all have entered it.
constexpr bool full_exchange(Collective collective) {
  return collective != Collective::kBroadcast && collective != Collective::kScatter && collective != Collective::kReduce &&
         collective != Collective::kGather;
}

constexpr bool has_root_source(Collective collective) {
  return collective == Collective::kBroadcast || collective == Collective::kScatter;
}

constexpr bool has_root_target(Collective collective) {
  return collective == Collective::kReduce || collective == Collective::kGather;
}

constexpr bool reduces(Collective collective) {
  return collective == Collective::kAllreduce || collective == Collective::kReduce || collective == Collective::kReduceScatter ||
         collective == Collective::kReduceShares;
}

// One vector is cut into a share for each rank, rather than being made of blocks of count.
constexpr bool cuts_shares(Collective collective) {
  return collective == Collective::kAllreduce || collective == Collective::kReduce || collective == Collective::kReduceShares ||
         collective == Collective::kGatherShares;
}

// sendbuf holds a block for each rank.
constexpr bool sends_blocks(Collective collective) {
  return collective == Collective::kReduceScatter || collective == Collective::kAlltoall || collective == Collective::kScatter;
}

// Bytes of a rank's contribution; the same on all ranks, whether they contribute or not.
constexpr size_t contribution_bytes(const Call& call, int size) {
  const size_t block = call.count * dtype_bytes(call.dtype);
  return sends_blocks(call.collective) ? block * static_cast<size_t>(size) : block;
}

constexpr bool contributes(const Call& call, int rank) { return !has_root_source(call.collective) || rank == call.root; }

// Whether rank gets a result, from any rank; from peer.
constexpr bool reads(const Call& call, int rank) {
  if (call.collective == Collective::kBroadcast) return rank != call.root;
  return !has_root_target(call.collective) || rank == call.root;
}
constexpr bool reads_from(const Call& call, int rank, int peer) { return reads(call, rank) && contributes(call, peer); }

// Large operations have one or both of two phases. Exchange: each rank exposes a piece for every other, each reduces or collects the
// pieces for its own share. Share: each rank exposes one piece that all, or the root, read.
constexpr bool has_exchange(Collective collective) {
  return reduces(collective) || collective == Collective::kAlltoall || collective == Collective::kScatter;
}
constexpr bool has_share(Collective collective) {
  return collective != Collective::kReduceScatter && collective != Collective::kAlltoall && collective != Collective::kScatter &&
         collective != Collective::kReduceShares;
}

struct Range {
  size_t begin = 0, length = 0;  // elements
};

// Share of rank r of a vector of count elements cut among n ranks.
constexpr Range share_of(size_t count, int n, int r) {
  const size_t blocks = (count + kShareElements - 1) / kShareElements;
  const size_t each = blocks / static_cast<size_t>(n), more = blocks % static_cast<size_t>(n);
  const size_t rank = static_cast<size_t>(r);
  const size_t first = rank * each + std::min(rank, more);
  const size_t last = first + each + (rank < more ? 1 : 0);
  const size_t begin = std::min(first * kShareElements, count);
  return {begin, std::min(last * kShareElements, count) - begin};
}

// Part of segment k, of so many elements, in a piece of length elements.
constexpr Range segment_of(size_t length, uint32_t k, size_t elements) {
  const size_t begin = std::min(static_cast<size_t>(k) * elements, length);
  return {begin, std::min(elements, length - begin)};
}

}  // namespace smddp::node
