// Ranks as threads, each with a transport of its own, and how they wait. Invariant: every wait has a deadline; what is wrong is
// returned as text, for the main thread to assert.
#pragma once

#include "base/clock.hpp"
#include "base/error.hpp"
#include "transport/transport.hpp"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace test {

using smddp::format;
using smddp::now_ns;
using smddp::transport::Event;
using smddp::transport::Result;
using smddp::transport::Transport;

constexpr int64_t kSecond = 1000000000;

// How the transports of a test are made, and what can be asked of them.
struct Network {
  std::string name;
  std::function<std::unique_ptr<Transport>(int rank, int size)> make;
  std::function<void(int size)> begin;  // before the ranks start; may be empty
  size_t most_bytes = 4u << 20;
  int flood = 20000;
  int rounds = 2000;
  int ranks = 6;                    // of the tests with many
  int64_t deadline_ns = 30 * kSecond;
  bool may_close = false;           // a dead peer may cost the whole transport
};

// Where the threads of a world wait for each other; unlike std::barrier it can be asked, so that one can wait and do something else.
class Meeting {
 public:
  explicit Meeting(int expected) : expected_(expected) {}
  uint64_t come();  // the number of this meeting
  bool over(uint64_t number);
  void wait(uint64_t number);
  void leave();  // is not expected any more

 private:
  void end_if_complete();

  std::mutex mutex_;
  std::condition_variable changed_;
  int expected_, there_ = 0;
  uint64_t number_ = 0;
};

class Rank {
 public:
  Rank(Transport& transport, const Network& network, Meeting& meeting, int rank, int size)
      : transport(transport), network(network), rank(rank), size(size), meeting_(meeting) {}

  Transport& transport;
  const Network& network;
  const int rank, size;

  int other() const { return rank ^ 1; }

  // All threads of the world have come here; this one serves nobody meanwhile.
  void meet() { meeting_.wait(meeting_.come()); }
  // The same, and what others wait for goes on leaving: a send that is done may still be with its transport.
  void meet_serving();
  // All ranks have come here, as their messages say.
  std::string meet_moving();

  // Posts, waiting while the transport says again; "" or what is wrong.
  std::string send(int peer, uint64_t id, const void* data, size_t bytes, Event& event);
  std::string receive(int peer, uint64_t id, void* data, size_t bytes, Event& event);
  // Until the event is done.
  std::string wait(Event& event, int64_t limit_ns = 0);
  // The same, asleep whenever nothing moves.
  std::string wait_asleep(Event& event);
  // As wait(), and that it ended well with so many bytes.
  std::string wait_ok(Event& event, size_t bytes);
  void progress_for(int64_t ns);

 private:
  Meeting& meeting_;
};

using Body = std::function<std::string(Rank&)>;

// Runs the body on all ranks; what is wrong on any of them.
std::string run(const Network& network, int size, const Body& body, bool quiesce = true);

// Data that tells where it comes from.
void fill(std::byte* data, size_t bytes, uint64_t seed);
std::string check(const std::byte* data, size_t bytes, uint64_t seed);

// Memory with guards on both sides, at any alignment.
class Buffer {
 public:
  explicit Buffer(size_t bytes, size_t misalign = 0);
  std::byte* data() { return memory_.data() + kGuard + misalign_; }
  size_t size() const { return bytes_; }
  std::string guards() const;  // "" if nobody wrote beside it

 private:
  static constexpr size_t kGuard = 64;
  size_t bytes_, misalign_;
  std::vector<std::byte> memory_;
};

// Pages of its own, gone when asked: a later touch by anybody ends the program.
class Pages {
 public:
  explicit Pages(size_t bytes);
  ~Pages() { unmap(); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  std::byte* data() { return data_; }
  void unmap();

 private:
  std::byte* data_;
  size_t bytes_;
};

// Leaves the body of a rank with what is wrong.
#define TRY(expression)                                        \
  do {                                                         \
    if (const std::string wrong_ = (expression); !wrong_.empty()) \
      return format("line %d: %s", __LINE__, wrong_.c_str());  \
  } while (0)

#define EXPECT(condition, ...)                                                                 \
  do {                                                                                         \
    if (!(condition)) return format("line %d: " #condition ": %s", __LINE__, format(__VA_ARGS__).c_str()); \
  } while (0)

}  // namespace test
