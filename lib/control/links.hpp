// What ranks of several nodes tell each other about life, death and failures: a star of the meeting's TCP connections with rank 0 in its
// middle, which passes on what it hears. Invariant: notices of one rank arrive in the order in which it sent them.
//
// The kernel's keep-alive probes find a host that has vanished; a process that is stopped still answers them.
#pragma once

#include "base/unique_fd.hpp"
#include "bootstrap/frame.hpp"

#include <smddp/smddp.h>

#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace smddp::control {

struct Notice {
  enum class Kind : uint8_t { kDied = 1, kFinalized = 2, kFailure = 3 };

  Kind kind = Kind::kFailure;
  int32_t rank = 0;     // of the job: who died or finalized, or who found the failure
  uint64_t comm = 0;    // of a failure: the communicator's number, the same on all members
  smddp_status_t code = SMDDP_ERR_INTERNAL;
  std::string text;     // the sentence
};

class Links {
 public:
  using Handler = std::function<void(const Notice&)>;

  // connections: rank 0: by rank; others: [0] to rank 0.
  Links(std::vector<UniqueFd> connections, int rank);

  // To everybody else. Any thread; never blocks: what the socket does not take at once follows.
  void send(const Notice& notice);

  // For the monitor thread: registers all connections with its epoll under keys first, first + 1, …, and handles what one has.
  void watch(int epoll, uint64_t first);
  void handle(size_t index, const Handler& handler);
  size_t size() const { return links_.size(); }

  // Until what was sent has left this process, at most until deadline (base/clock.hpp).
  void flush(int64_t deadline);

  // In a forked child.
  void abandon_in_child();

 private:
  struct Link {
    UniqueFd fd;
    int rank = 0;      // at the other end
    size_t index = 0;
    bootstrap::FrameReader reader{kMostBytes};
    std::deque<std::string> waiting;
    size_t sent = 0;  // of the first one waiting
    bool closed = false;
    int error = 0;  // that sending met, which reading does not see again
  };
  static constexpr size_t kMostBytes = 8192;

  void pass_on(const Notice& notice, const Link* except);
  void post(Link& link, const std::string& frame);
  void drain(Link& link);
  void receive(const std::string& body, const Link& from, const Handler& handler);
  void end(Link& link, int error, const Handler& handler);

  const int rank_;
  std::mutex mutex_;  // of what is waiting
  std::deque<Link> links_;
  int epoll_ = -1;
  uint64_t first_ = 0;
};

}  // namespace smddp::control
