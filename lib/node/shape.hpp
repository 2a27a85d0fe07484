// What each collective moves: who contributes how much, who reads whose contribution. Pure functions of call, rank and size.
#pragma once

#include "base/shares.hpp"
#include "node/operation.hpp"

namespace smddp::node {

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

// Share of rank r in a call that cuts its vector among the ranks of a node.
constexpr Range share_of(const Call& call, int size, int r) {
  if (!call.lanes) return smddp::share_of(call.count, size, r);
  const int each = call.parts / call.lanes;
  return r < call.lanes ? shares_of(call.count, call.parts, r * each, each) : Range{call.count, 0};
}

}  // namespace smddp::node
