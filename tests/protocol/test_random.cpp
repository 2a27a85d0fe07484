// Ranks as threads run the same random sequence of collectives with yields and naps before flag accesses; every result is compared with a
// plain reference. Starts just before the sequence number wraps, too.
#include "protocol/ranks.hpp"

#include "base/clock.hpp"

#include <sched.h>

#include <cstdarg>
#include <csetjmp>
#include <cstddef>
#include <random>
#include <thread>

extern "C" {
#include <cmocka.h>
}

namespace {

using namespace smddp;

thread_local std::minstd_rand t_disturb;

void disturb() {
  const auto dice = t_disturb() % 64;
  if (dice < 12) sched_yield();
  if (dice == 63 && t_disturb() % 32 == 0) {
    const timespec nap{0, 20000};
    nanosleep(&nap, nullptr);
  }
}

// What every rank draws in the same way from the seed.
struct Draw {
  Collective collective;
  size_t count;
  int root;
  bool in_place, zero_send, zero_recv;
};

Draw draw(std::mt19937& random, int ranks) {
  static const size_t counts[] = {0, 1, 2, 7, 28, 29, 63, 64, 65, 500, 2048, 2049, 5000, 20000, 70000};
  Draw d;
  d.collective = test::kCollectives[random() % std::size(test::kCollectives)];
  d.count = counts[random() % std::size(counts)];
  d.root = static_cast<int>(random() % static_cast<unsigned>(ranks));
  d.in_place = random() % 3 == 0;
  d.zero_send = random() % 4 == 0;
  d.zero_recv = random() % 4 == 0;
  return d;
}

std::string run_rank(test::Node& node, int rank, unsigned seed, uint32_t operations) {
  t_disturb.seed(seed * 977u + static_cast<unsigned>(rank));
  std::mt19937 random(seed);
  std::mt19937 local(seed * 31u + static_cast<unsigned>(rank));
  const size_t most = 70000 * static_cast<size_t>(node.ranks()) * sizeof(float);
  auto* shared_send = static_cast<float*>(node::Arena::allocate(node.arena(), rank, most));
  auto* shared_recv = static_cast<float*>(node::Arena::allocate(node.arena(), rank, most));
  std::string problem;
  for (uint32_t k = 0; k < operations && problem.empty(); ++k) {
    const Draw d = draw(random, node.ranks());
    test::Case c;
    // Whether a buffer lies in the arena is each rank's own affair.
    if (d.zero_send && local() % 2) c.zero_send = shared_send;
    if (d.zero_recv && local() % 2) c.zero_recv = shared_recv;
    c.prepare(rank, node.ranks(), k, d.collective, d.count, d.root, d.in_place);
    node::Operation operation;
    operation.call = c.call;
    const int64_t limit = deadline_after_ms(20000);
    for (node::Step step = node::Step::kMoved; step != node::Step::kDone;) {
      step = node.board(rank).step(operation);
      if (step == node::Step::kFailed) {
        problem = operation.status.text;
        break;
      }
      if (step == node::Step::kAgain) sched_yield();
      if (now_ns() > limit) {
        problem = "stuck: " + node.board(rank).time_out(operation, 60000).text;
        break;
      }
    }
    const long at = problem.empty() ? c.wrong(rank, node.ranks()) : -1;
    if (at >= 0) problem = smddp::format("seed %u, operation %u, rank %d, %s%s: index %ld is wrong", seed, k, rank, node::call_text(c.call).c_str(), d.in_place ? " in place" : "", at);
  }
  node::Arena::release(shared_send);
  node::Arena::release(shared_recv);
  return problem;
}

void run(int ranks, unsigned seed, uint32_t operations, uint32_t first, size_t segment_bytes) {
  test::Node node(ranks, first);
  node.tuning().segment_bytes = segment_bytes;
  std::vector<std::string> problems(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) threads.emplace_back([&, r] { problems[static_cast<size_t>(r)] = run_rank(node, r, seed, operations); });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& problem : problems) {
    if (!problem.empty()) print_message("%d ranks: %s\n", ranks, problem.c_str());
  }
  for (const std::string& problem : problems) {
    if (!problem.empty()) fail();
  }
}

void two_ranks(void**) {
  for (unsigned seed = 1; seed <= 4; ++seed) run(2, seed, 400, 1, 0);
}
void three_ranks(void**) {
  for (unsigned seed = 11; seed <= 13; ++seed) run(3, seed, 300, 1, 0);
}
void seven_ranks(void**) { run(7, 21, 150, 1, 0); }
void small_segments(void**) {
  for (int ranks : {2, 3, 5}) run(ranks, 31, 150, 1, 1024);
}
void wraps(void**) {
  for (int ranks : {2, 3}) run(ranks, 41, 250, 0u - 100u, 0);
}

}  // namespace

int main(int argc, char** argv) {
  node::g_before_flag = disturb;
  const CMUnitTest tests[] = {cmocka_unit_test(two_ranks), cmocka_unit_test(three_ranks), cmocka_unit_test(seven_ranks),
                              cmocka_unit_test(small_segments), cmocka_unit_test(wraps)};
  if (argc > 1) cmocka_set_test_filter(argv[1]);
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
