#include "engine/request.hpp"

#include <deque>
#include <mutex>

namespace smddp::engine {
namespace {

struct Pool {
  std::mutex mutex;
  std::deque<Request*> idle;  // reused oldest first, so that stale handles are recognised for long
};

Pool& pool() {
  static Pool* const instance = new Pool;  // never destroyed: requests may be freed while the process exits
  return *instance;
}

constexpr size_t kIdle = 64;  // kept before the oldest is reused

}  // namespace

Request* take_request() {
  Request* request = nullptr;
  {
    Pool& all = pool();
    const std::lock_guard<std::mutex> lock(all.mutex);
    if (all.idle.size() > kIdle) {
      request = all.idle.front();
      all.idle.pop_front();
    }
  }
  if (!request) request = new Request;
  request->holders.store(2, std::memory_order_relaxed);
  request->done.store(0, std::memory_order_relaxed);
  request->queue = nullptr;
  request->schedule = nullptr;
  request->call = {};
  request->segment_elements = 0;
  request->execution.reset();
  request->operation = {};
  request->receive = {};
  request->status = {};
  request->callback_state.store(Request::Callback::kNone, std::memory_order_relaxed);
  request->callback = nullptr;
  request->callback_arg = nullptr;
  request->magic.store(Request::kMagic, std::memory_order_release);
  return request;
}

void release_request(Request* request) {
  if (request->holders.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  request->magic.store(0, std::memory_order_release);
  request->engine.reset();
  Pool& all = pool();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.idle.push_back(request);
}

}  // namespace smddp::engine
