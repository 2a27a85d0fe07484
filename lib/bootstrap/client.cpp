// Invariant: until rank 0 has accepted this rank every failure but a refusal means "try again"; afterwards none does.
#include "bootstrap/client.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/greeting.hpp"
#include "bootstrap/random.hpp"
#include "bootstrap/resolve.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <optional>

namespace smddp::bootstrap {
namespace {

constexpr int64_t kReplyMs = 1000, kLongestReplyMs = 4000;
constexpr int64_t kWaitMs = 10, kLongestWaitMs = 500;
constexpr int kResolveAgainMs = 5000;
constexpr int kUnknownNameMs = 30000;  // names of a cluster's new members appear late
constexpr int kNoLoopbackMs = 2000;

class Search {
 public:
  Search(const Placement& placement, Hello hello, int64_t deadline)
      : placement_(placement), hello_(std::move(hello)), deadline_(deadline), started_(now_ns()) {}

  // Until rank 0 has accepted.
  Greeting find() {
    int64_t wait_ms = kWaitMs;
    for (;;) {
      look_up();
      if (std::optional<Greeting> found = ask_all()) return std::move(*found);
      if (now_ns() >= deadline_) throw not_found();
      // Jitter keeps ranks that failed together from coming back together.
      const int64_t jittered = wait_ms / 2 + static_cast<int64_t>(random_number() % static_cast<uint64_t>(wait_ms / 2 + 1));
      wait_for(-1, 0, std::min(deadline_, deadline_after_ms(jittered)));
      wait_ms = std::min(kLongestWaitMs, wait_ms + wait_ms / 2);
    }
  }

  const Address& where() const { return where_; }

 private:
  bool waited(int ms) const { return now_ns() - started_ > int64_t{ms} * 1000000; }

  void look_up() {
    if (!addresses_.empty() && (numeric_ || now_ns() - looked_up_ < int64_t{kResolveAgainMs} * 1000000)) return;
    Resolution found = resolve(placement_.address, deadline_);
    looked_up_ = now_ns();
    if (!found.addresses.empty()) {
      numeric_ = found.numeric;
      addresses_ = std::move(found.addresses);
      return;
    }
    if (!addresses_.empty()) return;
    last_ = format("address '%s' of rank 0 cannot be resolved: %s", placement_.address.c_str(), found.error.c_str());
    const bool malformed = placement_.address.find_first_of(":[]%/ ") != std::string::npos;
    if (!found.temporary && (malformed || waited(kUnknownNameMs))) {
      throw Error(SMDDP_ERR_BOOTSTRAP, hello_.name() + ": " + last_);
    }
  }

  std::optional<Greeting> ask_all() {
    bool unreachable = !addresses_.empty();
    for (int i = 0; i < placement_.port_count; ++i) {
      for (const Address& address : addresses_) {
        where_ = address.with_port(placement_.port + i);
        if (now_ns() >= deadline_) return std::nullopt;
        hello_.left_ms = deadline_ == kNever ? -1 : remaining_ms(deadline_);
        Greeting greeting = greet(where_, encode(hello_), std::min(deadline_, deadline_after_ms(reply_ms_)));
        if (greeting.outcome == Greeted::kAccepted) return greeting;
        consider(greeting);
        unreachable = unreachable && address.is_loopback() && !has_route(address);
      }
    }
    if (unreachable && waited(kNoLoopbackMs)) {
      throw Error(SMDDP_ERR_BOOTSTRAP, format("%s cannot reach rank 0 at %s: %s; is the interface lo up?", hello_.name().c_str(),
                                              where_.text().c_str(), last_.c_str()));
    }
    return std::nullopt;
  }

  void consider(const Greeting& greeting) {
    last_ = where_.text() + ": " + greeting.detail;
    const bool only_port = placement_.port_count == 1;
    if (greeting.error == EMFILE || greeting.error == ENFILE) {
      throw Error(SMDDP_ERR_RESOURCE, format("%s has no descriptor left to ask rank 0: %s", hello_.name().c_str(), last_.c_str()));
    }
    // A process that is slow on a busy machine must not be asked for ever in the time that it never makes.
    if (greeting.outcome == Greeted::kSilent) reply_ms_ = std::min(kLongestReplyMs, reply_ms_ + reply_ms_ / 2);
    if (greeting.outcome == Greeted::kVersion && only_port) throw Error(SMDDP_ERR_VERSION, last_);
    if (greeting.outcome != Greeted::kRefused) return;
    if (greeting.verdict.reason != Reason::kJob || only_port) throw Error(greeting.verdict.code, greeting.verdict.text);
    refusal_ = last_;
  }

  Error not_found() const {
    const std::string ports = placement_.port_count == 1
                                  ? format("port %d", placement_.port)
                                  : format("ports %d-%d", placement_.port, placement_.port + placement_.port_count - 1);
    const std::string& reason = refusal_.empty() ? last_ : refusal_;
    return Error(SMDDP_ERR_TIMEOUT, format("%s of %d found no rank 0 at %s %s in %lld ms; last: %s", hello_.name().c_str(), hello_.kin(),
                                           placement_.address.c_str(), ports.c_str(), static_cast<long long>(hello_.timeout_ms),
                                           reason.empty() ? "no time was left to try" : reason.c_str()));
  }

  const Placement& placement_;
  Hello hello_;
  const int64_t deadline_, started_;
  int64_t looked_up_ = 0, reply_ms_ = kReplyMs;
  std::vector<Address> addresses_;
  bool numeric_ = false;
  Address where_;
  std::string last_, refusal_;
};

}  // namespace

Meeting join(const Placement& placement, Hello hello, int64_t deadline) {
  Search search(placement, hello, deadline);
  Greeting greeting = search.find();
  const std::string root = format("rank 0 (%s, pid %lld, %s)", greeting.accepted.host.c_str(),
                                  static_cast<long long>(greeting.accepted.pid), search.where().text().c_str());
  const uint64_t most = kMaxReplyBody + static_cast<uint64_t>(hello.size) * (kMaxNode + kMaxHost + kMaxCpus + 64);
  FrameReader reader(static_cast<size_t>(std::min<uint64_t>(most, UINT32_MAX)));
  FrameReader::State state;
  while ((state = reader.read(greeting.fd.get())) == FrameReader::State::kMore) {
    if (!wait_for(greeting.fd.get(), POLLIN, deadline)) {
      throw Error(SMDDP_ERR_TIMEOUT,
                  format("%s of %d waited %lld ms: %s accepted it but did not say by then that all had come", hello.name().c_str(), hello.kin(),
                         static_cast<long long>(hello.timeout_ms), root.c_str()));
    }
  }
  if (state == FrameReader::State::kClosed) {
    throw Error(SMDDP_ERR_BOOTSTRAP,
                format("%s closed the connection before all %d ranks had come: it has ended or failed", root.c_str(), hello.size - hello.servers));
  }
  Meeting meeting;
  Verdict verdict;
  if (state == FrameReader::State::kComplete) {
    if (reader.kind() == Kind::kTable && decode(reader.body(), hello.size, meeting)) {
      meeting.connections.push_back(std::move(greeting.fd));
      return meeting;
    }
    if (reader.kind() == Kind::kVerdict && decode(reader.body(), verdict)) throw Error(verdict.code, verdict.text);
  }
  throw Error(SMDDP_ERR_BOOTSTRAP, format("%s sent what %s cannot read", root.c_str(), hello.name().c_str()));
}

}  // namespace smddp::bootstrap
