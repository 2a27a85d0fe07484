#include "transport/rails/lane.hpp"

#include "base/clock.hpp"

namespace smddp::transport::rails {
namespace {

constexpr size_t kMeasuredBytes = 256 << 10;  // that a measurement takes, without a pause
constexpr size_t kLeastBytes = 32 << 10;      // or fewer that end in a pause
constexpr double kNews = 0.2;                 // weight of the newest measurement

}  // namespace

void Lane::add(Frame* frame) {
  if (idle()) {
    measured_since_ = confirmed_at_ = now_ns();
    measured_bytes_ = 0;
    answers_ = 0;
  }
  on_the_way_.add(frame);
  bytes_ += frame->bytes;
  ++next_;
}

bool Lane::confirm(uint32_t came, FramePool& pool) {
  size_t bytes = 0;
  while (!idle() && static_cast<int32_t>(came - on_the_way_.first()->lane_number) > 0) {
    Frame* frame = on_the_way_.take();
    bytes += frame->bytes;
    pool.give(frame);
  }
  if (!bytes) return false;
  bytes_ -= bytes;
  answers_ = 0;
  confirmed_at_ = now_ns();
  measured_bytes_ += bytes;
  if (measured_bytes_ >= (idle() ? kLeastBytes : kMeasuredBytes)) {
    const double cost = static_cast<double>(confirmed_at_ - measured_since_ + 1) / static_cast<double>(measured_bytes_);
    ns_per_byte_ += (ns_per_byte_ > 0 ? kNews : 1) * (cost - ns_per_byte_);
    measured_since_ = confirmed_at_;
    measured_bytes_ = 0;
  }
  return true;
}

void Lane::answered(uint32_t probe) {
  if (idle() || probe == 0 || std::exchange(answered_, probe) == probe) return;
  ++answers_;
}

void Lane::give_up(FrameList& waiting) {
  lost = true;
  bytes_ = 0;
  waiting.put_before(on_the_way_);
}

}  // namespace smddp::transport::rails
