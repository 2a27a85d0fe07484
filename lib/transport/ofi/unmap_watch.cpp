#include "transport/ofi/unmap_watch.hpp"

#include "base/signal_block.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace smddp::transport::ofi {
namespace {

constexpr size_t kMostRanges = 64;

}  // namespace

std::unique_ptr<UnmapWatch> UnmapWatch::start() {
#if defined(UFFD_FEATURE_EVENT_UNMAP) && defined(UFFDIO_REGISTER_MODE_WP) && defined(SYS_userfaultfd)
  UniqueFd events(static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK)));
  UniqueFd stop(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!events || !stop) return nullptr;
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_PAGEFAULT_FLAG_WP;
  if (ioctl(events.get(), UFFDIO_API, &api) != 0) return nullptr;
  try {
    return std::unique_ptr<UnmapWatch>(new UnmapWatch(std::move(events), std::move(stop)));
  } catch (const std::exception&) {  // no thread or no memory: as where it is not permitted
    return nullptr;
  }
#else
  return nullptr;
#endif
}

UnmapWatch::UnmapWatch(UniqueFd events, UniqueFd stop) : events_(std::move(events)), stop_(std::move(stop)) {
  gone_.reserve(kMostRanges);
  const SignalBlock block;
  thread_ = std::thread([this] { serve(); });
}

UnmapWatch::~UnmapWatch() {
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

bool UnmapWatch::add(uintptr_t begin, uintptr_t end) {
  uffdio_register range{};
  range.range.start = begin;
  range.range.len = end - begin;
  range.mode = UFFDIO_REGISTER_MODE_WP;
  return ioctl(events_.get(), UFFDIO_REGISTER, &range) == 0;
}

// No memory is allocated or freed under the lock: that could unmap, and wait for the thread that waits for the lock.
std::vector<std::pair<uintptr_t, uintptr_t>> UnmapWatch::take() {
  std::vector<std::pair<uintptr_t, uintptr_t>> taken;
  taken.reserve(kMostRanges);
  const std::lock_guard<std::mutex> lock(mutex_);
  taken.assign(gone_.begin(), gone_.end());
  gone_.clear();
  return taken;
}

// When there is no more room, the last range grows around the new one: it is as if more had gone.
void UnmapWatch::note(uintptr_t begin, uintptr_t end) {
  if (gone_.size() < kMostRanges) {
    gone_.emplace_back(begin, end);
  } else {
    gone_.back() = {std::min(gone_.back().first, begin), std::max(gone_.back().second, end)};
  }
}

void UnmapWatch::serve() {
  pollfd entries[2] = {{events_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  while (poll(entries, 2, -1) >= 0 || errno == EINTR) {
    if (entries[1].revents) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    uffd_msg message;
    while (read(events_.get(), &message, sizeof(message)) == sizeof(message)) {
      if (message.event == UFFD_EVENT_REMAP) {
        note(message.arg.remap.from, message.arg.remap.from + message.arg.remap.len);
      } else if (message.event == UFFD_EVENT_UNMAP || message.event == UFFD_EVENT_REMOVE) {
        note(message.arg.remove.start, message.arg.remove.end);
      }
    }
  }
}

}  // namespace smddp::transport::ofi
