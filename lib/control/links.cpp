#include "control/links.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/types.hpp"
#include "bootstrap/bytes.hpp"
#include "control/graph.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace smddp::control {
namespace {

// A host that answers nothing for about 3 s is lost.
constexpr int kIdleSeconds = 1, kProbeSeconds = 1, kProbes = 3, kUnsentMs = 3000;
constexpr uint32_t kSilentMs = 1500;  // then nobody is asked over this connection
constexpr size_t kMostText = 8000;

std::string encode(const Notice& notice) {
  bootstrap::ByteWriter writer;
  writer.number(static_cast<uint8_t>(notice.kind));
  writer.number(notice.rank);
  writer.number(notice.comm);
  writer.number(static_cast<uint32_t>(notice.code));
  writer.number(notice.origin);
  writer.number(notice.serial);
  writer.text(std::string_view(notice.text).substr(0, kMostText));
  return bootstrap::frame(bootstrap::Kind::kNotice, writer.take());
}

bool decode(std::string_view body, int size, Notice& notice) {
  bootstrap::ByteReader reader(body);
  const auto kind = reader.number<uint8_t>();
  notice.kind = static_cast<Notice::Kind>(kind);
  notice.rank = reader.number<int32_t>();
  notice.comm = reader.number<uint64_t>();
  notice.code = static_cast<smddp_status_t>(reader.number<uint32_t>());
  notice.origin = reader.number<int32_t>();
  notice.serial = reader.number<uint32_t>();
  notice.text = reader.text(kMostText);
  const auto is_rank = [size](int32_t rank) { return rank >= 0 && rank < size; };
  return reader.complete() && kind >= 1 && kind <= 5 && is_rank(notice.rank) && is_rank(notice.origin);
}

bool is_departure(const Notice& notice) { return notice.kind == Notice::Kind::kDied || notice.kind == Notice::Kind::kFinalized; }

void probe_often(int fd) {
  const auto set = [fd](int level, int option, int value) { setsockopt(fd, level, option, &value, sizeof(value)); };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, kUnsentMs);
}

// Whether the other host has acknowledged nothing for longer than it takes to answer a probe. Data that is sent to a host that has vanished
// begins the kernel's waiting anew.
bool is_silent(int fd) {
  tcp_info info{};
  socklen_t length = sizeof(info);
  return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 && std::min(info.tcpi_last_ack_recv, info.tcpi_last_data_recv) > kSilentMs;
}

}  // namespace

Links::Links(int rank, int size, const std::vector<int>& peers, std::vector<UniqueFd> connections, int servers)
    : rank_(rank), size_(size), servers_(servers), origins_(static_cast<size_t>(size)), left_(static_cast<size_t>(size)), lost_(static_cast<size_t>(size)) {
  for (size_t i = 0; i < peers.size(); ++i) {
    probe_often(connections[i].get());
    Link& link = links_.emplace_back();
    link.fd = std::move(connections[i]);
    link.index = i;
    link.rank = peers[i];
  }
}

std::string Links::name(int rank) const { return member_name(rank, size_ - servers_); }

void Links::watch(int epoll, uint64_t first) {
  epoll_ = epoll;
  first_ = first;
  for (size_t i = 0; i < links_.size(); ++i) {
    epoll_event event{EPOLLIN | EPOLLRDHUP, {.u64 = first + i}};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, links_[i].fd.get(), &event) != 0) throw system_error("epoll_ctl", "for the monitor thread");
  }
}

uint32_t Links::send(Notice notice) {
  const std::lock_guard<std::mutex> lock(mutex_);
  notice.origin = rank_;
  notice.serial = ++serial_;
  pass_on(notice, nullptr);
  return notice.serial;
}

// Under the lock, so that no link gets two notices of one rank in another order.
void Links::pass_on(const Notice& notice, const Link* except) {
  const std::string frame = encode(notice);
  for (Link& link : links_) {
    if (&link == except || (notice.kind == Notice::Kind::kInquiry && !link.closed && is_silent(link.fd.get()))) continue;
    post(link, frame);
  }
}

void Links::answer(const Notice& inquiry, std::string text) {
  Notice answer = inquiry;
  answer.kind = Notice::Kind::kAnswer;
  answer.rank = rank_;
  answer.text = std::move(text);
  reply(answer);
}

// Towards the rank that asks, by where its last inquiry came from: there the way is known as well.
void Links::reply(const Notice& answer) {
  const Origin& origin = origins_[static_cast<size_t>(answer.origin)];
  if (!origin.asked) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  post(links_[origin.link], encode(answer));
}

void Links::post(Link& link, const std::string& frame) {
  if (link.closed) return;
  link.waiting.push_back(frame);
  drain(link);
}

void Links::drain(Link& link) {
  while (!link.waiting.empty()) {
    const std::string& frame = link.waiting.front();
    const ssize_t sent = ::send(link.fd.get(), frame.data() + link.sent, frame.size() - link.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {  // full: EPOLLOUT goes on; broken: reading finds it
      if (errno != EAGAIN && errno != EWOULDBLOCK && !link.error) link.error = errno;  // later ones only say EPIPE
      break;
    }
    link.sent += static_cast<size_t>(sent);
    if (link.sent < frame.size()) break;
    link.waiting.pop_front();
    link.sent = 0;
  }
  if (epoll_ < 0) return;
  epoll_event event{EPOLLIN | EPOLLRDHUP | (link.waiting.empty() ? 0u : static_cast<uint32_t>(EPOLLOUT)), {.u64 = first_ + link.index}};
  epoll_ctl(epoll_, EPOLL_CTL_MOD, link.fd.get(), &event);
}

void Links::handle(size_t index, const Handler& handler) {
  Link& link = links_[index];
  if (link.closed) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!link.waiting.empty()) drain(link);
  }
  for (;;) {
    errno = 0;
    switch (link.reader.read(link.fd.get())) {
      case bootstrap::FrameReader::State::kMore: return;
      case bootstrap::FrameReader::State::kComplete:
        if (link.reader.kind() == bootstrap::Kind::kNotice) receive(link.reader.body(), link, handler);
        link.reader.restart(kMostBytes);
        break;
      default: return end(link, link.error ? link.error : errno, handler);
    }
  }
}

void Links::receive(const std::string& body, const Link& from, const Handler& handler) {
  Notice notice;
  if (!decode(body, size_, notice)) return;
  if (notice.kind == Notice::Kind::kAnswer) return notice.origin == rank_ ? handler(notice) : reply(notice);
  Origin& origin = origins_[static_cast<size_t>(notice.origin)];
  if (notice.origin == rank_ || static_cast<int32_t>(notice.serial - origin.serial) <= 0) return;
  origin.serial = notice.serial;
  if (notice.kind == Notice::Kind::kInquiry) {
    origin.asked = true;
    origin.link = from.index;
  }
  if (is_departure(notice) && left_[static_cast<size_t>(notice.rank)]) return;  // several found it; the first one's words went on
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    pass_on(notice, &from);
  }
  deliver(notice, handler);
}

// The end of a connection is the death of the rank at its other end, unless that had said before that it finalizes.
void Links::end(Link& link, int error, const Handler& handler) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    link.closed = true;
    link.waiting.clear();
    epoll_ctl(epoll_, EPOLL_CTL_DEL, link.fd.get(), nullptr);
  }
  if (left_[static_cast<size_t>(link.rank)]) return;
  Notice notice;
  notice.kind = Notice::Kind::kDied;
  notice.rank = link.rank;
  const bool host = error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH;
  notice.text = format("%s died (%s)", name(link.rank).c_str(), host ? "no sign of life from its host for 3 s" : "connection closed");
  send(notice);
  deliver(notice, handler);
}

// Hands a notice over. After a death also those to whom no way is left are lost: what becomes of them nobody here can learn.
void Links::deliver(const Notice& notice, const Handler& handler) {
  handler(notice);
  if (!is_departure(notice) || notice.rank == rank_) return;
  left_[static_cast<size_t>(notice.rank)] = true;
  if (notice.kind == Notice::Kind::kFinalized) return;
  lost_[static_cast<size_t>(notice.rank)] = true;
  for (const int rank : cut_off(rank_, lost_)) {
    if (left_[static_cast<size_t>(rank)]) continue;
    left_[static_cast<size_t>(rank)] = lost_[static_cast<size_t>(rank)] = true;
    Notice lost = notice;
    lost.rank = rank;
    lost.text = format("%s cannot be reached any more: %s, and with it the last way there", name(rank).c_str(), notice.text.c_str());
    handler(lost);
  }
}

void Links::flush(int64_t deadline) {
  const auto pending = [this] {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (Link& link : links_) {
      if (!link.closed && !link.waiting.empty()) return true;
    }
    return false;
  };
  while (pending() && now_ns() < deadline) sched_yield();
}

void Links::abandon_in_child() {
  for (Link& link : links_) link.fd.reset();
}

}  // namespace smddp::control
