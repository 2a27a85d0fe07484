// Runs the outstanding operations of a context. One lock: its holder drives everything; blocking calls drive while they wait, a progress
// thread does while nobody else is there, and at most one thread of a rank sleeps on the rank's doorbell, the others on the engine.
#pragma once

#include "engine/backoff.hpp"
#include "engine/queue.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace smddp::engine {

struct EngineCounters {
  std::atomic<uint64_t> operations{0}, sleeps{0}, yields{0}, progress_wakeups{0};
};

class Engine {
 public:
  // wire: nullable.
  Engine(node::Group& group, const WaitPolicy& policy, bool progress_thread, std::unique_ptr<Wire> wire);
  ~Engine();

  const WaitPolicy& policy() const { return policy_; }
  Wire* wire() { return wire_.get(); }
  EngineCounters& counters() { return counters_; }
  transport::Counters wire_counters();  // zero without a wire

  // Takes a request over (one of its two holders) and gives it a first push. Never blocks for peers. background: nobody will wait at once.
  void submit(Queue& queue, Request& request, bool background);

  // Drives until the request has ended or limit (base/clock.hpp) passes: false.
  bool wait(Request& request, int64_t limit);

  // One round of progress; then whether the request has ended.
  bool test(Request& request);

  // Ends all requests of a queue with an error, or, all queues: stops for good. Any thread.
  void cancel(Queue& queue, const Status& status);
  void stop(const Status& status);

  // Sends what smddp_send has taken over, until deadline at most.
  void flush(int64_t deadline);

  bool has_work(Queue& queue);

  // For a thread that waits elsewhere: whether anything is outstanding, and one round of progress.
  bool has_outstanding() const { return outstanding_.load(std::memory_order_relaxed) != 0; }
  void drive() { poll(false); }

  // In a forked child: the progress thread does not exist there, and locks may be held for ever.
  void abandon_in_child();

 private:
  enum class Poll { kBusy, kIdle, kMoved };
  Poll poll(bool look_at_clock);
  bool poll_queue(Queue& queue, bool look_at_clock, int64_t now);
  bool advance(Queue& queue, Request& request);
  // Takes back what the transport still holds of an execution or mail that ends, which it gives within a second; otherwise what it may yet
  // write to stays for ever, without owner.
  template <class T>
  void take_back(std::unique_ptr<T>& owner);
  transport::Sleep arm();
  void expire(Queue& queue, int64_t now);
  bool time_out(Queue& queue, Request& front, int64_t timeout_ms, int64_t now);  // false: the members are being asked
  Wait& front_wait(Queue& queue, const Request& front, int64_t now);
  int64_t look_around(Queue& queue, const Request& front, int64_t now);
  void ask(Queue& queue, const Request& front, control::Reason reason, int64_t timeout_ms);
  void fail_all(Queue& queue);
  void complete(Request& request, Status status);
  void run_callbacks(std::vector<Request*>& ended);
  void sleep(const Request* request, int64_t limit);
  void leave();
  void wake_progress();
  void start_thread();
  void progress_loop();

  node::Group& group_;
  std::unique_ptr<Wire> wire_;
  WaitPolicy policy_;
  EngineCounters counters_;

  std::mutex mutex_;            // the lock: active_, ended_ and all queues
  std::vector<Queue*> active_;
  std::vector<Request*> ended_;  // with a callback to run once the lock is free
  std::atomic<int64_t> next_deadline_{kNever};
  std::atomic<uint32_t> outstanding_{0};  // active queues

  std::atomic<uint32_t> drivers_{0};  // threads that wait and drive
  std::atomic<bool> sleeper_{false};  // a thread sleeps on the doorbell
  std::atomic<std::thread::id> sleeper_id_{};
  std::mutex follow_mutex_;
  std::condition_variable follow_;
  std::atomic<uint32_t> followers_{0};

  bool wants_thread_;
  std::mutex park_mutex_;
  std::condition_variable park_;
  bool parked_wake_ = false;
  bool warned_ = false;  // that there is no progress thread
  std::atomic<bool> stopped_{false};
  std::thread thread_;
};

}  // namespace smddp::engine
