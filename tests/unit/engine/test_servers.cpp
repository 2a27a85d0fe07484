// TIMEOUT 300
// Servers over the loopback network, whose packets are delayed, reordered, doubled and refused: ranks and servers as threads, each with an
// engine; servers learn of every call from rank 0 alone, and results equal a plain reference. SMDDP_TEST_SEED changes the random part.
#include "engine/servers.hpp"
#include "loopback_world.hpp"
#include "transport/faults.hpp"

#include <cstdio>
#include <cstdlib>
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

constexpr int64_t kTimeoutMs = 60000;

struct Round {
  size_t count, segment;
  bool in_place, elsewhere;  // by sharded, of which servers hear nothing
};

class Member {
 public:
  Member(test::LoopbackWorld& world, const coll::Shape& shape, const test::CommPlan& plan, int number)
      : shape_(shape), place_(world.shape.places[static_cast<size_t>(number)]), number_(number),
        engine_(std::make_shared<engine::Engine>(world.nodes[static_cast<size_t>(place_.node)]->group(place_.local), engine::WaitPolicy{.oversubscribed = true}, false,
                                                 std::move(world.wires[static_cast<size_t>(number)]))),
        comm_(test::Comm::make(world, plan, number, engine_->wire(), 1 << 20)) {
    comm_->queue->route->servers = shape.servers;
  }

  // Sums that rounding makes depend on their order: by servers and by another algorithm.
  std::string compare(const char* other) {
    std::vector<float> in(5000), results[2] = {std::vector<float>(5000), std::vector<float>(5000)};
    for (size_t i = 0; i < in.size(); ++i) in[i] = 0.37f * static_cast<float>((i * 7 + static_cast<size_t>(number_) * 13) % 1009) - 100.0f;
    std::string problem;
    for (size_t k = 0; k < 2 && problem.empty(); ++k) {
      if (number_ >= shape_.size()) {
        if (k == 0) problem = serve();
        continue;
      }
      engine::Request* made = request(engine::RequestKind::kCollective);
      made->call = node::Call{.collective = Collective::kAllreduce, .dtype = SMDDP_FLOAT32, .op = SMDDP_AVG, .count = in.size(), .sendbuf = in.data(),
                              .recvbuf = results[k].data(), .divisor = shape_.size()};
      made->segment_elements = 1024;
      made->schedule = &schedule(k == 0 ? "servers" : other);
      problem = finish(made);
    }
    end(problem);
    return problem.empty() && results[0] != results[1] ? format("other bits than '%s' on %s", other, coll::describe(shape_).c_str()) : problem;
  }

  std::string run(const std::vector<Round>& rounds) {
    std::string problem;
    for (size_t i = 0; i < rounds.size() && problem.empty(); ++i) {
      if (number_ < shape_.size()) problem = call(rounds[i], static_cast<uint32_t>(i));
      else if (!rounds[i].elsewhere) problem = serve();
      if (!problem.empty()) problem = format("%s, round %zu of %s: ", comm_->queue->route->name(number_).c_str(), i, coll::describe(shape_).c_str()) + problem;
    }
    end(problem);
    return problem;
  }

 private:
  void end(const std::string& problem) {
    engine_->flush(deadline_after_ms(5000));
    engine_->stop({SMDDP_ERR_ABORTED, "the test is over"});
    engine_->wire()->transport().quiesce(deadline_after_ms(problem.empty() ? 20000 : 100));
    engine_->cancel(*comm_->queue, {SMDDP_ERR_ABORTED, "the test is over"});
  }

  engine::Request* request(engine::RequestKind kind) { return test::new_request(engine_, kind, kTimeoutMs); }

  std::string finish(engine::Request* request) {
    engine_->submit(*comm_->queue, *request, false);
    engine_->wait(*request, deadline_after_ms(2 * kTimeoutMs));
    const std::string problem = request->status.text;
    engine::release_request(request);
    return problem;
  }

  const coll::Schedule& schedule(const char* name) {
    const coll::Algorithm* algorithm = coll::find_algorithm(Collective::kAllreduce, name);
    auto& slot = comm_->schedules[{algorithm, Collective::kAllreduce, 0}];
    if (slot.steps.empty()) slot = algorithm->schedule({shape_, number_});
    return slot;
  }

  std::string call(const Round& round, uint32_t number) {
    test::Case work;
    work.prepare(number_, shape_.size(), number, Collective::kAllreduce, round.count, 0, round.in_place);
    work.call.divisor = shape_.size();
    engine::Request* made = request(engine::RequestKind::kCollective);
    made->call = work.call;
    made->segment_elements = round.segment;
    made->schedule = &schedule(round.elsewhere ? "sharded" : "servers");
    const std::string problem = finish(made);
    const long wrong = problem.empty() ? work.wrong(number_, shape_.size()) : -1;
    return wrong >= 0 ? format("element %ld of %zu is wrong", wrong, round.count) : problem;
  }

  std::string serve() {
    engine::ServerCall told;
    engine::Request* heard = request(engine::RequestKind::kRecv);
    heard->receive.buffer = &told;
    heard->receive.capacity = sizeof(told);
    heard->receive.source = heard->peer = 0;
    if (const std::string problem = finish(heard); !problem.empty()) return problem;
    engine::Request* made = request(engine::RequestKind::kCollective);
    made->call = engine::expect(told, *comm_->queue->route);
    made->segment_elements = told.segment_elements;
    made->schedule = &schedule("servers");
    return finish(made);
  }

  const coll::Shape shape_;
  const coll::Place place_;
  const int number_;
  std::shared_ptr<engine::Engine> engine_;
  std::unique_ptr<test::Comm> comm_;
};

std::string run_world(std::vector<int> labels, int servers, const transport::loopback::Faults& faults, const std::function<std::string(Member&)>& work) {
  coll::Shape shape = coll::Shape::of_labels(labels);
  shape.servers = servers;
  for (int s = 0; s < servers; ++s) labels.push_back(100 + s);
  const int members = static_cast<int>(labels.size());
  transport::MessageOptions options;
  options.size = members;
  test::LoopbackWorld world(labels, faults, options);
  std::vector<int> all(labels.size());
  for (int m = 0; m < members; ++m) all[static_cast<size_t>(m)] = m;
  world.add_comm(all, 0xfffff - 5);  // sequence numbers wrap
  for (int m = 0; m < members; ++m) world.connect(m);
  std::vector<std::unique_ptr<Member>> threads_of;
  for (int m = 0; m < members; ++m) threads_of.push_back(std::make_unique<Member>(world, shape, world.comms[0], m));
  std::vector<std::string> problems(labels.size());
  std::vector<std::thread> threads;
  for (size_t m = 0; m < labels.size(); ++m) threads.emplace_back([&, m] { problems[m] = work(*threads_of[m]); });
  for (std::thread& thread : threads) thread.join();
  std::string text;
  for (const std::string& problem : problems) text += problem.empty() ? "" : problem + "\n";
  return text;
}

std::vector<Round> draw_rounds(std::mt19937_64& random, int count) {
  constexpr size_t counts[] = {0, 1, 63, 64, 65, 1000, 5000, 40000};
  std::vector<Round> rounds;
  for (int i = 0; i < count; ++i) {
    Round round{counts[random() % 8], size_t{64} << (random() % 10), random() % 2 == 0, random() % 4 == 0};
    if (round.segment * 100 < round.count) round.segment = round.count / 7;
    rounds.push_back(round);
  }
  return rounds;
}

std::string run_world(const std::vector<int>& labels, int servers, const transport::loopback::Faults& faults, const std::vector<Round>& rounds) {
  return run_world(labels, servers, faults, [&](Member& member) { return member.run(rounds); });
}

const std::vector<std::vector<int>> kLabels = {{0, 1}, {0, 1, 2}, {0, 0, 1, 1}, {0, 0, 0, 1}, {0, 1, 0, 2, 1}};

void results_equal_a_reference(void**) {
  std::mt19937_64 random(1);
  for (const auto& labels : kLabels) {
    for (int servers = 1; servers <= 3; ++servers) {
      const std::string problem = run_world(labels, servers, {}, draw_rounds(random, 30));
      if (!problem.empty()) fail_msg("%s", problem.c_str());
    }
  }
}

void sums_are_in_rank_order(void**) {
  const std::pair<std::vector<int>, const char*> worlds[] = {{{0, 1, 2, 3, 4}, "sharded"}, {{0, 0, 1, 1, 2, 2}, "hierarchical"}, {{0, 0, 0, 1}, "hierarchical"}};
  for (const auto& [labels, other] : worlds) {
    const std::string problem = run_world(labels, 3, {}, [other = other](Member& member) { return member.compare(other); });
    if (!problem.empty()) fail_msg("%s", problem.c_str());
  }
}

void also_on_a_faulty_network(void**) {
  const char* text = std::getenv("SMDDP_TEST_SEED");
  const uint64_t seed = text ? std::strtoull(text, nullptr, 0) : 20201101;
  std::printf("SMDDP_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  for (const auto& labels : kLabels) {
    const transport::loopback::Faults faults = test::few_faults(random());
    const std::string problem = run_world(labels, 1 + static_cast<int>(random() % 3), faults, draw_rounds(random, 40));
    if (!problem.empty()) fail_msg("%s", problem.c_str());
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(results_equal_a_reference), cmocka_unit_test(sums_are_in_rank_order), cmocka_unit_test(also_on_a_faulty_network)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
