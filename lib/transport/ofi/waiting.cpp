#include "transport/ofi/waiting.hpp"

#include <poll.h>

#include <algorithm>

namespace smddp::transport::ofi {
namespace {

constexpr int kLies = 8;
constexpr int kShortestNapUs = 50, kLongestNapUs = 1000;
constexpr int kNapsOfASecond = 1000, kIdleNapUs = 4000;
constexpr int kLookAgainUs = 100000;  // timers of providers run in their progress alone

}  // namespace

void Waiting::prove() {
  fi_cq_data_entry entry;
  for (int i = 0; i < kLies; ++i) {
    if (fi_cq_read(endpoint_.cq.get(), &entry, 0) != -FI_EAGAIN) fi_cq_read(endpoint_.cq.get(), &entry, 1);
    arm();
  }
  lies_ = naps_ = 0;
}

Sleep Waiting::arm() {
  if (trusted()) {
    fid* ids[] = {&endpoint_.cq->fid};
    if (fi_trywait(endpoint_.fabric.get(), ids, 1) != 0) return {};
    pollfd entry{endpoint_.fd, POLLIN, 0};
    if (poll(&entry, 1, 0) <= 0) {
      lies_ = 0;
      return {true, endpoint_.fd, kLookAgainUs};
    }
    if (++lies_ < kLies) return {};
    liar_ = true;
  }
  const int nap = naps_ < kNapsOfASecond ? std::min(kShortestNapUs << std::min(naps_, 5), kLongestNapUs) : kIdleNapUs;
  naps_ = std::min(naps_ + 1, kNapsOfASecond);
  return {true, -1, nap};
}

}  // namespace smddp::transport::ofi
