#include "completion.hpp"

#include "work.hpp"

#include <condition_variable>
#include <csignal>
#include <cxxabi.h>
#include <deque>
#include <mutex>
#include <pthread.h>
#include <thread>

namespace torch_plugin::completion {
namespace {

// Never destroyed: threads of the library may still call push() while the process exits.
struct Queue {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<c10::intrusive_ptr<SmddpWork>> work;
  bool running = false;
  bool stopping = false;
};

Queue *queue = new Queue;
thread_local bool is_completion_thread = false;

void end(const c10::intrusive_ptr<SmddpWork> &work) {
  try {
    work->end();
    work->complete_future();
  } catch (abi::__forced_unwind &) {
    throw;  // the interpreter ends threads that way; swallowing it would end the process
  } catch (const std::exception &error) {
    TORCH_WARN("smddp: a callback of a future failed: ", error.what());
  }
}

void run(Queue *q) {
  is_completion_thread = true;
  pthread_setname_np(pthread_self(), "smddp-torch");
  std::unique_lock lock(q->mutex);
  while (true) {
    q->changed.wait(lock, [&] { return q->stopping || !q->work.empty(); });
    if (q->stopping) break;
    c10::intrusive_ptr<SmddpWork> work = std::move(q->work.front());
    q->work.pop_front();
    lock.unlock();
    end(work);
    work.reset();
    lock.lock();
  }
  q->running = false;
  q->changed.notify_all();
}

}  // namespace

void start() {
  Queue *q = queue;
  std::lock_guard lock(q->mutex);
  if (q->running || q->stopping) return;
  // Python's signal handlers must interrupt the main thread, not this one.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread(run, q).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  q->running = true;
}

void push(c10::intrusive_ptr<SmddpWork> work) {
  Queue *q = queue;
  {
    std::lock_guard lock(q->mutex);
    q->work.push_back(std::move(work));
  }
  q->changed.notify_one();
}

bool on_thread() { return is_completion_thread; }

void stop() {
  Queue *q = queue;
  std::unique_lock lock(q->mutex);
  q->stopping = true;
  q->changed.notify_all();
  q->changed.wait_for(lock, std::chrono::seconds(2), [&] { return !q->running; });
}

void forget() {
  queue = new Queue;
  is_completion_thread = false;
}

}  // namespace torch_plugin::completion
