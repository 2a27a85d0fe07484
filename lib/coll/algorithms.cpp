#include "coll/algorithms.hpp"

#include "base/error.hpp"
#include "coll/allgather/allgather.hpp"
#include "coll/allreduce/allreduce.hpp"
#include "coll/alltoall/alltoall.hpp"
#include "coll/barrier/barrier.hpp"
#include "coll/broadcast/broadcast.hpp"
#include "coll/gather/gather.hpp"
#include "coll/reduce/reduce.hpp"
#include "coll/reduce_scatter/reduce_scatter.hpp"
#include "coll/scatter/scatter.hpp"

namespace smddp::coll {

const std::vector<Algorithm>& algorithms() {
  static const std::vector<Algorithm> table = {
      {Collective::kAllreduce, "sharded", sharded_allreduce, sharded_allreduce_cost},
      {Collective::kAllreduce, "hierarchical", hierarchical_allreduce, hierarchical_allreduce_cost},
      {Collective::kAllreduce, "hierarchical_one_hop", hierarchical_one_hop_allreduce, hierarchical_one_hop_allreduce_cost},
      {Collective::kAllreduce, "one_hop", one_hop_allreduce, one_hop_allreduce_cost},
      {Collective::kAllreduce, "ring", ring_allreduce, ring_allreduce_cost, kRoundsOften},
      {Collective::kAllreduce, "recursive_doubling", recursive_doubling_allreduce, recursive_doubling_allreduce_cost, kRoundsOften},
      {Collective::kAllreduce, "halving_doubling", halving_doubling_allreduce, halving_doubling_allreduce_cost, kRoundsOften},
      {Collective::kAllreduce, "servers", servers_allreduce, servers_allreduce_cost, 0, servers_fit},
      {Collective::kBroadcast, "binomial", binomial_broadcast, binomial_broadcast_cost},
      {Collective::kBroadcast, "one_hop", one_hop_broadcast, one_hop_broadcast_cost},
      {Collective::kBroadcast, "hierarchical_one_hop", hierarchical_one_hop_broadcast, hierarchical_one_hop_broadcast_cost},
      {Collective::kBroadcast, "scatter_allgather", scatter_allgather_broadcast, scatter_allgather_broadcast_cost},
      {Collective::kBroadcast, "hierarchical", hierarchical_broadcast, hierarchical_broadcast_cost},
      {Collective::kBroadcast, "hierarchical_scatter_allgather", hierarchical_scatter_allgather_broadcast, hierarchical_scatter_allgather_broadcast_cost},
      {Collective::kReduce, "binomial", binomial_reduce, binomial_reduce_cost, kRoundsOften},
      {Collective::kReduce, "one_hop", one_hop_reduce, one_hop_reduce_cost},
      {Collective::kReduce, "sharded", sharded_reduce, sharded_reduce_cost},
      {Collective::kReduce, "hierarchical", hierarchical_reduce, hierarchical_reduce_cost},
      {Collective::kAllgather, "one_hop", one_hop_allgather, one_hop_allgather_cost},
      {Collective::kAllgather, "ring", ring_allgather, ring_allgather_cost},
      {Collective::kAllgather, "bruck", bruck_allgather, bruck_allgather_cost, kWhole},
      {Collective::kAllgather, "hierarchical", hierarchical_allgather, hierarchical_allgather_cost, kWhole},
      {Collective::kReduceScatter, "one_hop", one_hop_reduce_scatter, one_hop_reduce_scatter_cost},
      {Collective::kReduceScatter, "ring", ring_reduce_scatter, ring_reduce_scatter_cost, kRoundsOften},
      {Collective::kReduceScatter, "recursive_halving", recursive_halving_reduce_scatter, recursive_halving_reduce_scatter_cost, kWhole | kRoundsOften, recursive_halving_fits},
      {Collective::kReduceScatter, "hierarchical", hierarchical_reduce_scatter, hierarchical_reduce_scatter_cost, kWhole},
      {Collective::kAlltoall, "one_hop", one_hop_alltoall, one_hop_alltoall_cost},
      {Collective::kAlltoall, "pairwise", pairwise_alltoall, pairwise_alltoall_cost},
      {Collective::kAlltoall, "hierarchical", hierarchical_alltoall, hierarchical_alltoall_cost, kWhole},
      {Collective::kGather, "one_hop", one_hop_gather, one_hop_gather_cost},
      {Collective::kGather, "binomial", binomial_gather, binomial_gather_cost, kWhole},
      {Collective::kGather, "hierarchical", hierarchical_gather, hierarchical_gather_cost, kWhole},
      {Collective::kScatter, "one_hop", one_hop_scatter, one_hop_scatter_cost},
      {Collective::kScatter, "binomial", binomial_scatter, binomial_scatter_cost, kWhole},
      {Collective::kScatter, "hierarchical", hierarchical_scatter, hierarchical_scatter_cost, kWhole},
      {Collective::kBarrier, "dissemination", dissemination_barrier, dissemination_barrier_cost, kWhole},
      {Collective::kBarrier, "hierarchical", hierarchical_barrier, hierarchical_barrier_cost, kWhole},
  };
  return table;
}

uint8_t number_of(const Algorithm& algorithm) { return static_cast<uint8_t>(&algorithm - algorithms().data() + 1); }

const Algorithm* algorithm_of(uint8_t number) { return number && number <= algorithms().size() ? &algorithms()[number - 1u] : nullptr; }

const Algorithm* find_algorithm(Collective collective, const std::string& name) {
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.collective == collective && algorithm.name == name) return &algorithm;
  }
  return nullptr;
}

std::string algorithm_names(Collective collective) {
  std::string names;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.collective == collective) names += (names.empty() ? "" : ", ") + std::string(algorithm.name);
  }
  return names;
}

std::string no_algorithm(Collective collective, const std::string& name) {
  return format("%s has no algorithm '%s'; it has %s", collective_name(collective), name.c_str(), algorithm_names(collective).c_str());
}

const Algorithm& algorithm_named(Collective collective, const std::string& name, const Shape& shape) {
  const Algorithm* algorithm = find_algorithm(collective, name);
  if (!algorithm) throw Error(SMDDP_ERR_INVALID_ARGUMENT, no_algorithm(collective, name));
  if (algorithm->fits && shape.node_count() > 1 && !algorithm->fits(shape)) {
    throw Error(SMDDP_ERR_INVALID_ARGUMENT, format("%s by %s is not for %s", collective_name(collective), name.c_str(), describe(shape).c_str()));
  }
  return *algorithm;
}

}  // namespace smddp::coll
