// A loop around epoll(7). Invariant: connections are named by numbers that are never used twice, so an event of one that is gone finds
// nothing.
#include "bootstrap/root.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "bootstrap/connection.hpp"
#include "bootstrap/descriptor_limit.hpp"
#include "bootstrap/roster.hpp"
#include "bootstrap/socket.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <set>
#include <unordered_map>

namespace smddp::bootstrap {
namespace {

constexpr int kHelloMs = 5000;          // for a stranger to say hello, and for a refused rank to take its verdict
constexpr int kVerdictMs = 1000;        // for all to take the verdict of a meeting that failed
constexpr int kMismatchMs = 5000;       // for the rest to come and hear that one of them does not fit
constexpr size_t kMostStrangers = 1024;
constexpr int kMostWarnings = 10;
constexpr int kAcceptAtOnce = 64;       // so that those who are in are heard while others come

using State = Connection::State;
using Frame = std::shared_ptr<const std::string>;

class Root {
 public:
  Root(const Listening& listening, const Hello& self, int64_t deadline)
      : listening_(listening), deadline_(deadline), roster_(self, deadline), descriptors_(self.size), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    if (!epoll_) throw system_error("epoll_create1", "while ranks meet");
    for (size_t i = 0; i < listening.sockets.size(); ++i) watch(EPOLL_CTL_ADD, listening.sockets[i].get(), i, EPOLLIN);
    next_id_ = listening.sockets.size();
    accepted_ = share(encode(Accepted{self.member.host, self.member.pid}));
  }

  Meeting run() {
    while (!roster_.complete()) {
      const int64_t until = std::min(deadline_, roster_.verdict_time());
      const bool late = until != kNever && now_ns() >= until;
      const bool all_heard = roster_.confirmed() + odd_.size() >= static_cast<size_t>(roster_.size());
      if (mismatch_ && (all_heard || late || now_ns() >= mismatch_until_)) fail(Error(mismatch_->code, mismatch_->text));
      if (late) fail(Error(SMDDP_ERR_TIMEOUT, roster_.timeout_sentence() + "; rank 0 listened at " + listening_.where));
      turn(std::min(until, mismatch_until_));
    }
    Meeting meeting = roster_.meeting();
    tell_members(share(encode(meeting)));
    if (!flush(deadline_)) throw Error(SMDDP_ERR_TIMEOUT, "all ranks came, but " + undelivered() + " did not take the table in time");
    meeting.connections.resize(static_cast<size_t>(roster_.size()));
    for (auto& [id, connection] : connections_) {
      if (connection.state == State::kMember) meeting.connections[static_cast<size_t>(connection.rank)] = std::move(connection.fd);
    }
    return meeting;
  }

 private:
  static Frame share(std::string frame) { return std::make_shared<const std::string>(std::move(frame)); }

  void watch(int operation, int fd, uint64_t id, uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = id;
    if (epoll_ctl(epoll_.get(), operation, fd, &event) != 0) throw system_error("epoll_ctl", "while ranks meet");
  }

  // Waits for events, until at most then or the next expiry, and handles them.
  void turn(int64_t until) {
    while (!expiries_.empty()) {
      const auto [time, id] = expiries_.front();
      const auto found = connections_.find(id);
      if (found != connections_.end() && expires(found->second) && found->second.expiry == time) {
        if (time > now_ns()) {
          until = std::min(until, time);
          break;
        }
        drop(id);
      }
      expiries_.pop_front();
    }
    epoll_event events[64];
    const int count = epoll_wait(epoll_.get(), events, 64, remaining_ms(until));
    if (count < 0 && errno != EINTR) throw system_error("epoll_wait", "while ranks meet");
    for (int i = 0; i < count; ++i) {
      const uint64_t id = events[i].data.u64;
      if (id < listening_.sockets.size()) accept_some(listening_.sockets[id].get());
      else handle(id);
    }
  }

  void accept_some(int listener) {
    for (int i = 0; i < kAcceptAtOnce; ++i) {
      UniqueFd fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!fd) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) return make_room(errno);
        if (errno == EAGAIN || errno == EWOULDBLOCK) return;
        continue;  // errors of the connection that was to be accepted, and EINTR
      }
      set_stream_options(fd.get());
      if (strangers_ >= kMostStrangers) drop_oldest_stranger();
      const uint64_t id = next_id_++;
      watch(EPOLL_CTL_ADD, fd.get(), id, EPOLLIN);
      Connection& connection = connections_[id];
      connection.fd = std::move(fd);
      ++strangers_;
      expire_later(id, connection);
      handle(id);
    }
  }

  void expire_later(uint64_t id, Connection& connection) {
    connection.expiry = deadline_after_ms(kHelloMs);
    expiries_.emplace_back(connection.expiry, id);
  }

  static bool expires(const Connection& connection) {
    return connection.state == State::kGreeting || connection.state == State::kLeaving;
  }

  bool drop_oldest_stranger() {
    for (const auto& [time, id] : expiries_) {
      const auto found = connections_.find(id);
      if (found == connections_.end() || !expires(found->second)) continue;
      drop(id);
      return true;
    }
    return false;
  }

  void make_room(int error) {
    if (drop_oldest_stranger()) return;
    fail(Error(SMDDP_ERR_RESOURCE,
               format("rank 0 cannot accept another connection: %s; it needs a descriptor for each of %d ranks (ulimit -n)", strerror(error),
                      descriptors_.needed())));
  }

  void handle(uint64_t id) {
    const auto found = connections_.find(id);
    if (found == connections_.end()) return;
    Connection& connection = found->second;
    if (connection.writer.write(connection.fd.get()) == FrameWriter::State::kBroken) return drop(id);
    if (ended_) return update(id, connection);  // what a quick rank says already belongs to what follows the meeting
    if (connection.state == State::kGreeting) {
      switch (connection.reader.read(connection.fd.get())) {
        case FrameReader::State::kMore: break;
        case FrameReader::State::kComplete: return greet(id, connection);
        case FrameReader::State::kVersion: return refuse_version(id, connection);
        default: return drop(id);
      }
    } else {
      char byte;
      const ssize_t got = recv(connection.fd.get(), &byte, 1, MSG_DONTWAIT);
      if (got == 1 && byte == kConfirmed && connection.state == State::kAccepted) return confirm(connection);
      // Nobody has anything else to say: a byte is as good as an end.
      if (got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) return drop(id);
    }
    update(id, connection);
  }

  void update(uint64_t id, Connection& connection) {
    const bool output = !connection.writer.done();
    if (output == connection.watched_for_output && !ended_) return;
    connection.watched_for_output = output;
    const uint32_t events = (ended_ ? 0u : uint32_t{EPOLLIN}) | (output ? uint32_t{EPOLLOUT} : 0u);
    watch(EPOLL_CTL_MOD, connection.fd.get(), id, events);
  }

  void send(uint64_t id, Connection& connection, Frame frame) {
    connection.writer.add(std::move(frame));
    if (connection.writer.write(connection.fd.get()) == FrameWriter::State::kBroken) return drop(id);
    update(id, connection);
  }

  void refuse(uint64_t id, Connection& connection, const Verdict& verdict) {
    connection.state = State::kLeaving;
    --strangers_;
    expire_later(id, connection);
    roster_.note_refusal(verdict.text);
    if (warnings_++ < kMostWarnings) log(Level::kWarn, 0, "refused: %s", verdict.text.c_str());
    send(id, connection, share(encode(verdict)));
  }

  void refuse_version(uint64_t id, Connection& connection) {
    const std::string text = format("bootstrap version differs: %d on rank 0, %d on a rank that came: they run different versions of the library",
                                    kFrameVersion, connection.reader.version());
    refuse(id, connection, {Reason::kVersion, SMDDP_ERR_VERSION, text});
  }

  bool is_alive(uint64_t id) {
    if (id == 0) return true;
    char byte;
    const ssize_t got = recv(connections_.at(id).fd.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  }

  void greet(uint64_t id, Connection& connection) {
    Hello hello;
    if (connection.reader.kind() != Kind::kHello || !decode(connection.reader.body(), hello)) return drop(id);
    connection.reader.restart(0);
    handle(roster_.holder(hello.rank));  // it may have confirmed or gone already
    const uint64_t holder = roster_.holder(hello.rank);
    if (const std::optional<Verdict> verdict = roster_.judge(hello, is_alive(holder))) {
      if (Roster::is_fatal(*verdict)) note_mismatch(hello.rank, *verdict);
      return refuse(id, connection, *verdict);
    }
    odd_.erase(hello.rank);
    if (holder != 0) forget(holder);
    connection.state = State::kAccepted;
    connection.rank = hello.rank;
    connection.expiry = verdict_time(hello);
    --strangers_;
    roster_.enter(hello, id);
    send(id, connection, accepted_);
  }

  void confirm(Connection& connection) {
    connection.state = State::kMember;
    roster_.confirm(connection.rank, connection.expiry);
  }

  // The meeting has failed, but those who have not come yet would look for rank 0 until their deadlines: they are waited for a while.
  void note_mismatch(int rank, const Verdict& verdict) {
    odd_.insert(rank);
    if (mismatch_) return;
    mismatch_ = verdict;
    mismatch_until_ = deadline_after_ms(kMismatchMs);
  }

  // A little before the rank's own deadline, so that it hears who is missing.
  static int64_t verdict_time(const Hello& hello) {
    if (hello.left_ms < 0) return kNever;
    const int64_t margin_ms = std::clamp<int64_t>(hello.left_ms / 20, 5, 200);
    return deadline_after_ms(std::max<int64_t>(0, hello.left_ms - margin_ms));
  }

  void forget(uint64_t id) {
    const auto found = connections_.find(id);
    if (found->second.state == State::kGreeting) --strangers_;
    connections_.erase(found);
  }

  void drop(uint64_t id) {
    const Connection& connection = connections_.at(id);
    const bool has_place = (connection.state == State::kAccepted || connection.state == State::kMember) && !ended_;
    const int rank = connection.rank;
    forget(id);
    if (!has_place) return;
    const std::string text = roster_.leave(rank);
    if (!text.empty() && warnings_++ < kMostWarnings) log(Level::kWarn, 0, "%s", text.c_str());
  }

  void tell_members(const Frame& frame) {
    ended_ = true;
    for (const UniqueFd& listener : listening_.sockets) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener.get(), nullptr);
    std::vector<uint64_t> members;
    for (const auto& [id, connection] : connections_) {
      if (connection.state == State::kAccepted || connection.state == State::kMember) members.push_back(id);
    }
    for (const uint64_t id : members) send(id, connections_.at(id), frame);
  }

  bool has_output() const {
    return std::any_of(connections_.begin(), connections_.end(), [](const auto& entry) { return !entry.second.writer.done(); });
  }

  // Until all have taken what was sent to them; false at the deadline.
  bool flush(int64_t until) {
    while (has_output()) {
      if (until != kNever && now_ns() >= until) return false;
      turn(until);
    }
    return true;
  }

  std::string undelivered() const {
    std::string text;
    int count = 0;
    for (const auto& [id, connection] : connections_) {
      if (connection.writer.done() || connection.state != State::kMember || ++count > 8) continue;
      text += (text.empty() ? "rank " : ", rank ") + std::to_string(connection.rank);
    }
    return count > 8 ? format("%s and %d more", text.c_str(), count - 8) : text;
  }

  [[noreturn]] void fail(const Error& error) {
    tell_members(share(encode(Verdict{Reason::kFailed, error.code(), error.what()})));
    flush(deadline_after_ms(kVerdictMs));
    throw error;
  }

  const Listening& listening_;
  const int64_t deadline_;
  Roster roster_;
  DescriptorLimit descriptors_;
  UniqueFd epoll_;
  Frame accepted_;
  std::unordered_map<uint64_t, Connection> connections_;
  std::deque<std::pair<int64_t, uint64_t>> expiries_;  // in order of time, as all are equally long
  uint64_t next_id_ = 0;
  size_t strangers_ = 0;
  std::optional<Verdict> mismatch_;  // the first one inside this job
  int64_t mismatch_until_ = kNever;
  std::set<int> odd_;  // ranks that were refused for a mismatch
  int warnings_ = 0;
  bool ended_ = false;
};

}  // namespace

Meeting gather(const Listening& listening, const Hello& self, int64_t deadline) { return Root(listening, self, deadline).run(); }

}  // namespace smddp::bootstrap
