#include "core/context.hpp"

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/parameters.hpp"
#include "bootstrap/rails.hpp"
#include "core/comm.hpp"
#include "core/descriptors.hpp"
#include "node/join.hpp"
#include "node/stores.hpp"
#include "topology/topology.hpp"
#include "transport/ofi/ofi.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <map>

namespace smddp::core {
namespace {

constexpr int64_t kFarewellMs = 2000;

struct Registry {
  std::mutex mutex;
  std::vector<std::shared_ptr<Context>> live;
};

Registry& registry() {
  static Registry* const instance = new Registry;  // never destroyed: the process may exit with live contexts
  return *instance;
}

void fork_prepare() {
  registry().mutex.lock();
  node::Arena::before_fork();
}
void fork_parent() {
  node::Arena::after_fork_in_parent();
  registry().mutex.unlock();
}
void fork_child() {
  node::Arena::after_fork_in_child();
  for (const std::shared_ptr<Context>& context : registry().live) context->abandon_in_child();
  registry().mutex.unlock();
}

void install_fork_handlers() {
  static const int once = pthread_atfork(fork_prepare, fork_parent, fork_child);
  (void)once;
}

Level log_level() {
  const std::string text = parameter_text(parameter::kLog);
  return text == "error" ? Level::kError : text == "info" ? Level::kInfo : text == "debug" ? Level::kDebug : Level::kWarn;
}

void warn_of_sharing(int rank, size_t ranks, int cpus, const char* host) {
  static std::atomic<bool> warned{false};  // a process may start many contexts
  if (warned.exchange(true)) return;
  log(Level::kWarn, rank, "%zu ranks on %s share %d CPU%s: each waits while others run", ranks, host, cpus, cpus == 1 ? "" : "s");
}

// The machine's memory rounded up to a power of two, less where very many ranks would exhaust the address space.
uint64_t heap_bytes(size_t local_ranks) {
  uint64_t bytes = static_cast<uint64_t>(parameter_number(parameter::kHeap));
  if (bytes == 0) {
    const uint64_t memory = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    for (bytes = uint64_t{1} << 33; bytes < memory; bytes *= 2) {}
    while (bytes > (uint64_t{1} << 30) && bytes * local_ranks > uint64_t{1} << 43) bytes /= 2;
  }
  const uint64_t page = node::kPageBytes;
  return std::max((bytes + page - 1) / page * page, uint64_t{64} << 20);
}

}  // namespace

std::shared_ptr<Context> Context::start(const smddp_init_options_t* options, bootstrap::Role role) {
  set_log_level(log_level());
  auto context = std::make_shared<Context>();
  context->timeout_ms_ = options && options->timeout_ms ? options->timeout_ms : parameter_number(parameter::kTimeout);
  const int64_t deadline = deadline_after_ms(context->timeout_ms_);
  context->p2p_buffer_bytes_ = static_cast<uint64_t>(parameter_number(parameter::kP2pBuffer));
  context->thread_mode_ = options && options->thread_mode ? static_cast<smddp_thread_mode_t>(options->thread_mode)
                          : parameter_text(parameter::kThreads) == "ordered" ? SMDDP_THREAD_ORDERED
                                                                             : SMDDP_THREAD_OWNED;
  context->tuning_.eager_bytes = static_cast<size_t>(parameter_number(parameter::kEager));
  context->tuning_.segment_bytes = static_cast<size_t>(parameter_number(parameter::kSegment));

  const int64_t spin_us = parameter_number(parameter::kSpin);
  const int64_t yield_us = parameter_number(parameter::kYield);
  const bool progress_thread = parameter_text(parameter::kProgress) == "on";
  const int64_t stream_bytes = parameter_number(parameter::kStream);
  context->overrides_ = coll::parse_overrides(parameter_text(parameter::kAlgorithm));
  // A wrong value is this rank's error before it meets the others.
  parameter_number(parameter::kHeap);
  given_calibration();

  bootstrap::Placement placement = bootstrap::placement(options, role);
  context->rank_ = placement.rank;
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  const bootstrap::Member self{bootstrap::node_id(), host, getpid(), topology::allowed_cpus()};
  context->meeting_ = bootstrap::meet(placement, self, node::kProtocolVersion, shared_parameters(), deadline);
  const auto& members = context->meeting_.members;

  const auto label = [&](int rank) { return rank < context->ranks() ? members[static_cast<size_t>(rank)].node : member_name(rank, context->ranks()); };
  const std::string own_label = label(context->rank_);
  std::vector<int> local;  // ranks of this node
  std::vector<std::string> cpus;
  std::map<std::string, int> nodes;
  for (size_t r = 0; r < members.size(); ++r) {
    const std::string node = label(static_cast<int>(r));
    context->nodes_.push_back(nodes.emplace(node, static_cast<int>(nodes.size())).first->second);
    const bool here = node == own_label;
    context->local_ranks_.push_back(here ? static_cast<int>(local.size()) : -1);
    if (!here) continue;
    local.push_back(static_cast<int>(r));
    cpus.push_back(members[r].cpus);
  }
  const int local_rank = context->local_rank_of(context->rank_);

  node::Joined joined;
  std::unique_ptr<engine::Wire> wire;
  try {
    ensure_descriptors(local.size(), context->rank_);
    if (nodes.size() > 1) {
      context->address_ = bootstrap::reachable_address(context->meeting_, context->rank_, deadline);
      wire = context->open_wire(deadline);
      context->links_ = context->open_links(deadline);
    }
    node::Witnesses witnesses{{}, bootstrap::heard_failure};
    const auto& connections = context->meeting_.connections;
    const auto connection_of = [&](int rank) {
      const size_t at = context->rank_ == 0 ? static_cast<size_t>(rank) : 0;
      return (context->rank_ == 0 || rank == 0) && at < connections.size() && connections[at] ? connections[at].get() : -1;
    };
    for (size_t r = 0; r < (local_rank == 0 ? local.size() : 1); ++r) witnesses.sockets.push_back(connection_of(local[r]));
    joined = node::join(context->meeting_.nonce, witnesses, own_label, local, local_rank, heap_bytes(local.size()), deadline);
  } catch (const Error& error) {
    // The others wait for this rank and cannot see why it does not come; what it heard itself of another one goes on as it is.
    const bool heard = error.code() == SMDDP_ERR_PEER_GONE;
    bootstrap::tell_failure(context->meeting_, heard ? error.what() : format("%s failed in smddp_init: %s", context->name().c_str(), error.what()));
    throw;
  }
  context->meeting_.connections.clear();
  context->group_ = std::make_unique<node::Group>(node::Arena::open(std::move(joined.arena)), std::move(joined.doorbells), local, local_rank, joined.fences_all);
  node::Arena& arena = *context->group_->arena();
  context->windows_ = std::make_unique<node::WindowPool>(arena, context->group_->heap());

  engine::WaitPolicy policy;
  const auto is_here = [&](const bootstrap::Member& member) { return member.node == self.node; };
  const auto crowd = static_cast<int>(context->serves() ? static_cast<size_t>(std::count_if(members.begin(), members.end(), is_here)) : local.size());
  const std::vector<int> node_cpus = topology::cpus_in(cpus);
  const auto cpu_count = static_cast<int>(node_cpus.size());
  if (local_rank == 0 && local.size() > 1) {
    context->group_->set_stream_bytes(stream_bytes ? static_cast<uint64_t>(stream_bytes) : node::measured_stream_bytes(node_cpus));
  }
  policy.oversubscribed = cpu_count < crowd;
  if (policy.oversubscribed && local_rank == 0 && !context->serves()) warn_of_sharing(context->rank_, local.size(), cpu_count, host);
  policy.spin_ns = policy.oversubscribed && spin_us < 0 ? 0 : (spin_us < 0 ? 20 : spin_us) * 1000;
  if (spin_us > 0) policy.oversubscribed = false;
  policy.yield_ns = yield_us * 1000;
  context->engine_ = std::make_unique<engine::Engine>(*context->group_, policy, progress_thread, std::move(wire));
  make_world(context);
  context->start_control(std::move(joined.connections), joined.pids);

  context->state_.store(State::kLive, std::memory_order_release);
  install_fork_handlers();
  {
    Registry& all = registry();
    const std::lock_guard<std::mutex> lock(all.mutex);
    all.live.push_back(context);
  }
  if (context->engine_->wire() && !context->serves()) {
    log(Level::kInfo, context->rank_, "between nodes: %s; %s (%s)", context->engine_->wire()->transport().capabilities().name.c_str(),
        coll::text_of(context->calibration_.network).c_str(), context->calibration_.origin.c_str());
  }
  log(Level::kInfo, context->rank_, "%d ranks on %zu nodes, %zu of %s, %d servers, placed by %s, %s", context->ranks(),
      nodes.size() - static_cast<size_t>(context->servers()), local.size(), host, context->servers(),
      placement.origin.c_str(), policy.oversubscribed ? "more ranks than cores" : "a core for every rank");
  return context;
}

// Opens this rank's end of the network and learns those of all others.
std::unique_ptr<engine::Wire> Context::open_wire(int64_t deadline) {
  transport::ofi::Options options;
  const std::vector<bootstrap::RailPlace> own = bootstrap::own_rails(address_);
  options.source_address = own.front().address;
  for (const bootstrap::RailPlace& rail : bootstrap::shared_rails(meeting_, rank_, own, deadline)) {
    options.rails.push_back({rail.name, rail.network, rail.address});
  }
  options.messages.size = members();
  std::unique_ptr<transport::Transport> transport = transport::ofi::make(options);
  const std::vector<std::string> addresses = bootstrap::gather_texts(meeting_, rank_, transport->address(), deadline);
  transport->connect(addresses, rank_);
  const std::vector<int> nodes_of_ranks(nodes_.begin(), nodes_.begin() + ranks());
  const bool chooses = std::any_of(nodes_of_ranks.begin(), nodes_of_ranks.end(), [&](int node) { return node != nodes_[0]; });
  if (chooses) calibration_ = calibrate(meeting_, rank_, nodes_of_ranks, *transport, deadline);
  const auto remote = std::count(local_ranks_.begin(), local_ranks_.end(), -1);
  return std::make_unique<engine::Wire>(std::move(transport), members(), static_cast<int>(remote));
}

Context::~Context() {
  if (state_.load(std::memory_order_acquire) == State::kForked) {
    // A forked child shares its parent's locks and threads only in name: leave them alone.
    (void)monitor_.release();
    (void)inquiries_.release();
    (void)links_.release();
    (void)engine_.release();
    (void)group_.release();
    (void)windows_.release();
  }
}

void Context::finalize() {
  State expected = State::kLive;
  if (!state_.compare_exchange_strong(expected, State::kFinalized, std::memory_order_acq_rel)) return;
  {
    Registry& all = registry();
    const std::lock_guard<std::mutex> lock(all.mutex);
    std::erase(all.live, shared_from_this());
  }
  // What smddp_send has taken over is the peers' due, for a while.
  engine_->flush(deadline_after_ms(2000));
  group_->finalize(engine_->wire() ? engine_->wire()->first_death() : "");
  engine_->stop({SMDDP_ERR_INVALID_USAGE, name() + " called smddp_finalize while the operation was outstanding"});
  farewell();
  monitor_->stop();
  std::set<smddp_comm*> comms;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    comms.swap(comms_);
  }
  for (smddp_comm* comm : comms) release_comm(comm, true);
}

// Between nodes a rank stays until all have come to this point, or some seconds: others may need what it has sent, and its links.
void Context::farewell() {
  engine::Wire* wire = engine_->wire();
  if (!wire) return;
  control::Notice notice;
  notice.kind = control::Notice::Kind::kFinalized;
  notice.rank = rank_;
  const std::string death = group_->first_death();
  notice.text = name() + " has finalized" + (death.empty() ? "" : " after " + death);
  // After a death others wait for this rank in communicators that the dead one was no member of: they learn at once that they do so in vain.
  const bool at_once = wire->any_dead();
  if (at_once) links_->send(notice);
  wire->transport().quiesce(deadline_after_ms(kFarewellMs));
  if (!at_once) links_->send(notice);
  const int64_t limit = deadline_after_ms(kFarewellMs);
  while (!wire->all_left() && now_ns() < limit) {
    if (!wire->transport().progress()) usleep(1000);
  }
  links_->flush(limit);
}

std::string Context::unusable_reason() const {
  return state_.load(std::memory_order_acquire) == State::kForked
             ? format("this process was forked from rank %d after smddp_init and is no rank itself", rank_)
             : format("rank %d has finalized", rank_);
}

void Context::add(smddp_comm* comm) {
  const std::lock_guard<std::mutex> lock(mutex_);
  comms_.insert(comm);
  for (const control::Notice& notice : early_failures_) {
    if (notice.comm == comm->number) fail_from_afar(*comm, notice.code, notice.text);
  }
}

void Context::remove(smddp_comm* comm) {
  const std::lock_guard<std::mutex> lock(mutex_);
  comms_.erase(comm);
}

void Context::reclaim_boards() {
  node::Arena& arena = *group_->arena();
  std::erase_if(retired_, [&](uint64_t offset) {
    const auto& header = *reinterpret_cast<const node::BoardHeader*>(arena.at(offset));
    if (header.left.load(std::memory_order_acquire) < static_cast<uint32_t>(header.members)) return false;
    arena.discard(offset, group_->heap().block_bytes(offset));
    group_->heap().free(offset);
    return true;
  });
}

uint64_t Context::allocate_board(int ranks) {
  const std::lock_guard<std::mutex> lock(mutex_);
  reclaim_boards();
  const uint64_t offset = group_->heap().allocate(node::Board::bytes(ranks));
  if (offset != node::kNoOffset) node::Board::format(*group_->arena(), offset, ranks);
  return offset;
}

void Context::retire_board(uint64_t offset) {
  const std::lock_guard<std::mutex> lock(mutex_);
  retired_.push_back(offset);
  reclaim_boards();
}

void Context::discard_board(uint64_t offset) {
  const std::lock_guard<std::mutex> lock(mutex_);
  group_->heap().free(offset);
}

void Context::abandon_in_child() {
  state_.store(State::kForked, std::memory_order_release);
  monitor_->abandon_in_child();
  group_->abandon_in_child();
  engine_->abandon_in_child();
}

std::shared_ptr<Context> first_live_context() {
  Registry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto first = std::find_if(all.live.begin(), all.live.end(), [](const auto& context) { return !context->serves(); });
  return first == all.live.end() ? nullptr : *first;
}

}  // namespace smddp::core
