// Schedules of all ranks, and the shapes that tests go through.
#pragma once

#include "coll/algorithms.hpp"
#include "coll/verify/verify.hpp"

#include <algorithm>
#include <vector>

namespace schedules {

using namespace smddp;

// Also those of the servers that take part.
inline std::vector<coll::Schedule> all_ranks(const coll::Algorithm& algorithm, const coll::Shape& shape, int root = 0) {
  std::vector<coll::Schedule> ranks;
  for (int rank = 0; rank < shape.size(); ++rank) ranks.push_back(algorithm.schedule({shape, rank, root}));
  for (int server = 0; server < ranks[0].servers; ++server) ranks.push_back(algorithm.schedule({shape, shape.size() + server, root}));
  return ranks;
}

// Flat, equal, unequal nodes, and ranks that are not consecutive on their node.
inline std::vector<coll::Shape> uneven_shapes() {
  using coll::Shape;
  return {Shape::of_sizes({2, 2}),    Shape::of_sizes({3, 1}),          Shape::of_sizes({1, 3}),    Shape::of_sizes({4, 1, 2}),
          Shape::of_sizes({2, 2, 2}), Shape::of_sizes({3, 5}),          Shape::of_sizes({4}),       Shape::of_sizes({4, 4, 4, 4}),
          Shape::of_sizes({1, 1, 7}), Shape::of_labels({0, 1, 0, 1}),   Shape::of_labels({2, 0, 1, 0, 2, 2, 1}),
          Shape::of_labels({0, 1, 2, 0, 1, 2, 0, 1, 2, 0})};
}

inline coll::Shape with_servers(coll::Shape shape, int servers) {
  shape.servers = servers;
  return shape;
}

inline bool has_root(Collective collective) {
  return collective == Collective::kBroadcast || collective == Collective::kReduce || collective == Collective::kGather ||
         collective == Collective::kScatter;
}

// Whether the schedule has a form for buffers in place.
inline bool has_in_place(Collective collective) {
  return collective != Collective::kAlltoall && collective != Collective::kBroadcast && collective != Collective::kBarrier;
}

}  // namespace schedules
