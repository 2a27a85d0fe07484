// TIMEOUT 300 SOAK 50000
// Random collectives and messages over a network with every fault: asynchronous, several outstanding, on several communicators, each
// rank posting the communicators' calls in an order of its own; results equal a plain reference. argv[1]: how many collectives.
// SMDDP_TEST_SEED: the seed of the first world; each world has the next one, and a failure says which.
#include "unit/engine/loopback_world.hpp"
#include "unit/engine/random_calls.hpp"

#include <sched.h>

#include <cstdlib>
#include <thread>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
extern "C" {
#include <cmocka.h>
}

namespace {

using namespace smddp;
using test::RandomCall;

uint64_t g_seed = 1;
long g_collectives = 5000;
constexpr size_t kWorldCalls = 120, kRoundCalls = 10;
constexpr int64_t kTimeoutMs = 60000;

// What the ranks of a world have in common beside its communicators.
struct Settings {
  uint64_t seed;
  std::vector<RandomCall> calls;
  engine::WaitPolicy policy;
  uint64_t p2p_bytes;
  bool progress_thread;
};

// A buffer with a pattern, private or in the arena; the bytes in use begin at data.
class Buffer {
 public:
  Buffer(size_t bytes, const std::shared_ptr<node::Arena>& arena, int local_rank, bool shared) : bytes_(bytes) {
    void* block = shared && bytes ? node::Arena::allocate(arena, local_rank, bytes) : nullptr;
    if (block) shared_.reset(block);
    else private_.resize(bytes);
    fill();
  }
  unsigned char* data() { return shared_ ? static_cast<unsigned char*>(shared_.get()) : private_.data(); }
  bool holds(size_t from, const unsigned char* expected, size_t bytes) { return bytes == 0 || std::memcmp(data() + from, expected, bytes) == 0; }
  bool untouched() {
    return std::all_of(data(), data() + bytes_, [](unsigned char c) { return c == kPattern; });
  }
  void fill() { std::fill(data(), data() + bytes_, kPattern); }

 private:
  struct Release {
    void operator()(void* block) const { node::Arena::release(block); }
  };
  static constexpr unsigned char kPattern = 0xa5;
  size_t bytes_;
  std::unique_ptr<void, Release> shared_;
  std::vector<unsigned char> private_;
};

struct Outstanding {
  const RandomCall* call;
  test::Comm* comm;
  engine::Request* request;
  std::unique_ptr<Buffer> send, recv;
};

class Rank {
 public:
  Rank(test::LoopbackWorld& world, const Settings& settings, int rank)
      : world_(world), settings_(settings), place_(world.shape.places[static_cast<size_t>(rank)]),
        node_(*world.nodes[static_cast<size_t>(place_.node)]), own_(settings.seed * 131 + static_cast<uint64_t>(rank)),
        engine_(std::make_shared<engine::Engine>(node_.group(place_.local), settings.policy, settings.progress_thread,
                                                 std::move(world.wires[static_cast<size_t>(rank)]))) {
    for (const test::CommPlan& plan : world.comms) comms_.push_back(test::Comm::make(world, plan, rank, engine_->wire(), settings.p2p_bytes));
  }

  std::string run() {
    std::vector<Outstanding> before;
    std::string problem;
    for (size_t first = 0; first < settings_.calls.size() && problem.empty(); first += kRoundCalls) {
      std::vector<Outstanding> now = post(first);
      problem = finish(before);
      before.insert(before.end(), std::make_move_iterator(now.begin()), std::make_move_iterator(now.end()));
    }
    if (problem.empty()) problem = finish(before);
    end(problem, before);
    return problem;
  }

 private:
  size_t below(size_t limit) { return static_cast<size_t>(own_() % limit); }

  // A round's calls that this rank is part of: those of a communicator in their order, the communicators' mixed at random.
  std::vector<Outstanding> post(size_t first) {
    std::vector<std::vector<const RandomCall*>> lists(comms_.size());
    size_t left = 0;
    for (size_t i = first; i < std::min(first + kRoundCalls, settings_.calls.size()); ++i) {
      const RandomCall& call = settings_.calls[i];
      const test::Comm* comm = comms_[call.comm].get();
      if (!comm || (call.collective == Collective::kSend && comm->rank != call.root && comm->rank != call.peer)) continue;
      lists[call.comm].push_back(&call);
      ++left;
    }
    std::vector<Outstanding> posted;
    std::vector<size_t> next(lists.size(), 0);
    for (; left; --left) {
      size_t list;
      do list = below(lists.size());
      while (next[list] == lists[list].size());
      posted.push_back(start(*lists[list][next[list]++]));
      if (below(4) == 0) engine_->test(*posted[below(posted.size())].request);
    }
    return posted;
  }

  engine::Request* request(engine::RequestKind kind) { return test::new_request(engine_, kind, kTimeoutMs); }

  std::unique_ptr<Buffer> buffer(size_t bytes) { return std::make_unique<Buffer>(bytes, node_.arena(), place_.local, below(4) == 0); }

  Outstanding start(const RandomCall& call) {
    test::Comm& comm = *comms_[call.comm];
    Outstanding out{&call, &comm, nullptr, nullptr, nullptr};
    if (call.collective == Collective::kSend) start_message(call, comm, out);
    else start_collective(call, comm, out);
    engine_->submit(*comm.queue, *out.request, true);
    return out;
  }

  void start_message(const RandomCall& call, const test::Comm& comm, Outstanding& out) {
    const bool sends = comm.rank == call.root;
    out.request = request(sends ? engine::RequestKind::kSend : engine::RequestKind::kRecv);
    out.request->tag = call.tag;
    if (sends) {
      out.send = buffer(call.count);
      test::put_inputs(call, call.root, 0, call.count, out.send->data());
      out.request->peer = call.peer;
      out.request->call.sendbuf = out.send->data();
      out.request->call.count = call.count;
    } else {
      const size_t room = call.count + below(100);
      out.recv = buffer(room);
      out.request->peer = call.any_source ? SMDDP_ANY_SOURCE : call.root;
      out.request->receive.buffer = out.recv->data();
      out.request->receive.capacity = room;
      out.request->receive.source = out.request->peer;
      out.request->receive.tag = call.tag;
    }
  }

  void start_collective(const RandomCall& call, test::Comm& comm, Outstanding& out) {
    const auto size = static_cast<size_t>(comm.plan.shape.size()), me = static_cast<size_t>(comm.rank);
    const bool blocks_in = node::sends_blocks(call.collective), blocks_out = test::gathers_blocks(call.collective);
    const size_t in = call.bytes() * (blocks_in ? size : 1), out_bytes = call.bytes() * (blocks_out ? size : 1);
    unsigned char *from, *to;
    if (call.in_place) {
      out.recv = buffer(std::max(in, out_bytes));
      from = to = out.recv->data();
      if (blocks_out && !blocks_in) from += me * call.bytes();
      if (blocks_in && !blocks_out) to += me * call.bytes();
    } else {
      out.send = buffer(in);
      out.recv = buffer(out_bytes);
      from = out.send->data();
      to = out.recv->data();
    }
    if (!node::has_root_source(call.collective) || comm.rank == call.root) test::put_inputs(call, comm.rank, 0, call.count * (blocks_in ? size : 1), from);
    out.request = request(engine::RequestKind::kCollective);
    out.request->schedule = &comm.schedule(call.algorithm, call.collective, call.root);
    out.request->segment_elements = call.segment_elements;
    node::Call& made = out.request->call;
    made.collective = call.collective;
    made.dtype = call.dtype;
    made.op = call.op;
    made.root = call.root;
    made.count = call.count;
    made.sendbuf = from;
    made.recvbuf = to;
    made.divisor = call.op == SMDDP_AVG ? static_cast<int>(size) : 1;
  }

  // Waits for all in some order, in some way, and looks at what has come.
  std::string finish(std::vector<Outstanding>& all) {
    std::shuffle(all.begin(), all.end(), own_);
    while (!all.empty()) {
      Outstanding& last = all.back();
      const bool sleeps = below(2) == 0;
      for (const int64_t limit = deadline_after_ms(2 * kTimeoutMs); !engine_->test(*last.request);) {
        if (world_.failed.load() || now_ns() > limit) return "gives up, as another rank has failed or nothing moved";
        if (sleeps) engine_->wait(*last.request, deadline_after_ms(500));
        else sched_yield();
      }
      const std::string problem = last.request->status.ok() ? check(last) : last.request->status.text;
      if (!problem.empty()) return format("rank %d: ", last.comm->rank) + last.call->text(last.comm->plan.shape) + ": " + problem;
      engine::release_request(last.request);
      all.pop_back();
    }
    return "";
  }

  std::string check(Outstanding& out) {
    const RandomCall& call = *out.call;
    const int rank = out.comm->rank;
    if (call.collective == Collective::kSend) {
      if (rank == call.root) return "";
      const node::Receive& receive = out.request->receive;
      if (receive.message_source != call.root || receive.message_tag != call.tag || receive.message_bytes != call.count) {
        return format("received %zu bytes from %d, tag %d; expected %zu from %d, tag %d", receive.message_bytes, receive.message_source,
                      receive.message_tag, call.count, call.root, call.tag);
      }
      std::vector<unsigned char> sent(call.count);
      test::put_inputs(call, call.root, 0, call.count, sent.data());
      return out.recv->holds(0, sent.data(), sent.size()) ? "" : "the message has other bytes";
    }
    const std::vector<unsigned char> expected = test::expected(call, rank, out.comm->plan.shape.size());
    const bool receives = !node::has_root_target(call.collective) || rank == call.root;
    if (!receives) return call.in_place || out.recv->untouched() ? "" : "the receive buffer of a rank that receives nothing was written";
    const bool inside = call.in_place && node::sends_blocks(call.collective) && !test::gathers_blocks(call.collective);
    if (!out.recv->holds(inside ? static_cast<size_t>(rank) * call.bytes() : 0, expected.data(), expected.size())) return "the result is wrong";
    return "";
  }

  // Serves the others until all have what they need of this rank.
  void end(const std::string& problem, std::vector<Outstanding>& left) {
    if (!problem.empty()) world_.failed.store(true);
    engine_->flush(deadline_after_ms(problem.empty() ? 20000 : 100));
    engine_->stop({SMDDP_ERR_ABORTED, "the test is over"});
    engine_->wire()->transport().quiesce(deadline_after_ms(problem.empty() ? 20000 : 100));
    for (const auto& comm : comms_) {
      if (comm) engine_->cancel(*comm->queue, {SMDDP_ERR_ABORTED, "the test is over"});
    }
    for (const Outstanding& out : left) engine::release_request(out.request);
  }

  test::LoopbackWorld& world_;
  const Settings& settings_;
  const coll::Place place_;
  test::Node& node_;
  std::mt19937_64 own_;
  std::shared_ptr<engine::Engine> engine_;
  std::vector<std::unique_ptr<test::Comm>> comms_;
};

transport::loopback::Faults draw_faults(std::mt19937_64& random) {
  const auto chance = [&](double most) { return random() % 3 == 0 ? 0 : most * static_cast<double>(random() % 1000) / 1000; };
  transport::loopback::Faults faults;
  faults.seed = random();
  faults.delay = chance(0.3);
  faults.max_delay = 1 + static_cast<int>(random() % 32);
  faults.reorder = random() % 4 != 0;
  faults.duplicate = chance(0.1);
  faults.again = chance(0.3);
  faults.late_conceal = chance(0.5);
  faults.queue_items = size_t{16} << (random() % 9);
  faults.packet_bytes = size_t{512} << (random() % 6);
  faults.put_bytes = random() % 3 == 0 ? 0 : size_t{4096} << (random() % 9);
  return faults;
}

// One world from its seed; returns "" or what went wrong on each rank, and counts its collectives.
std::string run_world(uint64_t seed, long& collectives) {
  static const std::vector<std::vector<int>> shapes = {{0, 1}, {0, 0, 1}, {0, 1, 2}, {0, 0, 1, 1}, {0, 0, 0, 1}, {0, 1, 0, 1, 2}, {0, 1, 2, 3}, {0, 1, 0, 2, 1, 0, 0}};
  std::mt19937_64 random(seed);
  const std::vector<int>& labels = shapes[random() % shapes.size()];
  const transport::loopback::Faults faults = draw_faults(random);
  transport::MessageOptions options;
  options.size = static_cast<int>(labels.size());
  options.window_units = random() % 2 ? 0 : 16 + static_cast<uint32_t>(random() % 200);
  test::LoopbackWorld world(labels, faults, options);

  static constexpr uint32_t firsts[] = {1, 0xfffff - 20, 0u - 20};  // sequence numbers wrap, on the wire and on the board
  std::vector<coll::Shape> comm_shapes;
  for (size_t i = 0, comms = 2 + random() % 3; i < comms; ++i) {
    std::vector<int> ranks;
    for (int r = 0; r < world.shape.size(); ++r) ranks.push_back(r);
    if (i > 0) {
      std::shuffle(ranks.begin(), ranks.end(), random);
      ranks.resize(2 + random() % (ranks.size() - 1));
    }
    world.add_comm(std::move(ranks), firsts[random() % 3]);
    comm_shapes.push_back(world.comms.back().shape);
  }

  Settings settings{seed, {}, {}, random() % 2 ? size_t{1} << 24 : size_t{1} << 17, random() % 2 == 0};
  settings.policy.oversubscribed = random() % 4 != 0;
  settings.policy.spin_ns = 2000;
  test::Drawing drawing(random(), comm_shapes);
  for (size_t i = 0; i < kWorldCalls; ++i) {
    settings.calls.push_back(drawing.next());
    collectives += settings.calls.back().collective != Collective::kSend;
  }

  std::vector<std::unique_ptr<Rank>> ranks;
  std::vector<std::string> problems(labels.size());
  std::vector<std::thread> threads;
  for (size_t r = 0; r < labels.size(); ++r) world.connect(static_cast<int>(r));
  for (size_t r = 0; r < labels.size(); ++r) ranks.push_back(std::make_unique<Rank>(world, settings, static_cast<int>(r)));
  for (size_t r = 0; r < labels.size(); ++r) threads.emplace_back([&, r] { problems[r] = ranks[r]->run(); });
  for (std::thread& thread : threads) thread.join();
  std::string all;
  for (const std::string& problem : problems) all += problem.empty() ? "" : problem + "\n";
  return all;
}

void random_calls_equal_a_reference(void**) {
  long collectives = 0;
  uint64_t seed = g_seed;
  for (; collectives < g_collectives; ++seed) {
    const std::string problem = run_world(seed, collectives);
    if (!problem.empty()) fail_msg("SMDDP_TEST_SEED=%llu:\n%s", static_cast<unsigned long long>(seed), problem.c_str());
  }
  print_message("%ld collectives in the worlds of seeds %llu to %llu\n", collectives, static_cast<unsigned long long>(g_seed),
                static_cast<unsigned long long>(seed - 1));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) g_collectives = std::atol(argv[1]);
  if (const char* seed = std::getenv("SMDDP_TEST_SEED")) g_seed = std::strtoull(seed, nullptr, 0);
  const CMUnitTest tests[] = {cmocka_unit_test(random_calls_equal_a_reference)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
