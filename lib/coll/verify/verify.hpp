// Proves that the schedules of all ranks together are a collective: runs them on symbols instead of numbers, and looks at the order of
// their steps instead of at one run, so what it says holds for every order in which messages arrive.
#pragma once

#include "coll/schedule.hpp"
#include "coll/shape.hpp"

namespace smddp::coll {

// How the collective is called.
struct Trial {
  size_t count = 1000;
  uint32_t segments = 1;  // of equal length, the last one shorter
  uint32_t window = 1;    // segments under way at a time
  bool in_place = false;
};

// The most that any rank does.
struct Traffic {
  uint32_t rounds = 0;        // longest chain of messages, each after the one before has come
  uint32_t messages = 0;      // sent or received
  size_t sent_elements = 0, received_elements = 0;
  size_t added_elements = 0;  // inputs of reductions outside node steps
};

struct Verdict {
  std::string problem;  // empty: none
  Traffic traffic;
};

// ranks: the schedule of each rank of shape and then of each server that takes part, at most 64. What is proved: each schedule is well formed; every message has one sender and
// one receiver, who agree about its length; node steps are the same on all ranks of a node and come in the same order; nothing waits in
// a circle, even if a send ends only when its receive has begun; no two steps that may run at the same time touch the same memory, one
// of them writing; nothing undefined is read, nor a buffer that the caller need not have; every element of every result is of the right
// place, and reduced from every contribution exactly once, in one order on all ranks, and finished exactly once; a barrier holds.
Verdict verify(const std::vector<Schedule>& ranks, const Shape& shape, const Trial& trial);

}  // namespace smddp::coll
