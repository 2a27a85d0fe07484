// Writes the schedule of one rank, step by step in a sequential order. Invariant: of two steps that touch the same memory, one of them
// writing, the later one comes after the earlier one, and no dependency serves another end; so an algorithm states what moves, and
// everything else may run at the same time. Both ways to call a collective count: buffers apart, and in place.
#pragma once

#include "coll/schedule.hpp"
#include "coll/shape.hpp"

#include <map>

namespace smddp::coll {

// What a schedule is made for.
struct Position {
  const Shape& shape;
  int rank = 0;  // shape.size() + s: server s
  int root = 0;
};

class Builder {
 public:
  Builder(Collective collective, const char* algorithm, const Position& position);

  Schedule schedule;  // segmented, parts, lanes, scratch_slots and slot_shares are the algorithm's to set

  // All shares of a block of a buffer; count blocks from it on.
  Slice block(Buffer buffer, uint32_t block, uint32_t blocks = 1) const { return {buffer, block, blocks, 0, schedule.parts}; }
  Slice whole(Buffer buffer) const { return block(buffer, 0); }
  Slice share(Buffer buffer, uint32_t first, uint32_t shares = 1) const { return {buffer, 0, 1, first, shares}; }
  // Shares first … of a block, in a slot of scratch.
  static Slice scratch(uint32_t slot, uint32_t first, uint32_t shares = 1) { return {Buffer::kScratch, slot, 1, first, shares}; }

  // Each returns the index of the step. Messages are numbered: the k-th send to a peer meets its k-th receive from this rank.
  uint32_t send(int peer, const Slice& source);
  uint32_t recv(int peer, const Slice& target);
  uint32_t copy(const Slice& source, const Slice& target);
  uint32_t reduce(std::vector<Slice> inputs, const Slice& target, bool finish);
  uint32_t node(NodeStep node, const Slice& source, const Slice& target, int local_root = 0, bool finish = false);

  // For messages without data, whose order no memory gives.
  void order(uint32_t before, uint32_t after);

 private:
  struct Accesses {
    int64_t writer = -1;
    std::vector<uint32_t> readers;  // since
  };
  using Memory = std::map<uint64_t, Accesses>;

  uint32_t add(ScheduleStep step);
  std::vector<uint64_t> places(const Slice& slice, bool in_place) const;
  void depend(ScheduleStep& step, std::vector<uint32_t> candidates);
  void follow(uint32_t step, uint32_t earlier);

  Memory memory_[2];                              // buffers apart, in place
  std::vector<std::vector<uint64_t>> ancestors_;  // of each step, a bit for each
  int64_t last_node_ = -1;
  std::map<int, uint32_t> sent_, received_;       // messages with each peer
};

}  // namespace smddp::coll
