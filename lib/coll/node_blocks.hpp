// The blocks of a node's ranks, adjacent and in local order, as node steps and messages want them: in the buffer itself where the ranks
// are consecutive, else in scratch, from or to which they are copied. And the one rank of a node that speaks for it.
#pragma once

#include "coll/builder.hpp"

namespace smddp::coll {

class NodeBlocks {
 public:
  // Takes scratch slots after those that the schedule has.
  NodeBlocks(Builder& builder, const Shape& shape, Buffer buffer, uint32_t first_block = 0);

  Slice of(int node) const;
  void pack(int node);    // buffer → of(node)
  void unpack(int node);  // of(node) → buffer

 private:
  void copy(int node, bool pack);

  Builder& builder_;
  const Shape& shape_;
  Buffer buffer_;
  uint32_t first_block_;
  std::vector<int64_t> slots_;  // of each node; −1: consecutive
};

// The root on its node, else the lowest rank.
int representative(const Shape& shape, int node, int root);
std::vector<int> representatives(const Shape& shape, int root);

// Most ranks of a node; fewest: Shape::lanes.
int largest_node(const Shape& shape);

}  // namespace smddp::coll
