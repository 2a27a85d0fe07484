#include "engine/engine.hpp"

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/signal_block.hpp"

#include <sched.h>

#include <algorithm>
#include <utility>

namespace smddp::engine {
namespace {

constexpr int64_t kSoonNs = 100000;  // a sleep that ends before has cost more than polling would have

}  // namespace

Engine::Engine(node::Group& group, const WaitPolicy& policy, bool progress_thread, std::unique_ptr<Wire> wire)
    : group_(group), wire_(std::move(wire)), policy_(policy), wants_thread_(progress_thread) {}

Engine::~Engine() {
  if (thread_.joinable()) thread_.join();
}

void Engine::submit(Queue& queue, Request& request, bool background) {
  request.queue = &queue;
  counters_.operations.fetch_add(1, std::memory_order_relaxed);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    switch (request.kind) {
      case RequestKind::kCollective:
        queue.collectives.push_back(&request);
        queue.queued.fetch_add(1, std::memory_order_release);
        break;
      case RequestKind::kSend: queue.sends[request.peer].push_back(&request); break;
      case RequestKind::kRecv:
        queue.mail.post(request.receive);
        if (queue.remote) queue.remote->listen(request.receive.source);
        queue.receives.push_back(&request);
        break;
    }
    if (!queue.active) {
      queue.active = true;
      active_.push_back(&queue);
      outstanding_.store(static_cast<uint32_t>(active_.size()), std::memory_order_release);
    }
  }
  // Most small operations end within the time that waking a thread would take.
  for (int i = 0; i < (policy_.oversubscribed ? 1 : 48) && !request.done.load(std::memory_order_acquire); ++i) {
    poll(false);
    cpu_relax();
  }
  if (background && !request.done.load(std::memory_order_acquire) && drivers_.load(std::memory_order_acquire) == 0) wake_progress();
}

bool Engine::wait(Request& request, int64_t limit) {
  drivers_.fetch_add(1, std::memory_order_acq_rel);
  Backoff backoff(policy_);
  bool ended;
  while (!(ended = request.done.load(std::memory_order_acquire))) {
    if (poll(backoff.long_wait()) == Poll::kMoved) {
      backoff.reset();
      continue;
    }
    if (backoff.long_wait() && limit != kNever && now_ns() >= limit) break;
    if (!backoff.pause()) sleep(&request, limit);
  }
  counters_.yields.fetch_add(backoff.yields(), std::memory_order_relaxed);
  leave();
  return ended || request.done.load(std::memory_order_acquire);
}

bool Engine::test(Request& request) {
  if (!request.done.load(std::memory_order_acquire)) poll(true);
  return request.done.load(std::memory_order_acquire);
}

void Engine::leave() {
  if (drivers_.fetch_sub(1, std::memory_order_acq_rel) == 1 && outstanding_.load(std::memory_order_acquire)) wake_progress();
}

template <class T>
void Engine::take_back(std::unique_ptr<T>& owner) {
  if (!owner) return;
  const int64_t limit = deadline_after_ms(2000);
  while (!owner->drain()) {
    if (now_ns() >= limit) {
      (void)owner.release();
      return;
    }
    if (!wire_->transport().progress()) sched_yield();
  }
}
template void Engine::take_back(std::unique_ptr<Execution>&);

void Engine::cancel(Queue& queue, const Status& status) {
  std::vector<Request*> ended;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (Request* request : queue.collectives) {
      take_back(request->execution);
      complete(*request, status);
    }
    for (const auto& [receiver, sends] : queue.sends) {
      for (Request* request : sends) complete(*request, status);
    }
    for (Request* request : queue.receives) {
      if (!request->receive.done) queue.mail.cancel(request->receive);
      complete(*request, request->receive.done ? request->receive.status : status);
    }
    take_back(queue.remote);
    // What still comes for it must not reach a later communicator of the same number.
    if (queue.route) wire_->transport().discard(queue.route->id(queue.route->rank, 0, 0, 0), uint64_t{0xffff} << 48);
    queue.collectives.clear();
    queue.sends.clear();
    queue.receives.clear();
    queue.queued.store(0, std::memory_order_release);
    if (queue.active) {
      std::erase(active_, &queue);
      queue.active = false;
      outstanding_.store(static_cast<uint32_t>(active_.size()), std::memory_order_release);
    }
    ended.swap(ended_);
  }
  run_callbacks(ended);
}

void Engine::stop(const Status& status) {
  {
    const std::lock_guard<std::mutex> lock(park_mutex_);
    stopped_.store(true, std::memory_order_release);
    park_.notify_all();
  }
  group_.ring_self();
  if (thread_.joinable() && thread_.get_id() != std::this_thread::get_id()) thread_.join();
  std::vector<Queue*> queues;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    queues = active_;
  }
  for (Queue* queue : queues) cancel(*queue, status);
}

void Engine::flush(int64_t deadline) {
  const auto pending = [this] {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::any_of(active_.begin(), active_.end(), [](Queue* q) { return !q->board.failed() && (q->mail.has_outgoing() || (q->remote && q->remote->has_outgoing()) || !q->sends.empty()); });
  };
  while (pending() && now_ns() < deadline) {
    if (poll(true) != Poll::kMoved) sched_yield();
  }
}

bool Engine::has_work(Queue& queue) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return !queue.idle();
}

void Engine::complete(Request& request, Status status) {
  request.status = std::move(status);
  request.queue = nullptr;
  request.execution.reset();
  const bool calls_back = request.callback_state.load(std::memory_order_acquire) == Request::Callback::kSet;
  if (calls_back) {
    ended_.push_back(&request);  // still held by the engine
  } else {
    request.done.store(1, std::memory_order_release);
    if (request.callback_state.exchange(Request::Callback::kEnded, std::memory_order_acq_rel) == Request::Callback::kSet) {
      ended_.push_back(&request);
    } else {
      release_request(&request);
    }
  }
  if (followers_.load(std::memory_order_acquire)) {
    const std::lock_guard<std::mutex> lock(follow_mutex_);
    follow_.notify_all();
  }
  if (sleeper_.load(std::memory_order_seq_cst) && sleeper_id_.load() != std::this_thread::get_id()) group_.ring_self();
}

void Engine::run_callbacks(std::vector<Request*>& ended) {
  for (Request* request : ended) {
    request->done.store(1, std::memory_order_release);
    request->callback_state.store(Request::Callback::kEnded, std::memory_order_release);
    request->callback(request->callback_arg, request->status.code);
    release_request(request);
  }
  ended.clear();
}

void Engine::sleep(const Request* request, int64_t limit) {
  if (sleeper_.exchange(true, std::memory_order_seq_cst)) {
    // Another thread of this rank sleeps for all; it, or whoever completes the request, wakes this one. The bound is a safety net.
    std::unique_lock<std::mutex> lock(follow_mutex_);
    followers_.fetch_add(1, std::memory_order_seq_cst);
    if (sleeper_.load(std::memory_order_seq_cst) && !(request && request->done.load(std::memory_order_seq_cst))) {
      follow_.wait_for(lock, std::chrono::milliseconds(std::clamp(remaining_ms(limit), limit == kNever ? 20 : 1, 20)));
    }
    followers_.fetch_sub(1, std::memory_order_seq_cst);
    return;
  }
  sleeper_id_.store(std::this_thread::get_id());
  group_.begin_sleep();
  // Between the announcement and this look nobody can have moved unseen.
  if (poll(true) == Poll::kIdle && !(request && request->done.load(std::memory_order_acquire)) && !stopped_.load(std::memory_order_acquire)) {
    const int64_t wake = std::min(limit, next_deadline_.load(std::memory_order_relaxed));
    transport::Sleep how{true, -1, 0};
    if (wire_) how = arm();
    int64_t us = 1000 * std::min<int64_t>(1000, static_cast<unsigned>(remaining_ms(wake)));
    if (how.nap_us) us = std::min<int64_t>(us, how.nap_us);
    if (how.may_sleep) {
      counters_.sleeps.fetch_add(1, std::memory_order_relaxed);
      group_.sleep(us, how.fd);
    }
  }
  group_.end_sleep();
  sleeper_.store(false, std::memory_order_seq_cst);
  if (followers_.load(std::memory_order_seq_cst)) {
    const std::lock_guard<std::mutex> lock(follow_mutex_);
    follow_.notify_all();
  }
}

transport::Sleep Engine::arm() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return wire_->transport().arm();
}

transport::Counters Engine::wire_counters() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return wire_ ? wire_->transport().counters() : transport::Counters{};
}

void Engine::wake_progress() {
  if (!wants_thread_) return;
  const std::lock_guard<std::mutex> lock(park_mutex_);
  if (stopped_.load(std::memory_order_acquire)) return;
  parked_wake_ = true;
  if (!thread_.joinable()) {
    start_thread();
  } else {
    park_.notify_one();
  }
}

// The operation that wants the thread is posted already: without a thread it goes on in the calls that wait and test, and the next operation
// tries again. Signals go to the program's own threads; those of faults stay, for callbacks run here.
void Engine::start_thread() {
  const SignalBlock block({SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP});
  try {
    thread_ = std::thread([this] { progress_loop(); });
  } catch (const std::exception& error) {
    if (!std::exchange(warned_, true)) {
      log(Level::kWarn, group_.global_rank(group_.local_rank()),
          "cannot start the progress thread: %s; asynchronous operations move only in calls that wait or test", error.what());
    }
  }
}

// Never yields: beside a computing thread that costs far more than it gives. Polls briefly, and as long as sleeping and waking take where
// data has just moved and more is to be expected soon, as after a short sleep; then sleeps until a peer rings.
void Engine::progress_loop() {
  pthread_setname_np(pthread_self(), "smddp-progress");
  const int64_t most_patience_ns = policy_.oversubscribed ? 0 : policy_.spin_ns;
  int64_t moved_ns = 0, patience_ns = most_patience_ns;
  std::unique_lock<std::mutex> lock(park_mutex_);
  while (!stopped_.load(std::memory_order_acquire)) {
    if (outstanding_.load(std::memory_order_acquire) == 0 || drivers_.load(std::memory_order_acquire) != 0) {
      park_.wait(lock, [this] { return parked_wake_ || stopped_.load(std::memory_order_acquire); });
      parked_wake_ = false;
      counters_.progress_wakeups.fetch_add(1, std::memory_order_relaxed);
      continue;
    }
    lock.unlock();
    bool moved = false;
    for (int i = 0; i < 16 && !moved; ++i) {
      moved = poll(false) == Poll::kMoved;
      if (!moved) cpu_relax();
    }
    const int64_t now = now_ns();
    if (moved) moved_ns = now;
    else if (now - moved_ns >= patience_ns) {
      sleep(nullptr, kNever);
      patience_ns = now_ns() - now < kSoonNs ? most_patience_ns : 0;
    }
    lock.lock();
  }
}

void Engine::abandon_in_child() {
  if (thread_.joinable()) thread_.detach();
}

}  // namespace smddp::engine
