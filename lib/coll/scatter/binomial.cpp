// Binomial tree: ranks are numbered from the root on; the root sends the blocks of each of its subtrees in one message, the largest
// first, and each rank passes on the blocks of its own subtrees. Blocks that go past the last rank are first copied into one piece.
// Cost: ⌊log2 p⌋ messages in a row; the root sends n (p − 1) bytes in ⌈log2 p⌉ messages, others receive at most n max(p − q, q / 2), q being
// the largest power of two below p.
// Use it: for small n and many ranks.
#include "coll/scatter/scatter.hpp"
#include "coll/tree.hpp"

namespace smddp::coll {

Schedule binomial_scatter(const Position& position) {
  Builder builder(Collective::kScatter, "binomial", position);
  const Tree tree(position);
  const auto size = static_cast<uint32_t>(position.shape.size());
  const Slice own = builder.whole(Buffer::kReceive);
  std::vector<int> children = tree.children();
  std::reverse(children.begin(), children.end());
  if (!tree.is_root()) {
    const int places = tree.places_from(tree.place());
    if (places == 1) {
      builder.recv(tree.rank_at(tree.parent()), own);
      return builder.schedule;
    }
    builder.schedule.scratch_slots = static_cast<uint32_t>(places);
    builder.recv(tree.rank_at(tree.parent()), builder.block(Buffer::kScratch, 0, static_cast<uint32_t>(places)));
    for (const int child : children) {
      builder.send(tree.rank_at(child), builder.block(Buffer::kScratch, static_cast<uint32_t>(child - tree.place()), static_cast<uint32_t>(tree.places_from(child))));
    }
    builder.copy(builder.block(Buffer::kScratch, 0), own);
    return builder.schedule;
  }
  for (const int child : children) {
    const auto first = static_cast<uint32_t>(tree.rank_at(child)), blocks = static_cast<uint32_t>(tree.places_from(child));
    if (first + blocks <= size) {
      builder.send(tree.rank_at(child), builder.block(Buffer::kSend, first, blocks));
      continue;
    }
    const uint32_t slot = builder.schedule.scratch_slots, before = size - first;
    builder.schedule.scratch_slots += blocks;
    builder.copy(builder.block(Buffer::kSend, first, before), builder.block(Buffer::kScratch, slot, before));
    builder.copy(builder.block(Buffer::kSend, 0, blocks - before), builder.block(Buffer::kScratch, slot + before, blocks - before));
    builder.send(tree.rank_at(child), builder.block(Buffer::kScratch, slot, blocks));
  }
  builder.copy(builder.block(Buffer::kSend, static_cast<uint32_t>(position.root)), own);
  return builder.schedule;
}

Cost binomial_scatter_cost(const Shape& shape) {
  const int p = shape.size();
  return {.rounds = static_cast<double>(floor_log2(p)), .messages = static_cast<double>(ceil_log2(p)), .sent = p - 1.0, .received = largest_subtree(p)};
}

}  // namespace smddp::coll
