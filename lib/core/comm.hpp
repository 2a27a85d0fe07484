// What a communicator handle points to, and the ways of a call: short for small blocking operations, through the engine for the rest.
#pragma once

#include "core/context.hpp"
#include "core/thread_rule.hpp"
#include "engine/queue.hpp"

#include <array>
#include <map>
#include <memory>
#include <string>

struct smddp_registration {
  void* pointer;
  size_t bytes;
};

struct smddp_comm {
  static constexpr uint64_t kMagic = 0x4d4d4f4350444d53;
  static constexpr uint64_t kFinalized = 0x4e49464350444d53;  // its context has ended

  std::atomic<uint64_t> magic{0};  // kMagic while the handle is valid
  std::shared_ptr<smddp::core::Context> context;
  std::unique_ptr<smddp::node::Board> board;
  std::unique_ptr<smddp::engine::Queue> queue;
  std::atomic<int64_t> timeout_ms{0};
  smddp::core::ThreadRule threads;
  uint32_t children = 0;  // for their default names

  std::mutex mutex;  // of what follows
  std::array<std::unique_ptr<smddp::coll::Schedule>, 16> schedules;  // by collective
  std::map<smddp_registration*, std::unique_ptr<smddp_registration>> registrations;

  int rank() const { return board->rank(); }
  int size() const { return board->size(); }
};

namespace smddp::core {

// The context's first communicator: all ranks of the node.
void make_world(const std::shared_ptr<Context>& context, const std::vector<int>& members);

// Collective over comm; returns NULL for SMDDP_COLOR_NONE. Throws.
smddp_comm* split(smddp_comm& comm, Collective collective, int color, int key, const smddp_comm_options_t* options);

// Ends the handle's life and gives everything back.
void release_comm(smddp_comm* comm, bool finalized = false);

// What one call brings beside its arguments.
struct CallSettings {
  int64_t timeout_ms = 0;  // 0: the communicator's
};

// Blocking: returns the operation's outcome. Throws for misuse by threads.
Status run(smddp_comm& comm, const char* function, const node::Call& call, const CallSettings& settings);

// Asynchronous: the request is the caller's.
engine::Request* start(smddp_comm& comm, const char* function, const node::Call& call, const CallSettings& settings);

// Messages; as above. receive.buffer and the rest are filled in by the caller.
engine::Request* start_send(smddp_comm& comm, const void* buffer, size_t bytes, int dest, int tag, const CallSettings& settings, bool background);
engine::Request* start_recv(smddp_comm& comm, const node::Receive& receive, const CallSettings& settings, bool background);

// Waits for a request and gives both holders' shares back; its outcome.
Status finish(engine::Request* request, smddp_message_t* message);

}  // namespace smddp::core
