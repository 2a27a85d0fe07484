#include "coll/node_blocks.hpp"

#include <algorithm>

namespace smddp::coll {

NodeBlocks::NodeBlocks(Builder& builder, const Shape& shape, Buffer buffer, uint32_t first_block)
    : builder_(builder), shape_(shape), buffer_(buffer), first_block_(first_block) {
  for (const auto& ranks : shape.nodes) {
    const bool consecutive = ranks.back() - ranks.front() + 1 == static_cast<int>(ranks.size());
    slots_.push_back(consecutive ? -1 : static_cast<int64_t>(builder.schedule.scratch_slots));
    if (!consecutive) builder.schedule.scratch_slots += static_cast<uint32_t>(ranks.size());
  }
}

Slice NodeBlocks::of(int node) const {
  const auto& ranks = shape_.nodes[static_cast<size_t>(node)];
  const auto count = static_cast<uint32_t>(ranks.size());
  const int64_t slot = slots_[static_cast<size_t>(node)];
  if (slot >= 0) return builder_.block(Buffer::kScratch, static_cast<uint32_t>(slot), count);
  return builder_.block(buffer_, first_block_ + static_cast<uint32_t>(ranks[0]), count);
}

void NodeBlocks::pack(int node) { copy(node, true); }
void NodeBlocks::unpack(int node) { copy(node, false); }

void NodeBlocks::copy(int node, bool pack) {
  const auto& ranks = shape_.nodes[static_cast<size_t>(node)];
  const int64_t slot = slots_[static_cast<size_t>(node)];
  if (slot < 0) return;
  for (size_t i = 0; i < ranks.size();) {  // a run of consecutive ranks at a time
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    const auto run = static_cast<uint32_t>(end - i);
    const Slice packed = builder_.block(Buffer::kScratch, static_cast<uint32_t>(slot) + static_cast<uint32_t>(i), run);
    const Slice spread = builder_.block(buffer_, first_block_ + static_cast<uint32_t>(ranks[i]), run);
    builder_.copy(pack ? spread : packed, pack ? packed : spread);
    i = end;
  }
}

int representative(const Shape& shape, int node, int root) {
  return shape.places[static_cast<size_t>(root)].node == node ? root : shape.nodes[static_cast<size_t>(node)][0];
}

std::vector<int> representatives(const Shape& shape, int root) {
  std::vector<int> ranks;
  for (int node = 0; node < shape.node_count(); ++node) ranks.push_back(representative(shape, node, root));
  return ranks;
}

int largest_node(const Shape& shape) {
  size_t most = 0;
  for (const auto& ranks : shape.nodes) most = std::max(most, ranks.size());
  return static_cast<int>(most);
}


}  // namespace smddp::coll
