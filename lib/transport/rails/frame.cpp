#include "transport/rails/frame.hpp"

namespace smddp::transport::rails {
namespace {

constexpr size_t kSmallBytes = 1024;

}  // namespace

Frame* FramePool::take(size_t bytes) {
  Frame*& head = bytes <= kSmallBytes ? small_ : large_;
  Frame* frame = head;
  if (frame) {
    head = frame->next;
  } else {
    all_.push_back(std::make_unique<Frame>());
    frame = all_.back().get();
  }
  if (frame->room < bytes) {
    frame->room = bytes <= kSmallBytes ? kSmallBytes : (bytes + 4095) & ~size_t{4095};
    frame->memory = std::make_unique_for_overwrite<std::byte[]>(frame->room);
  }
  frame->bytes = bytes;
  return frame;
}

void FramePool::give(Frame* frame) {
  Frame*& head = frame->room <= kSmallBytes ? small_ : large_;
  frame->next = head;
  head = frame;
}

}  // namespace smddp::transport::rails
