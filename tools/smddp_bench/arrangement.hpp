// Where one measured row has its buffers, what it puts into them and what it must find afterwards.
// Invariant: after one call every byte of both buffers and their guards is known.
#pragma once

#include "buffers.hpp"
#include "collective.hpp"
#include "pattern.hpp"

namespace smddp_bench {

class Arrangement {
 public:
  Arrangement(const Call& call, bool reduces, bool in_place, char* send_memory, char* recv_memory);

  // The call with its pointers; NULL for a buffer of no elements.
  const Call& call() const { return call_; }

  // New data for all ranks, poison where results go.
  void prepare(uint64_t repetition);

  // Poison where results go, the inputs stay. Not for in place.
  void poison_results();

  // Wrong elements after one call since prepare.
  int64_t count_wrong() const;

 private:
  int64_t count_wrong_results() const;
  int64_t count_changed_inputs() const;

  Call call_;
  Pattern pattern_;
  bool overlaps_;  // in place, and this rank has both buffers
  size_t element_bytes_ = 1;
  Shape shape_;
  char* send_;
  char* recv_;
  char* memories_[2];       // send's and recv's where they are apart
  size_t used_bytes_[2]{};  // behind that: the guard
};

}  // namespace smddp_bench
