// Progress of the queues: runs schedules step by step and segment by segment, delivers messages, enforces deadlines.
// Node steps run in one static order, by segment + step, then step: every rank enters the node's operations in the same order however
// the steps between them are timed.
#include "engine/engine.hpp"

#include "node/shape.hpp"

#include <algorithm>

namespace smddp::engine {

// Whether anything moved. Runs callbacks after the lock is free again.
Engine::Poll Engine::poll(bool look_at_clock) {
  std::vector<Request*> ended;
  bool moved = false;
  {
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return Poll::kBusy;
    if (active_.empty()) return Poll::kIdle;
    const int64_t now = look_at_clock ? now_ns() : 0;
    if (look_at_clock) next_deadline_.store(kNever, std::memory_order_relaxed);
    for (size_t i = 0; i < active_.size();) {
      Queue& queue = *active_[i];
      moved |= poll_queue(queue, look_at_clock, now);
      if (queue.idle()) {
        queue.active = false;
        active_.erase(active_.begin() + static_cast<ptrdiff_t>(i));
        outstanding_.store(static_cast<uint32_t>(active_.size()), std::memory_order_release);
      } else {
        ++i;
      }
    }
    ended.swap(ended_);
  }
  if (!ended.empty()) run_callbacks(ended);
  return moved ? Poll::kMoved : Poll::kIdle;
}

bool Engine::poll_queue(Queue& queue, bool look_at_clock, int64_t now) {
  bool moved = false;
  while (!queue.collectives.empty() && advance(queue, *queue.collectives.front())) moved = true;

  if (!queue.sends.empty() || !queue.receives.empty() || queue.mail.busy()) {
    moved |= queue.mail.progress();
    for (auto it = queue.sends.begin(); it != queue.sends.end();) {
      Request& request = **it;
      Status status;
      const node::Step step = queue.mail.send(request.peer, request.tag, request.call.sendbuf, request.call.count, status);
      if (step == node::Step::kAgain) break;  // later ones must not overtake it
      it = queue.sends.erase(it);
      complete(request, std::move(status));
      moved = true;
    }
    const uint32_t events = group_.events();
    if (events != queue.events_seen || look_at_clock) {
      queue.events_seen = events;
      moved |= queue.mail.drop_hopeless();
    }
    for (auto it = queue.receives.begin(); it != queue.receives.end();) {
      Request& request = **it;
      if (!request.receive.done) {
        ++it;
        continue;
      }
      it = queue.receives.erase(it);
      complete(request, request.receive.status);
      moved = true;
    }
  }
  if (look_at_clock) expire(queue, now);
  return moved;
}

// Moves the front collective; true if it ended or did something.
bool Engine::advance(Queue& queue, Request& request) {
  if (!request.running && !next_node_step(request)) {
    queue.collectives.pop_front();
    queue.queued.fetch_sub(1, std::memory_order_release);
    complete(request, {});
    return true;
  }
  switch (queue.board.step(request.operation)) {
    case node::Step::kAgain: return false;
    case node::Step::kMoved: return true;
    case node::Step::kDone: request.running = false; return true;
    case node::Step::kFailed: break;
  }
  Status status = std::move(request.operation.status);
  queue.collectives.pop_front();
  queue.queued.fetch_sub(1, std::memory_order_release);
  complete(request, std::move(status));
  return true;
}

// Starts the next node step of the schedule; false when all have run.
bool Engine::next_node_step(Request& request) {
  const auto& steps = request.schedule->steps;
  const uint32_t last = request.segments + static_cast<uint32_t>(steps.size()) - 1;
  for (; request.diagonal < last; ++request.diagonal, request.step = 0) {
    for (; request.step < steps.size() && request.step <= request.diagonal; ++request.step) {
      const uint32_t segment = request.diagonal - request.step;
      if (segment >= request.segments) continue;
      const coll::ScheduleStep& step = steps[request.step];
      node::Call call = request.call;
      if (step.node != coll::NodeStep::kWhole) {
        const node::Range part = request.segment_elements ? node::segment_of(call.count, segment, request.segment_elements)
                                                          : node::Range{0, call.count};
        const size_t skip = part.begin * dtype_bytes(call.dtype);
        call.count = part.length;
        call.recvbuf = static_cast<unsigned char*>(call.recvbuf) + skip;
        const bool gathers = step.node == coll::NodeStep::kGatherShares;
        call.sendbuf = gathers ? call.recvbuf : static_cast<const unsigned char*>(call.sendbuf) + skip;
        call.collective = gathers ? Collective::kGatherShares : Collective::kReduceShares;
      }
      request.operation = {};
      request.operation.call = call;
      request.operation.deadline = request.deadline;
      request.running = true;
      ++request.step;
      return true;
    }
  }
  return false;
}

void Engine::expire(Queue& queue, int64_t now) {
  int64_t next = kNever;
  const auto passed = [&](const Request* request) {
    next = std::min(next, request->deadline);
    return request->deadline <= now;
  };
  const auto late = std::find_if(queue.collectives.begin(), queue.collectives.end(), passed);
  if (late != queue.collectives.end()) {
    Request& front = *queue.collectives.front();
    if (!queue.board.failed()) queue.board.time_out(front.operation, (*late)->timeout_ms);
    fail_all(queue);
  }
  for (std::list<Request*>* list : {&queue.sends, &queue.receives}) {
    for (auto it = list->begin(); it != list->end();) {
      Request& request = **it;
      if (!passed(&request)) {
        ++it;
        continue;
      }
      it = list->erase(it);
      const bool receives = request.kind == RequestKind::kRecv;
      if (receives) queue.mail.cancel(request.receive);
      complete(request, {SMDDP_ERR_TIMEOUT,
                         format("timed out: rank %d waited %lld ms in %s(%zu bytes, %s %d, tag %d) on comm '%s'", queue.board.global_rank(queue.board.rank()),
                                static_cast<long long>(request.timeout_ms), receives ? "recv" : "send",
                                receives ? request.receive.capacity : request.call.count, receives ? "source" : "dest", request.peer, request.tag,
                                queue.board.name.c_str())});
    }
  }
  if (next < next_deadline_.load(std::memory_order_relaxed)) next_deadline_.store(next, std::memory_order_relaxed);
}

// After a failure of the board: everything queued ends with it.
void Engine::fail_all(Queue& queue) {
  while (!queue.collectives.empty()) {
    Request& request = *queue.collectives.front();
    queue.collectives.pop_front();
    queue.queued.fetch_sub(1, std::memory_order_release);
    request.operation.call = request.call;
    complete(request, queue.board.failure(&request.operation));
  }
}

}  // namespace smddp::engine
