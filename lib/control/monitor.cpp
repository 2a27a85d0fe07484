#include "control/monitor.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/signal_block.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace smddp::control {
namespace {

constexpr uint64_t kWake = ~uint64_t{0};
constexpr uint64_t kLinks = uint64_t{1} << 32;  // and on: links to other nodes

UniqueFd open_pidfd(int64_t pid) {
  return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0)));
}

}  // namespace

Monitor::Monitor(node::Group& group, std::vector<UniqueFd> connections, const std::vector<int64_t>& pids, Links* links,
                 Inquiries* inquiries, Links::Handler handler)
    : group_(group), links_(links), inquiries_(inquiries), handler_(std::move(handler)) {
  if (group_.size() == 1 && !links_) return;
  epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) throw system_error("epoll_create1", "for the monitor thread");
  wake_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) throw system_error("eventfd", "for the monitor thread");
  epoll_event event{EPOLLIN, {.u64 = kWake}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) != 0) throw system_error("epoll_ctl", "for the monitor thread");

  const bool leader = group_.local_rank() == 0;
  for (size_t i = 0; i < connections.size(); ++i) {
    if (connections[i]) add(std::move(connections[i]), leader ? static_cast<int>(i) : 0, true);
  }
  // Beside the connections: processes whose children keep copies of them, and ranks that only the first rank is connected to.
  for (size_t r = 0; r < pids.size(); ++r) {
    if (pids[r] <= 0 || pids[r] == getpid() || static_cast<int>(r) == group_.local_rank()) continue;
    UniqueFd fd = open_pidfd(pids[r]);
    if (fd) add(std::move(fd), static_cast<int>(r), false);
    else if (errno == ESRCH) group_.mark(static_cast<int>(r), node::RankState::kDead, node::DeathReason::kProcess);
  }
  if (links_) links_->watch(epoll_.get(), kLinks);
  const SignalBlock block;
  try {
    thread_ = std::thread([this] { loop(); });
  } catch (const std::system_error& error) {
    throw Error(SMDDP_ERR_RESOURCE, format("cannot start the monitor thread: %s", error.what()));
  }
}

Monitor::~Monitor() { stop(); }

void Monitor::add(UniqueFd fd, int local_rank, bool connection) {
  epoll_event event{EPOLLIN | EPOLLRDHUP, {.u64 = watches_.size()}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd.get(), &event) != 0) throw system_error("epoll_ctl", "for the monitor thread");
  watches_.push_back({std::move(fd), local_rank, connection});
}

void Monitor::handle(size_t index) {
  Watch& watch = watches_[index];
  if (watch.connection) {
    char byte;
    const ssize_t got = recv(watch.fd.get(), &byte, 1, MSG_DONTWAIT);
    if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) return;
  }
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, watch.fd.get(), nullptr);
  group_.mark(watch.local_rank, node::RankState::kDead, watch.connection ? node::DeathReason::kConnection : node::DeathReason::kProcess);
}

void Monitor::loop() {
  pthread_setname_np(pthread_self(), "smddp-monitor");
  for (;;) {
    epoll_event events[16];
    const int count = epoll_wait(epoll_.get(), events, 16, inquiries_ ? remaining_ms(inquiries_->deadline()) : -1);
    for (int i = 0; i < count; ++i) {
      const uint64_t key = events[i].data.u64;
      if (key == kWake) {
        uint64_t rung;
        [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &rung, sizeof(rung));
        if (stopped_.load(std::memory_order_acquire)) return;
      } else if (key >= kLinks) links_->handle(static_cast<size_t>(key - kLinks), handler_);
      else handle(static_cast<size_t>(key));
    }
    if (inquiries_) inquiries_->expire();
  }
}

void Monitor::stop() {
  if (!thread_.joinable()) return;
  stopped_.store(true, std::memory_order_release);
  wake();
  thread_.join();
}

void Monitor::wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof(one));
}

void Monitor::abandon_in_child() {
  for (Watch& watch : watches_) watch.fd.reset();
  if (links_) links_->abandon_in_child();
  epoll_.reset();
  wake_.reset();
  if (thread_.joinable()) thread_.detach();
}

}  // namespace smddp::control
