#include "transport/ofi/unmap_watch.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <csignal>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace smddp::transport::ofi {

std::unique_ptr<UnmapWatch> UnmapWatch::start() {
#if defined(UFFD_FEATURE_EVENT_UNMAP) && defined(UFFDIO_REGISTER_MODE_WP) && defined(SYS_userfaultfd)
  UniqueFd events(static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK)));
  UniqueFd stop(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!events || !stop) return nullptr;
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_PAGEFAULT_FLAG_WP;
  if (ioctl(events.get(), UFFDIO_API, &api) != 0) return nullptr;
  return std::unique_ptr<UnmapWatch>(new UnmapWatch(std::move(events), std::move(stop)));
#else
  return nullptr;
#endif
}

UnmapWatch::UnmapWatch(UniqueFd events, UniqueFd stop) : events_(std::move(events)), stop_(std::move(stop)) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { serve(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
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

std::vector<std::pair<uintptr_t, uintptr_t>> UnmapWatch::take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(gone_, {});
}

void UnmapWatch::serve() {
  gone_.reserve(64);  // an allocation under the lock could unmap, and wait for this thread
  pollfd entries[2] = {{events_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  while (poll(entries, 2, -1) >= 0 || errno == EINTR) {
    if (entries[1].revents) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    uffd_msg message;
    while (read(events_.get(), &message, sizeof(message)) == sizeof(message)) {
      if (message.event == UFFD_EVENT_REMAP) {
        gone_.emplace_back(uintptr_t{message.arg.remap.from}, uintptr_t{message.arg.remap.from + message.arg.remap.len});
      } else if (message.event == UFFD_EVENT_UNMAP || message.event == UFFD_EVENT_REMOVE) {
        gone_.emplace_back(uintptr_t{message.arg.remove.start}, uintptr_t{message.arg.remove.end});
      }
    }
  }
}

}  // namespace smddp::transport::ofi
