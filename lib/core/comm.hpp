// What a communicator handle points to, and the ways of a call: short for small blocking operations, through the engine for the rest.
#pragma once

#include "coll/select.hpp"
#include "core/context.hpp"
#include "core/thread_rule.hpp"
#include "engine/queue.hpp"
#include "engine/servers.hpp"

#include <map>
#include <memory>
#include <string>
#include <tuple>

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
  int own_rank = 0;              // of a server: behind the ranks
  std::vector<int> world_ranks;  // by rank; without servers
  smddp::coll::Shape shape;
  uint64_t number = 0;           // the same on all members, on no other communicator of the job
  int index = -1;                // under which peers on other nodes know it here

  std::mutex mutex;  // of what follows
  std::unique_ptr<smddp::coll::Selection> selection;
  std::map<std::tuple<const smddp::coll::Algorithm*, smddp::Collective, int>, std::unique_ptr<smddp::coll::Schedule>> schedules;  // …, root
  std::map<const smddp::coll::Algorithm*, uint64_t> uses;  // collectives that ran by it
  std::map<smddp_registration*, std::unique_ptr<smddp_registration>> registrations;

  int rank() const { return own_rank; }
  int size() const { return static_cast<int>(world_ranks.size()); }
  int local_rank() const { return board->rank(); }
  int local_size() const { return board->size(); }
};

namespace smddp::core {

// The context's first communicator: all ranks of the job.
void make_world(const std::shared_ptr<Context>& context);

// What this rank says of a communicator of several nodes when another member asks. Any thread.
control::Report report(smddp_comm& comm);

// A failure that a rank of another node has found. Any thread.
void fail_from_afar(smddp_comm& comm, smddp_status_t code, const std::string& text);

// How messages reach a member: "self", "shared memory", or the network's name.
const char* transport_name(const smddp_comm& comm, int peer);

// A counter by its name, of the communicator or of this rank as a whole. Throws INVALID_ARGUMENT. Any thread.
uint64_t counter(smddp_comm& comm, const std::string& name);

// Why one of the members, on whichever node, will say nothing more; "" if all are there.
std::string departed(const smddp_comm& comm);

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

// On a server: its part in a call of the ranks; the outcome.
Status take_part(smddp_comm& world, const engine::ServerCall& told);

// Waits for a request and gives both holders' shares back; its outcome.
Status finish(engine::Request* request, smddp_message_t* message);

}  // namespace smddp::core
