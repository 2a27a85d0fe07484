// TIMEOUT 300
// Every algorithm over the loopback network, whose packets are delayed, reordered, doubled and refused: ranks as threads on several nodes,
// each node with its board; results equal a plain reference. argv[1]: seed, argv[2]: rounds.
#include "coll/algorithms.hpp"
#include "engine/execution.hpp"
#include "protocol/ranks.hpp"
#include "transport/faults.hpp"
#include "transport/loopback/loopback.hpp"

#include <sched.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <thread>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
extern "C" {
#include <cmocka.h>
}

using namespace smddp;

namespace {

uint64_t g_seed = 20260101;
int g_rounds = 60;

struct World {
  coll::Shape shape;
  std::shared_ptr<transport::loopback::Hub> hub;
  std::vector<std::unique_ptr<test::Node>> nodes;
};

struct Round {
  const coll::Algorithm* algorithm;
  size_t count;
  size_t segment;
  int root;
  bool in_place;
};

node::Board& board_of(World& world, int rank) {
  const coll::Place place = world.shape.places[static_cast<size_t>(rank)];
  return world.nodes[static_cast<size_t>(place.node)]->board(place.local);
}

// Until it has ended: "", or why it did not end well.
std::string finish(engine::Execution& execution, World& world, engine::Route& route) {
  const int64_t limit = deadline_after_ms(60000);
  for (;;) {
    Status status;
    const node::Step step = execution.advance(board_of(world, route.rank), status);
    if (step == node::Step::kDone) return "";
    if (step == node::Step::kFailed) return status.text;
    if (!route.wire.transport().progress()) sched_yield();
    if (now_ns() > limit) return execution.missing() + " in 60 s";
  }
}

std::string run_round(World& world, engine::Route& route, const Round& round, uint32_t number) {
  const int rank = route.rank, size = world.shape.size();
  test::Case work;
  work.prepare(rank, size, number, round.algorithm->collective, round.count, round.root, round.in_place);
  work.call.divisor = size;
  const coll::Schedule schedule = round.algorithm->schedule({world.shape, rank, round.root});
  engine::Execution execution(schedule, work.call, route, round.segment);
  std::string problem = finish(execution, world, route);
  const long wrong = problem.empty() ? work.wrong(rank, size) : -1;
  if (wrong >= 0) problem = format("element %ld is wrong", wrong);
  if (problem.empty()) return "";
  return format("%s %s, rank %d of %s, %zu elements in segments of %zu, root %d%s: %s", round.algorithm->name,
                collective_name(round.algorithm->collective), rank, coll::describe(world.shape).c_str(), round.count, round.segment, round.root,
                round.in_place ? ", in place" : "", problem.c_str());
}

// The hierarchical allreduce on one node gives, for any segment, the bits of the node group's own.
std::string compare_with_node(World& world, engine::Route& route) {
  const int rank = route.rank, size = world.shape.size();
  node::Board& board = board_of(world, rank);
  const coll::Schedule schedule = coll::find_algorithm(Collective::kAllreduce, "hierarchical")->schedule({world.shape, rank, 0});
  for (const size_t count : {size_t{1}, size_t{63}, size_t{1000}, size_t{30000}, size_t{200000}}) {
    for (const size_t segment : {size_t{64}, size_t{4096}, size_t{65536}}) {
      if (count / segment > 100) continue;
      std::vector<float> send(count), expected(count), got(count, -1.0f);
      for (size_t i = 0; i < count; ++i) send[i] = 0.37f * static_cast<float>((i * 7 + static_cast<size_t>(rank) * 13) % 1009) - 100.0f;
      node::Operation operation;
      operation.call.collective = Collective::kAllreduce;
      operation.call.dtype = SMDDP_FLOAT32;
      operation.call.count = count;
      operation.call.sendbuf = send.data();
      operation.call.recvbuf = expected.data();
      operation.call.divisor = size;
      node::Call call = operation.call;
      call.recvbuf = got.data();
      for (node::Step step; (step = board.step(operation)) != node::Step::kDone;) {
        if (step == node::Step::kFailed) return operation.status.text;
        if (step == node::Step::kAgain) sched_yield();
      }
      engine::Execution execution(schedule, call, route, segment);
      const std::string problem = finish(execution, world, route);
      if (!problem.empty()) return problem;
      if (std::memcmp(expected.data(), got.data(), count * sizeof(float)) != 0) {
        return format("rank %d of %d, %zu elements in segments of %zu: other bits", rank, size, count, segment);
      }
    }
  }
  return "";
}

using Work = std::function<std::string(World& world, engine::Route& route)>;

// Every rank, on a thread of its own, does the work.
std::string run_world(const std::vector<int>& labels, const transport::loopback::Faults& faults, const Work& work) {
  World world;
  world.shape = coll::Shape::of_labels(labels);
  world.hub = std::make_shared<transport::loopback::Hub>(world.shape.size(), faults);
  for (const auto& ranks : world.shape.nodes) world.nodes.push_back(std::make_unique<test::Node>(static_cast<int>(ranks.size())));
  const int size = world.shape.size();
  std::vector<std::unique_ptr<engine::Wire>> wires;
  std::vector<std::string> addresses;
  for (int r = 0; r < size; ++r) {
    transport::MessageOptions options;
    options.size = size;
    wires.push_back(std::make_unique<engine::Wire>(transport::loopback::make(world.hub, r, options), size, size - 1));
    addresses.push_back(wires.back()->transport().address());
  }
  std::vector<std::string> problems(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r) {
    threads.emplace_back([&, r] {
      engine::Wire& wire = *wires[static_cast<size_t>(r)];
      wire.transport().connect(addresses, r);
      engine::Route route{wire, {}, std::vector<uint16_t>(static_cast<size_t>(size), 0), {}, r, 0};
      for (int i = 0; i < size; ++i) {
        const coll::Place place = world.shape.places[static_cast<size_t>(i)];
        route.world_ranks.push_back(i);
        route.board_ranks.push_back(place.node == world.shape.places[static_cast<size_t>(r)].node ? place.local : -1);
      }
      problems[static_cast<size_t>(r)] = work(world, route);
      wire.transport().quiesce(deadline_after_ms(20000));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::string all;
  for (const std::string& problem : problems) {
    if (!problem.empty()) all += problem + "\n";
  }
  return all;
}

Work all_of(const std::vector<Round>& rounds) {
  return [&rounds](World& world, engine::Route& route) {
    std::string problem;
    for (size_t i = 0; i < rounds.size() && problem.empty(); ++i) problem = run_round(world, route, rounds[i], static_cast<uint32_t>(i));
    return problem;
  };
}

std::vector<Round> random_rounds(std::mt19937_64& random, const coll::Shape& shape, int rounds) {
  std::vector<Round> all;
  for (int i = 0; i < rounds; ++i) {
    const auto& algorithms = coll::algorithms();
    const coll::Algorithm& algorithm = algorithms[random() % algorithms.size()];
    if (algorithm.fits && !algorithm.fits(shape)) continue;
    const size_t counts[] = {0, 1, 7, 63, 64, 65, 1000, 5000, 40000};
    Round round{&algorithm, counts[random() % 9], size_t{64} << (random() % 10), static_cast<int>(random() % static_cast<uint64_t>(shape.size())),
                random() % 2 == 0 && algorithm.collective != Collective::kAlltoall};
    if (round.segment * 200 < round.count) round.segment = round.count / 7;
    all.push_back(round);
  }
  return all;
}

const std::vector<std::vector<int>> kShapes = {{0, 1}, {0, 1, 2}, {0, 0, 1, 1}, {0, 0, 0, 1}, {0, 1, 0, 2, 1, 0, 0}, {0, 1, 2, 3, 4}};

void each_algorithm(void**) {
  for (const coll::Algorithm& algorithm : coll::algorithms()) {
    for (const auto& labels : kShapes) {
      const coll::Shape shape = coll::Shape::of_labels(labels);
      if (algorithm.fits && !algorithm.fits(shape)) continue;
      std::vector<Round> rounds;
      for (const size_t count : {size_t{0}, size_t{1}, size_t{1000}, size_t{20000}}) {
        for (int root = 0; root < shape.size(); root += 2) {
          rounds.push_back({&algorithm, count, 4096, root, false});
          if (algorithm.collective != Collective::kAlltoall) rounds.push_back({&algorithm, count, 4096, root, true});
        }
      }
      const std::string problem = run_world(labels, {}, all_of(rounds));
      if (!problem.empty()) fail_msg("%s", problem.c_str());
    }
  }
}

void hierarchical_equals_node(void**) {
  for (const int size : {1, 2, 3, 5}) {
    const std::string problem = run_world(std::vector<int>(static_cast<size_t>(size), 0), {}, compare_with_node);
    if (!problem.empty()) fail_msg("%s", problem.c_str());
  }
}

// Rank 0 takes the maximum where the others sum: all depend on it, so nobody may end, and somebody finds out; also of two ranks one call
// later, after a broadcast whose root both believe to be.
Work different_calls(const coll::Algorithm& algorithm, bool roots_before, std::atomic<int>& disputes) {
  return [&algorithm, roots_before, &disputes](World& world, engine::Route& route) -> std::string {
    const int rank = route.rank;
    node::Board& board = board_of(world, rank);
    board.disputes = true;
    std::vector<float> send(3000, 1.0f), recv(3000);
    node::Call call;
    call.dtype = SMDDP_FLOAT32;
    call.count = send.size();
    call.sendbuf = send.data();
    call.recvbuf = recv.data();
    std::vector<std::unique_ptr<coll::Schedule>> schedules;
    std::vector<std::unique_ptr<engine::Execution>> executions;
    const auto begin = [&](const coll::Algorithm& one, int root) {
      call.root = root;
      call.collective = one.collective;
      schedules.push_back(std::make_unique<coll::Schedule>(one.schedule({world.shape, rank, root})));
      executions.push_back(std::make_unique<engine::Execution>(*schedules.back(), call, route, 1024));
    };
    if (roots_before) {
      begin(*coll::find_algorithm(Collective::kBroadcast, "one_hop"), rank);
      if (!finish(*executions.back(), world, route).empty()) return "a root waits for others";
    }
    call.op = rank == 0 && !roots_before ? SMDDP_MAX : SMDDP_SUM;
    begin(algorithm, 0);
    engine::Execution& execution = *executions.back();
    bool told = false;
    int64_t limit = deadline_after_ms(20000);
    for (bool later = false; now_ns() < limit;) {
      Status status;
      const node::Step step = execution.advance(board, status);
      if (step == node::Step::kDone) return format("rank %d of %s ended '%s'", rank, coll::describe(world.shape).c_str(), algorithm.name);
      if (step == node::Step::kFailed) return status.text;
      if (!told && (execution.disputed() || board.disputed())) {
        told = true;
        ++disputes;
      }
      if (!later && disputes.load() > 0) {
        later = true;
        limit = deadline_after_ms(20);
      }
      if (!route.wire.transport().progress()) sched_yield();
    }
    for (auto& one : executions) {
      while (!one->drain()) route.wire.transport().progress();
    }
    return "";
  };
}

void different_calls_never_end(void**) {
  for (const coll::Algorithm& algorithm : coll::algorithms()) {
    if (algorithm.collective != Collective::kAllreduce) continue;
    for (const std::vector<int>& labels : {std::vector<int>{0, 1}, {0, 1, 2}, {0, 0, 1, 1}, {0, 0, 0, 1}}) {
      const coll::Shape shape = coll::Shape::of_labels(labels);
      if (algorithm.fits && !algorithm.fits(shape)) continue;
      for (const bool roots_before : {false, true}) {
        if (roots_before && labels.size() != 2) continue;
        std::atomic<int> disputes{0};
        const std::string problem = run_world(labels, {}, different_calls(algorithm, roots_before, disputes));
        if (!problem.empty()) fail_msg("%s", problem.c_str());
        if (disputes.load() == 0) fail_msg("%s of %s: nobody found out", algorithm.name, coll::describe(shape).c_str());
      }
    }
  }
}

void every_algorithm_on_a_faulty_network(void**) {
  std::mt19937_64 random(g_seed);
  std::printf("seed %llu\n", static_cast<unsigned long long>(g_seed));
  for (const auto& labels : kShapes) {
    const transport::loopback::Faults faults = test::few_faults(random());
    const coll::Shape shape = coll::Shape::of_labels(labels);
    const std::vector<Round> rounds = random_rounds(random, shape, g_rounds);
    const std::string problem = run_world(labels, faults, all_of(rounds));
    if (!problem.empty()) fail_msg("%s", problem.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) g_seed = std::strtoull(argv[1], nullptr, 0);
  if (argc > 2) g_rounds = std::atoi(argv[2]);
  const CMUnitTest tests[] = {cmocka_unit_test(hierarchical_equals_node), cmocka_unit_test(each_algorithm), cmocka_unit_test(different_calls_never_end),
                              cmocka_unit_test(every_algorithm_on_a_faulty_network)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
