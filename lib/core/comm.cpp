#include "core/comm.hpp"

#include "coll/node.hpp"

#include <algorithm>
#include <deque>

namespace smddp::core {
namespace {

// Handles come from a pool that never shrinks, so that a stale one is recognised instead of read as garbage.
struct Pool {
  std::mutex mutex;
  std::deque<smddp_comm*> idle;
};

Pool& pool() {
  static Pool* const instance = new Pool;
  return *instance;
}

smddp_comm* take_comm() {
  constexpr size_t kIdle = 64;  // kept before the oldest is reused
  Pool& all = pool();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (all.idle.size() <= kIdle) return new smddp_comm;
  smddp_comm* comm = all.idle.front();
  all.idle.pop_front();
  return comm;
}

smddp_comm* make_comm(const std::shared_ptr<Context>& context, uint64_t offset, std::vector<int> members, int rank, std::string name,
                      int64_t timeout_ms, smddp_thread_mode_t mode) {
  smddp_comm* comm = take_comm();
  comm->context = context;
  comm->board = std::make_unique<node::Board>(context->group(), context->windows(), context->tuning(), offset, std::move(members),
                                              rank);
  comm->board->name = name.substr(0, 63);
  comm->queue = std::make_unique<engine::Queue>(*comm->board, context->p2p_buffer_bytes());
  comm->timeout_ms.store(timeout_ms);
  comm->threads.reset(mode);
  comm->children = 0;
  context->add(comm);
  comm->magic.store(smddp_comm::kMagic, std::memory_order_release);
  return comm;
}

const coll::Schedule& schedule_of(smddp_comm& comm, Collective collective) {
  const std::lock_guard<std::mutex> lock(comm.mutex);
  auto& slot = comm.schedules[static_cast<size_t>(collective)];
  if (!slot) slot = std::make_unique<coll::Schedule>(coll::node_schedule(collective, comm.rank(), comm.size()));
  return *slot;
}

struct Entry {
  Entry(smddp_comm& comm, const char* function) : comm(comm) { comm.threads.enter(function, comm.board->name.c_str()); }
  ~Entry() { comm.threads.leave(); }
  smddp_comm& comm;
};

int64_t timeout_of(const smddp_comm& comm, const CallSettings& settings) {
  return settings.timeout_ms ? settings.timeout_ms : comm.timeout_ms.load(std::memory_order_relaxed);
}

engine::Request* make_request(smddp_comm& comm, engine::RequestKind kind, const CallSettings& settings) {
  engine::Request* request = engine::take_request();
  request->kind = kind;
  request->engine = comm.context->engine_pointer();
  request->timeout_ms = timeout_of(comm, settings);
  request->deadline = deadline_after_ms(request->timeout_ms);
  return request;
}

engine::Request* make_collective(smddp_comm& comm, const node::Call& call, const CallSettings& settings) {
  engine::Request* request = make_request(comm, engine::RequestKind::kCollective, settings);
  request->schedule = &schedule_of(comm, call.collective);
  request->call = call;
  return request;
}

struct Choice {
  int32_t color, key;
};

}  // namespace

void make_world(const std::shared_ptr<Context>& context, const std::vector<int>& members) {
  // The first block of the first rank's heap. Zeroed memory is a board that nobody has used.
  const node::Arena& arena = *context->group().arena();
  const uint64_t offset = arena.header().heap_offset;
  if (context->group().local_rank() == 0) {
    context->group().heap().allocate(node::Board::bytes(static_cast<int>(members.size())));
    reinterpret_cast<node::BoardHeader*>(arena.at(offset))->members = static_cast<int32_t>(members.size());
  }
  std::vector<int> local(members.size());
  for (size_t i = 0; i < local.size(); ++i) local[i] = static_cast<int>(i);
  context->set_world(make_comm(context, offset, std::move(local), context->group().local_rank(), "world", context->timeout_ms(),
                               context->thread_mode()));
}

Status run(smddp_comm& comm, const char* function, const node::Call& call, const CallSettings& settings) {
  const Entry entry(comm, function);
  engine::Engine& engine = comm.context->engine();
  node::Operation operation;
  operation.call = call;
  if (comm.queue->queued.load(std::memory_order_acquire) == 0) {
    engine::Backoff backoff(engine.policy());
    for (;;) {
      const node::Step step = comm.board->step(operation);
      if (step == node::Step::kDone || step == node::Step::kFailed) {
        node::Counters::add(comm.board->counters.fast_path, 1);
        return std::move(operation.status);
      }
      if (step == node::Step::kMoved) {
        backoff.reset();
        continue;
      }
      if (engine.has_outstanding()) engine.drive();
      // A wait too long for spinning goes on in the engine, which can sleep and knows the deadline.
      if (!backoff.pause() || (backoff.long_wait() && timeout_of(comm, settings) < 10)) break;
      if (backoff.long_wait() && !comm.context->usable()) return {SMDDP_ERR_INVALID_USAGE, comm.context->unusable_reason()};
    }
  }
  engine::Request* request = make_collective(comm, call, settings);
  if (operation.phase != node::Phase::kBegin) {
    request->operation = std::move(operation);
    request->operation.deadline = request->deadline;
    request->running = true;
    request->step = 1;
  }
  engine.submit(*comm.queue, *request, false);
  return finish(request, nullptr);
}

engine::Request* start(smddp_comm& comm, const char* function, const node::Call& call, const CallSettings& settings) {
  const Entry entry(comm, function);
  engine::Request* request = make_collective(comm, call, settings);
  comm.context->engine().submit(*comm.queue, *request, true);
  return request;
}

engine::Request* start_send(smddp_comm& comm, const void* buffer, size_t bytes, int dest, int tag, const CallSettings& settings,
                            bool background) {
  engine::Request* request = make_request(comm, engine::RequestKind::kSend, settings);
  request->call.sendbuf = buffer;
  request->call.count = bytes;
  request->peer = dest;
  request->tag = tag;
  comm.context->engine().submit(*comm.queue, *request, background);
  return request;
}

engine::Request* start_recv(smddp_comm& comm, const node::Receive& receive, const CallSettings& settings, bool background) {
  engine::Request* request = make_request(comm, engine::RequestKind::kRecv, settings);
  request->receive = receive;
  request->peer = receive.source;
  request->tag = receive.tag;
  comm.context->engine().submit(*comm.queue, *request, background);
  return request;
}

Status finish(engine::Request* request, smddp_message_t* message) {
  request->engine->wait(*request, kNever);
  Status status = request->status;
  if (message) {
    message->source = request->receive.message_source;
    message->tag = request->receive.message_tag;
    message->bytes = request->receive.message_bytes;
  }
  engine::release_request(request);
  return status;
}

smddp_comm* split(smddp_comm& comm, Collective collective, int color, int key, const smddp_comm_options_t* options) {
  const char* function = collective == Collective::kDup ? "smddp_comm_dup" : "smddp_comm_split";
  const size_t size = static_cast<size_t>(comm.size());
  // Who is with whom; every rank works out the same groups.
  std::vector<Choice> choices(size);
  const Choice own{color, key};
  node::Call call;
  call.collective = collective;
  call.dtype = SMDDP_INT32;
  call.count = 2;
  call.sendbuf = &own;
  call.recvbuf = choices.data();
  Status status = run(comm, function, call, {});
  if (!status.ok()) throw Error(status.code, status.text);

  std::vector<int> group;  // ranks of comm with this rank's colour, in their new order
  for (size_t r = 0; r < size; ++r) {
    if (choices[r].color == color && color != SMDDP_COLOR_NONE) group.push_back(static_cast<int>(r));
  }
  std::stable_sort(group.begin(), group.end(), [&](int a, int b) { return choices[static_cast<size_t>(a)].key < choices[static_cast<size_t>(b)].key; });

  // The first rank of each group makes its board and says where; or all ranks of comm learn that one could not.
  const bool leads = !group.empty() && group[0] == comm.rank();
  const uint64_t none = node::kNoOffset;
  uint64_t offset = leads ? comm.context->allocate_board(static_cast<int>(group.size())) : 0;
  std::vector<uint64_t> offsets(size);
  call.dtype = SMDDP_UINT64;
  call.count = 1;
  call.sendbuf = &offset;
  call.recvbuf = offsets.data();
  status = run(comm, function, call, {});
  if (!status.ok()) throw Error(status.code, status.text);
  const auto failed = std::find(offsets.begin(), offsets.end(), none);
  if (failed != offsets.end()) {
    if (leads && offset != none) comm.context->discard_board(offset);
    throw Error(SMDDP_ERR_RESOURCE, format("%s on comm '%s': rank %d has no shared memory left for a new communicator; SMDDP_HEAP_BYTES gives more",
                                           function, comm.board->name.c_str(), comm.board->global_rank(static_cast<int>(failed - offsets.begin()))));
  }
  ++comm.children;
  if (group.empty()) return nullptr;

  std::vector<int> members;
  int rank = 0;
  for (size_t i = 0; i < group.size(); ++i) {
    if (group[i] == comm.rank()) rank = static_cast<int>(i);
    members.push_back(comm.board->members()[static_cast<size_t>(group[i])]);
  }
  std::string name = options && options->name ? options->name
                     : collective == Collective::kDup ? format("%s.%u", comm.board->name.c_str(), comm.children)
                                                      : format("%s.%u:%d", comm.board->name.c_str(), comm.children, color);
  const int64_t timeout_ms = options && options->timeout_ms ? options->timeout_ms : comm.timeout_ms.load();
  const auto mode = options && options->thread_mode ? static_cast<smddp_thread_mode_t>(options->thread_mode) : comm.threads.mode();
  return make_comm(comm.context, offsets[static_cast<size_t>(group[0])], std::move(members), rank, std::move(name), timeout_ms, mode);
}

void release_comm(smddp_comm* comm, bool finalized) {
  comm->magic.store(finalized ? smddp_comm::kFinalized : 0, std::memory_order_release);
  const std::shared_ptr<Context> context = comm->context;
  context->engine().cancel(*comm->queue, {SMDDP_ERR_INVALID_USAGE, format("comm '%s' was freed while the operation was outstanding", comm->board->name.c_str())});
  comm->threads.wait_until_left(deadline_after_ms(2000));
  const bool leads = comm->rank() == 0;
  const uint64_t offset = comm->board->offset();
  comm->board->leave();
  comm->queue.reset();
  comm->board.reset();
  if (leads) context->retire_board(offset);
  for (auto& schedule : comm->schedules) schedule.reset();
  comm->registrations.clear();
  comm->context.reset();
  Pool& all = pool();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.idle.push_back(comm);
}

}  // namespace smddp::core
