// The leader gives commands, the other one obeys: echo, or exchange some messages at the same time. Invariant: both count ids alike, so
// that a message is never taken for another one, and memory that the transport may still use is never freed.
#include "transport/measure.hpp"

#include "base/clock.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace smddp::transport {
namespace {

constexpr uint32_t kMostMessages = 16;
constexpr size_t kMostBytes = size_t{2} << 20;
constexpr int64_t kPingNs = 3000000, kBurstNs = 3000000, kStreamNs = 12000000, kMostNs = 50000000;
constexpr int kFewest = 4;  // of what is measured in that time, where it takes longer

struct Command {
  uint32_t messages = 0;  // to exchange; 0: echo this
  uint32_t bytes = 0;     // of each
  uint32_t end = 0;       // echo this with your share of a processor, in thousandths
};

int64_t cpu_ns() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1000000000 + time.tv_nsec;
}

class Session {
 public:
  Session(Transport& transport, int peer, uint64_t id, int64_t deadline)
      : transport_(transport), peer_(peer), id_(id), deadline_(deadline), out_(kMostBytes), in_(kMostBytes) {}

  // From now on this thread's share of a processor counts.
  void begin() {
    begin_ns_ = now_ns();
    begin_cpu_ns_ = cpu_ns();
  }
  double share() const { return static_cast<double>(cpu_ns() - begin_cpu_ns_) / static_cast<double>(std::max<int64_t>(1, now_ns() - begin_ns_)); }

  // A command there and back; µs, negative after a failure.
  double ping(const Command& command = {}) {
    const int64_t start = now_ns();
    if (!receive(id_, &answer_, sizeof(answer_)) || !give(command) || !wait()) return -1;
    return us_since(start);
  }

  double exchange(uint32_t messages, size_t bytes) {
    const int64_t start = now_ns();
    return give({messages, static_cast<uint32_t>(bytes)}) && swap(messages, bytes) && wait() ? us_since(start) : -1;
  }

  // The lower of both shares; negative after a failure.
  double end() {
    const double own = share();
    return ping({0, 0, 1}) < 0 ? -1 : std::min(own, answer_.end * 1e-3);
  }

  // Obeys one command; false: that was the last one, or it failed.
  bool obey() {
    const uint64_t id = id_++;
    if (!receive(id, &answer_, sizeof(answer_)) || !wait()) return false;
    const Command command = answer_;
    if (!begin_ns_) begin();
    if (command.end) {
      answer_.end = static_cast<uint32_t>(1000 * share());
      (void)(send(id, &answer_, sizeof(answer_)) && wait());
      return false;
    }
    if (command.messages > kMostMessages || size_t{command.bytes} * command.messages > kMostBytes) return false;
    if (command.messages == 0) return send(id, &answer_, sizeof(answer_)) && wait();
    return swap(command.messages, command.bytes) && wait();
  }

  bool failed() const { return failed_; }

  // Takes back what the transport holds; false: it holds something for ever.
  bool drain() {
    for (size_t i = 0; i < used_; ++i) transport_.cancel(events_[i], "the measurement was given up");
    const int64_t limit = deadline_after_ms(2000);
    while (!all_done() && now_ns() < limit) {
      if (!transport_.progress()) sched_yield();
    }
    transport_.discard(id_, ~uint64_t{0} << 48);
    return all_done();
  }

 private:
  static double us_since(int64_t start) { return static_cast<double>(now_ns() - start) * 1e-3; }

  bool give(const Command& command) {
    command_ = command;
    return send(id_++, &command_, sizeof(command_));
  }

  bool swap(uint32_t messages, size_t bytes) {
    bool taken = true;
    for (uint32_t i = 0; i < messages; ++i) taken = taken && receive(id_ + i, in_.data() + i * bytes, bytes);
    for (uint32_t i = 0; i < messages; ++i) taken = taken && send(id_ + i, out_.data() + i * bytes, bytes);
    id_ += messages;
    return taken;
  }

  bool send(uint64_t id, const void* data, size_t bytes) {
    return take([&](Event& event) { return transport_.send(peer_, id, data, bytes, &event); });
  }
  bool receive(uint64_t id, void* data, size_t bytes) {
    return take([&](Event& event) { return transport_.receive(peer_, id, data, bytes, &event); });
  }

  template <class Call>
  bool take(Call call) {
    for (uint32_t idle = 0; !failed_; turn(idle)) {
      if (!call(events_[used_])) continue;
      ++used_;
      return true;
    }
    return false;
  }

  bool wait() {
    for (uint32_t idle = 0; !failed_ && !all_done(); turn(idle)) {}
    for (size_t i = 0; i < used_ && !failed_; ++i) failed_ = events_[i].result != Result::kOk;
    if (!failed_) used_ = 0;
    return !failed_;
  }

  void turn(uint32_t& idle) {
    if (transport_.progress()) {
      idle = 0;
      return;
    }
    if (now_ns() > deadline_) failed_ = true;
    if (++idle > 8) sched_yield();  // the two may share a core
  }

  bool all_done() const {
    return std::all_of(events_.begin(), events_.begin() + static_cast<ptrdiff_t>(used_), [](const Event& event) { return event.done(); });
  }

  Transport& transport_;
  const int peer_;
  uint64_t id_;
  const int64_t deadline_;
  std::vector<char> out_, in_;
  Command command_, answer_;
  std::array<Event, 2 * kMostMessages + 2> events_;
  size_t used_ = 0;
  int64_t begin_ns_ = 0, begin_cpu_ns_ = 0;
  bool failed_ = false;
};

// Least time of a call that gives µs, negative if one failed; called for so long, and at least some times.
template <class Call>
double least(int64_t ns, int64_t last, Call call) {
  const int64_t limit = now_ns() + ns;
  double best = call();
  for (int i = 1; best > 0 && now_ns() < (i < kFewest ? last : limit); ++i) {
    const double us = call();
    best = us < 0 ? us : std::min(best, us);
  }
  return best;
}

// Negative where it failed.
double stream_rate(Session& session, int64_t last) {
  // Providers set up much for a first large message.
  if (session.exchange(1, kMostBytes / 64) < 0) return -1;
  const int64_t limit = std::min(last, now_ns() + kStreamNs);
  const double first_us = least(kStreamNs / 8, last, [&] { return session.exchange(1, kMostBytes / 64); });
  double rate = static_cast<double>(kMostBytes / 64) / first_us;
  // Larger and larger as far as the time goes, the last size several times.
  for (const size_t bytes : {kMostBytes / 16, kMostBytes / 4, kMostBytes, kMostBytes, kMostBytes}) {
    if (rate < 0 || now_ns() + static_cast<int64_t>(1e3 * static_cast<double>(bytes) / rate) > limit) break;
    const uint32_t messages = bytes < kMostBytes ? 1 : 4;
    const double us = session.exchange(messages, bytes / messages);
    rate = us < 0 ? -1 : std::max(rate, static_cast<double>(bytes) / us);
  }
  return rate;
}

bool lead(Session& session, LinkFigures& figures) {
  if (session.ping() < 0) return false;  // opens the connection
  session.begin();
  const int64_t last = now_ns() + kMostNs;
  const double ping_us = least(kPingNs, last, [&] { return session.ping(); });
  const double burst_us = ping_us < 0 ? -1 : least(kBurstNs, last, [&] { return session.exchange(kMostMessages, 8); });
  const double rate = burst_us < 0 ? -1 : stream_rate(session, last);
  if (rate < 0) return false;
  // One way takes the latency and what the message costs, so that more than most of it would be noise.
  figures.overhead_us = std::clamp((burst_us - ping_us) / kMostMessages, 0.0, 0.75 * ping_us / 2);
  figures.latency_us = ping_us / 2 - figures.overhead_us;
  figures.bytes_per_us = rate;
  figures.share = session.end();
  return figures.share >= 0;
}

}  // namespace

bool measure_link(Transport& transport, int peer, bool leads, uint64_t id, int64_t deadline, LinkFigures& figures) {
  auto session = std::make_unique<Session>(transport, peer, id, deadline);
  bool good = true;
  if (leads) {
    good = lead(*session, figures);
  } else {
    while (session->obey()) {}
    good = !session->failed();
  }
  if (!good && !session->drain()) (void)session.release();
  return good;
}

}  // namespace smddp::transport
