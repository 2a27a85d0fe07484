// What ranks of several nodes tell each other about life, death and failures. Each rank has a TCP connection with a few others
// (control/graph.hpp). A notice is flooded: who hears it for the first time passes it on, so it takes the quickest way there is, and no
// rank that is dead or stopped holds it up. An answer goes back the way on which its inquiry came first. Invariant: notices of one rank
// arrive everywhere once, and in the order in which it sent them.
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
  enum class Kind : uint8_t { kDied = 1, kFinalized = 2, kFailure = 3, kInquiry = 4, kAnswer = 5 };

  Kind kind = Kind::kFailure;
  int32_t rank = 0;     // of the job: who died or finalized, found the failure, asks or answers
  uint64_t comm = 0;    // of a failure, an inquiry, an answer: the communicator's number, the same on all members
  smddp_status_t code = SMDDP_ERR_INTERNAL;
  std::string text;     // the sentence; of an answer: the report
  int32_t origin = 0;   // who began to spread it, and its number among those of that rank; of an answer: those of the inquiry
  uint32_t serial = 0;
};

class Links {
 public:
  using Handler = std::function<void(const Notice&)>;

  // connections: to the neighbours, of which `peers` are the ranks. servers: of size, the last.
  Links(int rank, int size, const std::vector<int>& peers, std::vector<UniqueFd> connections, int servers = 0);

  // To everybody else; its serial number. Any thread; never blocks: what the socket does not take at once follows.
  uint32_t send(Notice notice);

  // Back to the rank that asks. For the monitor thread, in the handler.
  void answer(const Notice& inquiry, std::string text);

  // For the monitor thread: registers all connections with its epoll under keys first, first + 1, …, and handles what one has.
  void watch(int epoll, uint64_t first);
  void handle(size_t index, const Handler& handler);

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
  struct Origin {
    uint32_t serial = 0;  // of its last notice
    bool asked = false;
    size_t link = 0;      // by which its last inquiry came
  };
  static constexpr size_t kMostBytes = 8192;

  void pass_on(const Notice& notice, const Link* except);
  void post(Link& link, const std::string& frame);
  void drain(Link& link);
  void receive(const std::string& body, const Link& from, const Handler& handler);
  void end(Link& link, int error, const Handler& handler);
  void deliver(const Notice& notice, const Handler& handler);
  void reply(const Notice& answer);

  std::string name(int rank) const;

  const int rank_, size_, servers_;
  std::mutex mutex_;  // of what is waiting, and of serial_
  std::deque<Link> links_;
  uint32_t serial_ = 0;
  int epoll_ = -1;
  uint64_t first_ = 0;
  std::vector<Origin> origins_;   // by rank; this and the rest are the monitor thread's
  std::vector<bool> left_, lost_;  // by rank: has died or finalized; has died
};

}  // namespace smddp::control
