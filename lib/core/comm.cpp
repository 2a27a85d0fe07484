#include "core/comm.hpp"

#include "coll/algorithms.hpp"
#include "coll/node.hpp"
#include "node/shape.hpp"

#include <unistd.h>

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

struct Membership {
  std::vector<int> world_ranks;    // by rank
  int servers = 0;                 // that help them, members of the job behind its ranks
  int rank = 0;                    // behind those of world_ranks: a server
  uint64_t number = 0;
  uint64_t board = 0;              // offset of the board of this node's members
  int index = -1;                  // of this rank
  std::vector<uint16_t> indices;   // by rank
};

smddp_comm* make_comm(const std::shared_ptr<Context>& context, Membership membership, std::string name, int64_t timeout_ms,
                      smddp_thread_mode_t mode) {
  smddp_comm* comm = take_comm();
  comm->context = context;
  comm->own_rank = membership.rank;
  comm->number = membership.number;
  comm->index = membership.index;
  std::vector<int> nodes;  // by rank: number of its node in the job
  std::vector<int> local;  // members of this node
  std::vector<int> board_ranks;
  int local_rank = 0;
  for (size_t r = 0; r < membership.world_ranks.size(); ++r) {
    const int world_rank = membership.world_ranks[r];
    nodes.push_back(context->node_of(world_rank));
    if (static_cast<int>(r) == membership.rank) local_rank = static_cast<int>(local.size());
    const int here = context->local_rank_of(world_rank);
    board_ranks.push_back(here >= 0 ? static_cast<int>(local.size()) : -1);
    if (here >= 0) local.push_back(here);
  }
  comm->shape = coll::Shape::of_labels(nodes);
  comm->shape.servers = membership.servers;
  std::vector<int> members = membership.world_ranks;
  for (int s = 0; s < membership.servers; ++s) {
    members.push_back(context->ranks() + s);
    board_ranks.push_back(context->local_rank_of(members.back()));
    if (board_ranks.back() >= 0) local.push_back(board_ranks.back());
  }
  const bool one_node = comm->shape.node_count() == 1 && !context->serves();
  if (!one_node) comm->selection = std::make_unique<coll::Selection>(comm->shape, context->calibration().network, context->overrides());
  comm->board = std::make_unique<node::Board>(context->group(), context->windows(), context->tuning(), membership.board, std::move(local),
                                              local_rank);
  comm->board->name = name.substr(0, 63);
  std::unique_ptr<engine::Route> route;
  if (!one_node) {
    route.reset(new engine::Route{*context->engine().wire(), std::move(members), membership.indices, std::move(board_ranks), membership.rank, 0});
    route->servers = membership.servers;
  }
  comm->queue = std::make_unique<engine::Queue>(*comm->board, context->p2p_buffer_bytes(), std::move(route));
  if (!one_node) {
    comm->board->disputes = true;
    comm->queue->ask = [comm](control::Question question) {
      if (comm->context->serves()) return;  // the ranks ask each other
      question.comm = comm->number;
      question.name = comm->board->name;
      question.members = comm->world_ranks;
      comm->context->ask(std::move(question));
    };
    comm->queue->tell = [context = context.get(), number = membership.number](const Status& status) { context->tell_failure(number, status); };
  }
  comm->world_ranks = std::move(membership.world_ranks);
  comm->timeout_ms.store(timeout_ms);
  comm->threads.reset(mode);
  comm->children = 0;
  context->add(comm);
  comm->magic.store(smddp_comm::kMagic, std::memory_order_release);
  return comm;
}

bool is_half(const node::Call& call) {
  return node::reduces(call.collective) && (call.dtype == SMDDP_FLOAT16 || call.dtype == SMDDP_BFLOAT16);
}

// Which algorithm, and in which segments: the same on all ranks.
void choose_schedule(smddp_comm& comm, const node::Call& call, engine::Request& request) {
  const std::lock_guard<std::mutex> lock(comm.mutex);
  const coll::Algorithm* algorithm = nullptr;
  int root = 0;
  if (comm.queue->route) {
    const bool collects = call.collective == Collective::kSplit || call.collective == Collective::kDup;
    const size_t element = std::max<size_t>(1, dtype_bytes(call.dtype));
    const coll::Algorithm* named = coll::algorithm_of(call.algorithm);
    const coll::Choice& choice = comm.selection->of(collects ? Collective::kAllgather : call.collective, call.count * element, is_half(call), named);
    algorithm = choice.algorithm;
    ++comm.uses[algorithm];
    root = call.root;
    request.segment_elements = choice.segment_bytes / element;
  }
  auto& slot = comm.schedules[{algorithm, call.collective, root}];
  if (!slot) {
    const coll::Position position{comm.shape, comm.rank(), root};
    slot = std::make_unique<coll::Schedule>(algorithm ? algorithm->schedule(position) : coll::node_schedule(call.collective, position));
  }
  request.schedule = slot.get();
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
  choose_schedule(comm, call, *request);
  request->call = call;
  return request;
}

struct Choice {
  int32_t color, key;
};

}  // namespace

void make_world(const std::shared_ptr<Context>& context) {
  // The first block of the first local rank's heap. Zeroed memory is a board that nobody has used.
  const node::Arena& arena = *context->group().arena();
  const int local_ranks = context->group().size();
  Membership world;
  world.board = arena.header().heap_offset;
  if (context->group().local_rank() == 0) {
    context->group().heap().allocate(node::Board::bytes(local_ranks));
    reinterpret_cast<node::BoardHeader*>(arena.at(world.board))->members = local_ranks;
  }
  for (int r = 0; r < context->ranks(); ++r) world.world_ranks.push_back(r);
  world.servers = context->servers();
  world.rank = context->rank();
  if (engine::Wire* wire = context->engine().wire()) {
    world.index = wire->take_index();  // the first one on every rank
    world.indices.assign(static_cast<size_t>(context->members()), static_cast<uint16_t>(world.index));
  }
  const int64_t timeout_ms = context->serves() ? SMDDP_TIMEOUT_INFINITE : context->timeout_ms();  // what a server waits for has the ranks' deadlines
  context->set_world(make_comm(context, std::move(world), "world", timeout_ms, context->thread_mode()));
}

control::Report report(smddp_comm& comm) {
  control::Report report;
  const engine::Route* route = comm.queue->route.get();
  if (!route) return report;
  report.known = true;
  report.begun = route->ring.begun();
  report.ended = route->ring.ended();
  report.records = route->ring.read();
  for (size_t r = 0; r < route->world_ranks.size() && report.death.empty(); ++r) {
    if (comm.queue->members->is_dead(static_cast<int>(r))) report.death = comm.queue->members->departed(static_cast<int>(r));
  }
  return report;
}

void fail_from_afar(smddp_comm& comm, smddp_status_t code, const std::string& text) {
  comm.queue->told.store(true);
  comm.board->fail(code, text);
}

const char* transport_name(const smddp_comm& comm, int peer) {
  if (peer == comm.rank()) return "self";
  const bool near = comm.queue->members->board_rank(peer) >= 0;
  return near ? "shared memory" : comm.queue->route->wire.transport().capabilities().name.c_str();
}

std::string departed(const smddp_comm& comm) {
  std::string who = comm.context->group().departed(comm.board->members());
  if (const engine::Route* route = comm.queue->route.get()) {
    for (size_t r = 0; r < route->world_ranks.size() && who.empty(); ++r) who = route->wire.departed(route->world_ranks[r]);
  }
  return who;
}

Status run(smddp_comm& comm, const char* function, const node::Call& call, const CallSettings& settings) {
  const Entry entry(comm, function);
  engine::Engine& engine = comm.context->engine();
  node::Operation operation;
  operation.call = call;
  if (!comm.queue->route && comm.queue->queued.load(std::memory_order_acquire) == 0) {
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

Status take_part(smddp_comm& world, const engine::ServerCall& told) {
  engine::Request* request = make_request(world, engine::RequestKind::kCollective, {});
  request->call = engine::expect(told, *world.queue->route);
  request->segment_elements = told.segment_elements;
  const coll::Algorithm& algorithm = *coll::algorithm_of(told.algorithm);
  auto& schedule = world.schedules[{&algorithm, request->call.collective, 0}];
  if (!schedule) schedule = std::make_unique<coll::Schedule>(algorithm.schedule({world.shape, world.rank()}));
  request->schedule = schedule.get();
  world.context->engine().submit(*world.queue, *request, false);
  return finish(request, nullptr);
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

  // On each node the first member of a group makes its board and says where, and every rank says under which index messages find it;
  // or all ranks of comm learn that one could not.
  struct Place {
    uint64_t board;
    int64_t index;
    uint64_t number;
  };
  const auto node_of = [&](int r) { return comm.shape.places[static_cast<size_t>(r)].node; };
  const auto first_on_node = [&](int node) {
    return *std::find_if(group.begin(), group.end(), [&](int r) { return node_of(r) == node; });
  };
  const int own_node = node_of(comm.rank());
  const bool leads = !group.empty() && first_on_node(own_node) == comm.rank();
  const uint64_t none = node::kNoOffset;
  engine::Wire* wire = comm.context->engine().wire();
  Place place{0, 0, comm.context->next_number()};
  if (leads) {
    const auto here = std::count_if(group.begin(), group.end(), [&](int r) { return node_of(r) == own_node; });
    place.board = comm.context->allocate_board(static_cast<int>(here));
  }
  if (wire && !group.empty()) place.index = wire->take_index();
  std::vector<Place> places(size);
  call.dtype = SMDDP_UINT64;
  call.count = sizeof(Place) / sizeof(uint64_t);
  call.sendbuf = &place;
  call.recvbuf = places.data();
  status = run(comm, function, call, {});
  const auto give_back = [&] {
    if (leads && place.board != none) comm.context->discard_board(place.board);
    if (wire && !group.empty() && place.index >= 0) wire->give_index(static_cast<int>(place.index));
  };
  if (!status.ok()) {
    give_back();
    throw Error(status.code, status.text);
  }
  const auto failed = std::find_if(places.begin(), places.end(), [&](const Place& p) { return p.board == none || p.index < 0; });
  if (failed != places.end()) {
    give_back();
    throw Error(SMDDP_ERR_RESOURCE, format("%s on comm '%s': rank %d has no %s left for a new communicator%s", function, comm.board->name.c_str(),
                                           comm.world_ranks[static_cast<size_t>(failed - places.begin())],
                                           failed->board == none ? "shared memory" : "number", failed->board == none ? "; SMDDP_HEAP_BYTES gives more" : ""));
  }
  ++comm.children;
  if (group.empty()) return nullptr;

  Membership membership;
  for (size_t i = 0; i < group.size(); ++i) {
    if (group[i] == comm.rank()) membership.rank = static_cast<int>(i);
    membership.world_ranks.push_back(comm.world_ranks[static_cast<size_t>(group[i])]);
    membership.indices.push_back(static_cast<uint16_t>(places[static_cast<size_t>(group[i])].index));
  }
  membership.number = places[static_cast<size_t>(group[0])].number;
  membership.board = places[static_cast<size_t>(first_on_node(own_node))].board;
  membership.index = wire ? static_cast<int>(place.index) : -1;
  std::string name = options && options->name ? options->name
                     : collective == Collective::kDup ? format("%s.%u", comm.board->name.c_str(), comm.children)
                                                      : format("%s.%u:%d", comm.board->name.c_str(), comm.children, color);
  const int64_t timeout_ms = options && options->timeout_ms ? options->timeout_ms : comm.timeout_ms.load();
  const auto mode = options && options->thread_mode ? static_cast<smddp_thread_mode_t>(options->thread_mode) : comm.threads.mode();
  return make_comm(comm.context, std::move(membership), std::move(name), timeout_ms, mode);
}

void release_comm(smddp_comm* comm, bool finalized) {
  comm->magic.store(finalized ? smddp_comm::kFinalized : 0, std::memory_order_release);
  const std::shared_ptr<Context> context = comm->context;
  context->engine().cancel(*comm->queue, {SMDDP_ERR_INVALID_USAGE, format("comm '%s' was freed while the operation was outstanding", comm->board->name.c_str())});
  comm->threads.wait_until_left(deadline_after_ms(2000));
  const bool leads = comm->board->rank() == 0;
  const uint64_t offset = comm->board->offset();
  comm->board->leave();
  comm->queue.reset();
  comm->board.reset();
  if (leads) context->retire_board(offset);
  if (comm->index >= 0) context->engine().wire()->give_index(comm->index);
  comm->index = -1;
  comm->schedules.clear();
  comm->selection.reset();
  comm->uses.clear();
  comm->shape = {};
  comm->world_ranks.clear();
  comm->registrations.clear();
  comm->context.reset();
  Pool& all = pool();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.idle.push_back(comm);
}

}  // namespace smddp::core
