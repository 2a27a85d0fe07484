// Binomial tree: ranks are numbered from the root on; each collects the blocks of its subtrees of 1, 2, 4 … ranks behind its own and
// sends all to its parent in one message. Where the blocks that come to the root go past the last rank, they are copied in two pieces.
// Cost: ⌊log2 p⌋ messages in a row, at most n max(p − q, q / 2) bytes sent, q being the largest power of two below p; the root receives
// n (p − 1) in ⌈log2 p⌉ messages.
// Use it: for small n and many ranks.
#include "coll/gather/gather.hpp"
#include "coll/tree.hpp"

namespace smddp::coll {

Schedule binomial_gather(const Position& position) {
  Builder builder(Collective::kGather, "binomial", position);
  const Tree tree(position);
  const auto size = static_cast<uint32_t>(position.shape.size());
  const Slice own = builder.whole(Buffer::kSend);
  const int places = tree.places_from(tree.place());
  if (!tree.is_root()) {
    if (places > 1) {
      builder.schedule.scratch_slots = static_cast<uint32_t>(places);
      builder.copy(own, builder.block(Buffer::kScratch, 0));
      for (const int child : tree.children()) {
        builder.recv(tree.rank_at(child), builder.block(Buffer::kScratch, static_cast<uint32_t>(child - tree.place()), static_cast<uint32_t>(tree.places_from(child))));
      }
    }
    builder.send(tree.rank_at(tree.parent()), places > 1 ? builder.block(Buffer::kScratch, 0, static_cast<uint32_t>(places)) : own);
    return builder.schedule;
  }
  for (const int child : tree.children()) {
    const auto first = static_cast<uint32_t>(tree.rank_at(child)), blocks = static_cast<uint32_t>(tree.places_from(child));
    if (first + blocks <= size) {
      builder.recv(tree.rank_at(child), builder.block(Buffer::kReceive, first, blocks));
      continue;
    }
    const uint32_t slot = builder.schedule.scratch_slots, before = size - first;
    builder.schedule.scratch_slots += blocks;
    builder.recv(tree.rank_at(child), builder.block(Buffer::kScratch, slot, blocks));
    builder.copy(builder.block(Buffer::kScratch, slot, before), builder.block(Buffer::kReceive, first, before));
    builder.copy(builder.block(Buffer::kScratch, slot + before, blocks - before), builder.block(Buffer::kReceive, 0, blocks - before));
  }
  builder.copy(own, builder.block(Buffer::kReceive, static_cast<uint32_t>(position.root)));
  return builder.schedule;
}

Cost binomial_gather_cost(const Shape& shape) {
  const int p = shape.size();
  return {.rounds = static_cast<double>(floor_log2(p)), .messages = static_cast<double>(ceil_log2(p)), .sent = largest_subtree(p), .received = p - 1.0};
}

}  // namespace smddp::coll
