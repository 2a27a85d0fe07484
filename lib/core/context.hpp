// One rank, or server, of one job: everything that smddp_init starts, in the order in which it is started, and stops in reverse.
#pragma once

#include "bootstrap/bootstrap.hpp"
#include "coll/overrides.hpp"
#include "control/monitor.hpp"
#include "core/calibration.hpp"
#include "engine/engine.hpp"
#include "node/group.hpp"
#include "node/window.hpp"

#include <deque>
#include <memory>
#include <mutex>
#include <set>

struct smddp_comm;

namespace smddp::core {

class Context : public std::enable_shared_from_this<Context> {
 public:
  // Blocks until all ranks and servers are there. Throws; nothing is left behind then.
  static std::shared_ptr<Context> start(const smddp_init_options_t* options, bootstrap::Role role = bootstrap::Role::kRank);

  // Idempotent; from any thread. Ends everything that is outstanding and frees all communicators.
  void finalize();

  // Servers are members of the job behind the ranks. Each is a node of its own: what it has to do with ranks goes over the network.
  int rank() const { return rank_; }
  int ranks() const { return meeting_.ranks(); }
  int servers() const { return meeting_.servers; }
  int members() const { return static_cast<int>(meeting_.members.size()); }
  bool serves() const { return rank_ >= ranks(); }
  std::string name() const { return member_name(rank_, ranks()); }
  int64_t timeout_ms() const { return timeout_ms_; }
  smddp_thread_mode_t thread_mode() const { return thread_mode_; }
  bool usable() const { return state_.load(std::memory_order_acquire) == State::kLive; }
  std::string unusable_reason() const;

  // Of a member of the job: its node's number, in the order of first ranks; its place on this node, −1 elsewhere.
  int node_of(int rank) const { return nodes_[static_cast<size_t>(rank)]; }
  int local_rank_of(int rank) const { return local_ranks_[static_cast<size_t>(rank)]; }
  // Of a new communicator, unique in the job.
  uint64_t next_number() { return static_cast<uint64_t>(rank_ + 1) << 32 | ++numbers_; }

  // To the members on other nodes.
  void tell_failure(uint64_t comm, const Status& status);

  // Has the members of a communicator of several nodes asked why it stands still; the analyser's verdict fails it on all of them.
  void ask(control::Question question);

  node::Group& group() { return *group_; }
  node::WindowPool& windows() { return *windows_; }
  const node::Tuning& tuning() const { return tuning_; }
  engine::Engine& engine() { return *engine_; }
  // For requests, which may be waited for while the context ends: keeps the whole context.
  std::shared_ptr<engine::Engine> engine_pointer() { return {shared_from_this(), engine_.get()}; }
  uint64_t p2p_buffer_bytes() const { return p2p_buffer_bytes_; }

  // What the choice of algorithms rests on, the same on all ranks.
  const Calibration& calibration() const { return calibration_; }
  const coll::Overrides& overrides() const { return overrides_; }
  const bootstrap::Member& member(int rank) const { return meeting_.members[static_cast<size_t>(rank)]; }

  smddp_comm* world() const { return world_; }
  void set_world(smddp_comm* world) { world_ = world; }
  void add(smddp_comm* comm);
  void remove(smddp_comm* comm);

  // Boards of communicators whose local rank 0 is this rank.
  uint64_t allocate_board(int ranks);          // kNoOffset if memory is out
  void retire_board(uint64_t offset);          // freed by this rank; reused once all members have
  void discard_board(uint64_t offset);         // never used by anybody

  // Called in a forked child.
  void abandon_in_child();

  Context() = default;
  ~Context();

 private:
  enum class State : uint8_t { kStarting, kLive, kFinalized, kForked };
  void reclaim_boards();
  std::unique_ptr<engine::Wire> open_wire(int64_t deadline);
  std::unique_ptr<control::Links> open_links(int64_t deadline);
  void start_control(std::vector<UniqueFd> connections, const std::vector<int64_t>& pids);
  void handle(const control::Notice& notice);
  std::string departed(int rank) const;
  void farewell();

  std::atomic<State> state_{State::kStarting};
  int rank_ = 0;
  int64_t timeout_ms_ = 0;
  smddp_thread_mode_t thread_mode_ = SMDDP_THREAD_OWNED;
  uint64_t p2p_buffer_bytes_ = 0;
  bootstrap::Meeting meeting_;
  std::vector<int> nodes_, local_ranks_;  // by rank
  std::string address_;                   // where other nodes reach this rank; of a job of several nodes
  std::atomic<uint32_t> numbers_{0};
  node::Tuning tuning_;
  coll::Overrides overrides_{};
  Calibration calibration_;

  std::unique_ptr<node::Group> group_;
  std::unique_ptr<node::WindowPool> windows_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<control::Links> links_;          // of a job of several nodes
  std::unique_ptr<control::Inquiries> inquiries_;  // likewise
  std::unique_ptr<control::Monitor> monitor_;

  std::mutex mutex_;
  smddp_comm* world_ = nullptr;
  std::set<smddp_comm*> comms_;
  std::deque<control::Notice> early_failures_;  // of communicators that this rank may be about to make
  std::vector<uint64_t> retired_;
};

// The oldest live rank of this process, for smddp_comm_world; NULL: there is none.
std::shared_ptr<Context> first_live_context();

}  // namespace smddp::core
