// The frames that go over rails, as they travel between ranks of equal byte order. Version: that of the packets inside them.
#pragma once

#include "transport/rails/rail.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace smddp::transport::rails {

enum class Kind : uint8_t {
  kPacket,  // what follows is one of the layer above; kept by its sender until it is confirmed
  kAck,     // nothing but the head
  kProbe,   // asks for a kAnswer of the same number, over the same rail
  kAnswer,
};

struct Header {
  uint32_t nonce;            // of the receiver: strangers and earlier lives are ignored
  uint32_t kind_and_source;  // Kind << 24 | rank of the sender
  uint32_t number;           // kPacket: among those to this peer, over whichever rail, and the same when it is sent again
  uint32_t lane_number;      // kPacket: among those of this lane
  uint32_t came[kMostRails];  // by lane: the sender of this head has all kPackets below this lane_number
  uint32_t lost;             // lanes that its sender has given up, a bit each
};
static_assert(sizeof(Header) == 36);

constexpr uint32_t kMaxSources = 1u << 24;

// A kPacket, from when it is taken over until its receiver has confirmed it.
struct Frame {
  Frame* next = nullptr;
  uint32_t number = 0, lane_number = 0;
  size_t bytes = 0;  // with its header
  size_t room = 0;
  std::unique_ptr<std::byte[]> memory;
};

// In the order in which they were added. Owns none of them.
class FrameList {
 public:
  bool empty() const { return !first_; }
  Frame* first() const { return first_; }
  size_t count() const { return count_; }

  void add(Frame* frame) {
    frame->next = nullptr;
    (first_ ? last_->next : first_) = frame;
    last_ = frame;
    ++count_;
  }
  Frame* take() {
    Frame* frame = first_;
    first_ = frame->next;
    --count_;
    return frame;
  }
  // All of the other one go before these.
  void put_before(FrameList& other) {
    if (other.empty()) return;
    if (empty()) last_ = other.last_;
    else other.last_->next = first_;
    first_ = std::exchange(other.first_, nullptr);
    count_ += std::exchange(other.count_, 0);
  }

 private:
  Frame *first_ = nullptr, *last_ = nullptr;
  size_t count_ = 0;
};

// Frames for reuse, small ones apart so that they do not grow.
class FramePool {
 public:
  Frame* take(size_t bytes);
  void give(Frame* frame);
  void give_all(FrameList& frames) {
    while (!frames.empty()) give(frames.take());
  }

 private:
  std::vector<std::unique_ptr<Frame>> all_;
  Frame *small_ = nullptr, *large_ = nullptr;
};

}  // namespace smddp::transport::rails
