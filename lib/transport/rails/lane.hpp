// What one rail has of one peer: the frames on their way to it, and what is known of how fast it is. Invariant: a frame is in one lane at
// most, and leaves it when the peer has confirmed it or the lane is given up.
#pragma once

#include "transport/messages/number_filter.hpp"
#include "transport/rails/frame.hpp"

namespace smddp::transport::rails {

class Lane {
 public:
  explicit Lane(size_t rail) : rail(rail) {}

  // Enters the frame's place in the lane into it, for a header; add() once it has been sent.
  void number(Frame& frame) const { frame.lane_number = next_; }
  void add(Frame* frame);
  // The peer has all frames below this number: gives them back. False if that is no news.
  bool confirm(uint32_t came, FramePool& pool);
  // All that is not confirmed, before what else waits.
  void give_up(FrameList& waiting);
  void clear(FramePool& pool) { pool.give_all(on_the_way_); }

  bool idle() const { return on_the_way_.empty(); }
  const FrameList& on_the_way() const { return on_the_way_; }
  size_t bytes_on_the_way() const { return bytes_; }
  // 0: not known yet. A mean of times and not of rates, for links that let bursts through at a speed that they do not keep.
  double ns_per_byte() const { return ns_per_byte_; }
  // The peer has answered this probe, counted from 1, over another lane.
  void answered(uint32_t probe);
  // How many it has, since it has last confirmed something of this lane.
  int answers() const { return answers_; }
  // When the peer last confirmed something of what is on the way.
  int64_t confirmed_at() const { return confirmed_at_; }

  const size_t rail;
  bool lost = false;   // given up
  NumberFilter came;   // lane_numbers of the peer's frames

 private:
  FrameList on_the_way_;  // in the order of their lane_numbers
  size_t bytes_ = 0;
  uint32_t next_ = 0;
  int answers_ = 0;
  uint32_t answered_ = 0;
  double ns_per_byte_ = 0;
  int64_t measured_since_ = 0, confirmed_at_ = 0;
  size_t measured_bytes_ = 0;
};

}  // namespace smddp::transport::rails
