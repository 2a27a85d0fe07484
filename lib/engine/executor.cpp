// Progress of the queues: collectives in call order, messages in any; enforces deadlines.
#include "engine/engine.hpp"
#include "engine/servers.hpp"

#include <algorithm>

namespace smddp::engine {
namespace {

constexpr int64_t kLookMs = 500;       // of waiting, before the first look at the others
constexpr int64_t kVerdictMs = 2500;   // for the analyser at a deadline

}  // namespace

// Whether anything moved. Runs callbacks after the lock is free again.
Engine::Poll Engine::poll(bool look_at_clock) {
  std::vector<Request*> ended;
  bool moved = false;
  {
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return Poll::kBusy;
    if (wire_) {
      moved |= wire_->apply_deaths();
      moved |= wire_->transport().progress();
    }
    if (active_.empty()) return moved ? Poll::kMoved : Poll::kIdle;
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

  if (!queue.sends.empty() || !queue.receives.empty() || queue.mail.busy() || (queue.remote && queue.remote->has_outgoing())) {
    moved |= queue.mail.progress();
    if (queue.remote) moved |= queue.remote->progress();
    for (auto& [receiver, sends] : queue.sends) {
      const bool far = queue.members->board_rank(receiver) < 0;
      while (!sends.empty()) {
        Request& request = *sends.front();
        Status status;
        const node::Step step = far ? queue.remote->send(receiver, request.tag, request.call.sendbuf, request.call.count, status)
                                    : queue.mail.send(receiver, request.tag, request.call.sendbuf, request.call.count, status);
        if (step == node::Step::kAgain) break;  // later ones must not overtake it
        sends.pop_front();
        complete(request, std::move(status));
        moved = true;
      }
    }
    std::erase_if(queue.sends, [](const auto& entry) { return entry.second.empty(); });
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
  node::Step step;
  Status status;
  if (queue.route) {
    if (!request.execution) {
      const uint32_t history = queue.route->history;
      request.execution = std::make_unique<Execution>(*request.schedule, request.call, *queue.route, request.segment_elements);
      if (request.schedule->servers && queue.route->rank == 0) tell_servers(queue, request, history);
    }
    step = request.execution->advance(queue.board, status);
    if ((request.execution->disputed() || queue.board.disputed()) && !queue.front_wait.disputed) {
      queue.front_wait.disputed = true;
      ask(queue, request, control::Reason::kMismatch, request.timeout_ms);
    }
  } else {
    if (request.operation.phase == node::Phase::kBegin) {
      request.operation.call = request.call;
      request.operation.deadline = request.deadline;
    }
    step = queue.board.step(request.operation);
    status = std::move(request.operation.status);
  }
  if (step == node::Step::kAgain) return false;
  if (step == node::Step::kMoved) return true;
  if (step == node::Step::kFailed) {
    if (queue.route) queue.fail(status.code, status.text);
    take_back(request.execution);
  }
  queue.collectives.pop_front();
  queue.queued.fetch_sub(1, std::memory_order_release);
  complete(request, step == node::Step::kDone ? Status{} : std::move(status));
  return true;
}

void Engine::expire(Queue& queue, int64_t now) {
  int64_t next = kNever;
  const auto passed = [&](const Request* request) {
    if (request->deadline <= now) return true;
    next = std::min(next, request->deadline);
    return false;
  };
  const auto late = std::find_if(queue.collectives.begin(), queue.collectives.end(), passed);
  if (late != queue.collectives.end()) {
    if (queue.board.failed() || time_out(queue, *queue.collectives.front(), (*late)->timeout_ms, now)) fail_all(queue);
    else next = std::min(next, queue.front_wait.verdict_limit);
  } else if (queue.route && !queue.collectives.empty() && queue.collectives.front()->execution) {
    next = std::min(next, look_around(queue, *queue.collectives.front(), now));
  }
  const auto end_late = [&](std::list<Request*>& list) {
    for (auto it = list.begin(); it != list.end();) {
      Request& request = **it;
      if (!passed(&request)) {
        ++it;
        continue;
      }
      it = list.erase(it);
      const bool receives = request.kind == RequestKind::kRecv;
      if (receives) queue.mail.cancel(request.receive);
      complete(request, {SMDDP_ERR_TIMEOUT,
                         format("timed out: rank %d waited %lld ms in %s(%zu bytes, %s %d, tag %d) on comm '%s'", queue.members->world_rank(queue.members->rank()),
                                static_cast<long long>(request.timeout_ms), receives ? "recv" : "send",
                                receives ? request.receive.capacity : request.call.count, receives ? "source" : "dest", request.peer, request.tag,
                                queue.board.name.c_str())});
    }
  };
  for (auto& [receiver, sends] : queue.sends) end_late(sends);
  std::erase_if(queue.sends, [](const auto& entry) { return entry.second.empty(); });
  end_late(queue.receives);
  if (next < next_deadline_.load(std::memory_order_relaxed)) next_deadline_.store(next, std::memory_order_relaxed);
}

// At a deadline: who is missing. Of several nodes only the members know; without a verdict of theirs this rank says what it has seen.
bool Engine::time_out(Queue& queue, Request& front, int64_t timeout_ms, int64_t now) {
  if (!front.execution) {
    front.operation.call = front.call;
    queue.board.time_out(front.operation, timeout_ms);
    return true;
  }
  Wait& wait = front_wait(queue, front, now);
  if (wait.verdict_limit == 0) {
    wait.verdict_limit = now + kVerdictMs * 1000000;
    ask(queue, front, control::Reason::kTimeout, timeout_ms);
  }
  if (now < wait.verdict_limit) return false;
  const std::string missing = front.execution->missing();
  const Route& route = *queue.route;
  queue.fail(SMDDP_ERR_TIMEOUT,
             format("timed out: %s waited %lld ms in %s #%u on comm '%s': %s", route.name(route.rank).c_str(),
                    static_cast<long long>(timeout_ms), node::call_text(front.call).c_str(), front.execution->sequence(),
                    queue.board.name.c_str(), missing.empty() ? "a rank of this node has not come, or its peers are slow" : missing.c_str()));
  return true;
}

Wait& Engine::front_wait(Queue& queue, const Request& front, int64_t now) {
  Wait& wait = queue.front_wait;
  if (wait.sequence == front.execution->sequence()) return wait;
  wait = {front.execution->sequence(), now + kLookMs * 1000000, kLookMs, 0, wait.disputed};
  return wait;
}

// A rank that waits for long looks, ever more rarely, whether the others do the same: of two that wait for each other in different calls
// neither need have sent the other anything. When to come again.
int64_t Engine::look_around(Queue& queue, const Request& front, int64_t now) {
  Wait& wait = front_wait(queue, front, now);
  if (now >= wait.look_time) {
    ask(queue, front, control::Reason::kLook, front.timeout_ms);
    wait.look_pause_ms *= 2;
    wait.look_time = now + wait.look_pause_ms * 1000000;
  }
  return wait.look_time;
}

void Engine::ask(Queue& queue, const Request& front, control::Reason reason, int64_t timeout_ms) {
  control::Question question;
  question.reason = reason;
  question.sequence = front.execution->sequence();
  question.call = front.call;
  question.timeout_ms = timeout_ms;
  question.missing = front.execution->missing();
  queue.ask(std::move(question));
}

// After a failure of the board: everything queued ends with it.
void Engine::fail_all(Queue& queue) {
  while (!queue.collectives.empty()) {
    Request& request = *queue.collectives.front();
    queue.collectives.pop_front();
    queue.queued.fetch_sub(1, std::memory_order_release);
    take_back(request.execution);
    request.operation.call = request.call;
    complete(request, queue.board.failure(&request.operation));
  }
}

}  // namespace smddp::engine
