// One asynchronous operation from its call to its release. Held by two: the engine until it completes, the user until request_free.
#pragma once

#include "engine/execution.hpp"
#include "node/mail.hpp"

#include <atomic>
#include <cstdint>
#include <memory>

namespace smddp::engine {
class Engine;
class Queue;
enum class RequestKind : uint8_t { kCollective, kSend, kRecv };
}  // namespace smddp::engine

struct smddp_request {
  static constexpr uint64_t kMagic = 0x5453455551455253;

  std::atomic<uint64_t> magic{0};  // kMagic while the user holds it
  std::atomic<uint32_t> holders{0};
  std::atomic<uint32_t> done{0};
  smddp::engine::RequestKind kind = smddp::engine::RequestKind::kCollective;
  smddp::engine::Queue* queue = nullptr;  // until done

  // A collective: inside a node one operation, of several nodes a schedule, which is executed from when it is first in its queue.
  const smddp::coll::Schedule* schedule = nullptr;
  smddp::node::Call call;
  size_t segment_elements = 0;
  smddp::node::Operation operation;
  std::unique_ptr<smddp::engine::Execution> execution;

  // A message.
  int peer = -1, tag = 0;
  smddp::node::Receive receive;

  int64_t deadline = 0;
  int64_t timeout_ms = 0;
  smddp::Status status;
  std::shared_ptr<smddp::engine::Engine> engine;

  // none → set → ended, or none → ended: whoever sees both calls it.
  enum class Callback : uint32_t { kNone, kSet, kEnded };
  std::atomic<Callback> callback_state{Callback::kNone};
  smddp_callback_t callback = nullptr;
  void* callback_arg = nullptr;
};

namespace smddp::engine {

using Request = ::smddp_request;

// Requests live in a pool that never shrinks, so a stale handle is recognised instead of read as garbage. Any thread.
Request* take_request();
void release_request(Request* request);  // by each holder once

}  // namespace smddp::engine
