// Every interleaving of the first steps of two or three ranks through short sequences of operations, in one thread: each digit of a
// schedule says who moves next, the rest runs in turn. Results, and that nobody gets stuck, are checked for each.
#include "protocol/ranks.hpp"

#include <cstdarg>
#include <csetjmp>
#include <cstddef>

extern "C" {
#include <cmocka.h>
}

namespace {

using namespace smddp;

struct Planned {
  Collective collective;
  size_t count;
  int root;
};

struct Rank {
  size_t next = 0;
  bool running = false;
  node::Operation operation;
  test::Case current;
};

// One move of a rank; a description of what is wrong, if anything is.
std::string move(test::Node& node, int r, Rank& rank, const std::vector<Planned>& plan) {
  if (rank.next == plan.size()) return "";
  if (!rank.running) {
    const Planned& p = plan[rank.next];
    rank.current.prepare(r, node.ranks(), static_cast<uint32_t>(rank.next), p.collective, p.count, p.root, false);
    rank.operation = {};
    rank.operation.call = rank.current.call;
    rank.running = true;
  }
  const node::Step step = node.board(r).step(rank.operation);
  if (step == node::Step::kFailed) return rank.operation.status.text;
  if (step == node::Step::kDone) {
    const long at = rank.current.wrong(r, node.ranks());
    if (at >= 0) return smddp::format("rank %d, %s: index %ld is wrong", r, node::call_text(rank.current.call).c_str(), at);
    rank.running = false;
    ++rank.next;
  }
  return "";
}

void explore(int ranks, const std::vector<Planned>& plan, int depth, size_t segment_bytes) {
  test::Node node(ranks);
  node.tuning().segment_bytes = segment_bytes;
  node.tuning().eager_bytes = 112;
  long schedules = 1;
  for (int i = 0; i < depth; ++i) schedules *= ranks;
  for (long s = 0; s < schedules; ++s) {
    node.reset(1);
    std::vector<Rank> states(static_cast<size_t>(ranks));
    std::string problem;
    long rest = s;
    int moves = 0;
    const auto finished = [&] {
      for (const Rank& rank : states) {
        if (rank.next < plan.size()) return false;
      }
      return true;
    };
    for (; !finished() && problem.empty() && moves < 10000; ++moves) {
      const int r = moves < depth ? static_cast<int>(rest % ranks) : moves % ranks;
      rest /= ranks;
      problem = move(node, r, states[static_cast<size_t>(r)], plan);
    }
    if (problem.empty() && !finished()) problem = "stuck";
    if (!problem.empty()) fail_msg("%d ranks, schedule %ld: %s", ranks, s, problem.c_str());
  }
}

void small_mixed(void**) {
  const std::vector<Planned> plan = {{Collective::kBroadcast, 3, 0}, {Collective::kReduce, 2, 1}, {Collective::kBroadcast, 5, 1},
                                     {Collective::kAllreduce, 1, 0}, {Collective::kScatter, 2, 1}, {Collective::kGather, 4, 0}};
  explore(2, plan, 14, 0);
  explore(3, plan, 9, 0);
}

void run_ahead(void**) {
  std::vector<Planned> plan;
  for (int i = 0; i < 7; ++i) plan.push_back({Collective::kBroadcast, static_cast<size_t>(i + 1), 0});
  plan.push_back({Collective::kBarrier, 0, 0});
  explore(2, plan, 14, 0);
  explore(3, plan, 9, 0);
}

// An operation that all wait in, then some that nobody does: what was left behind must be looked at while waiting in the last one.
void left_behind(void**) {
  const std::vector<Planned> plan = {{Collective::kBarrier, 0, 0},      {Collective::kScatter, 2, 0}, {Collective::kBroadcast, 3, 0},
                                     {Collective::kScatter, 4, 0},      {Collective::kAlltoall, 2, 0}, {Collective::kReduce, 2, 1},
                                     {Collective::kAllreduce, 3, 0}};
  explore(2, plan, 15, 0);
  explore(3, plan, 9, 0);
}

void two_segments(void**) {
  const std::vector<Planned> plan = {{Collective::kAllreduce, 256, 0}, {Collective::kBroadcast, 128, 1}, {Collective::kReduceScatter, 128, 0},
                                     {Collective::kAlltoall, 128, 0}};
  explore(2, plan, 12, 256);
  explore(3, plan, 8, 256);
}

}  // namespace

int main(int argc, char** argv) {
  const CMUnitTest tests[] = {cmocka_unit_test(small_mixed), cmocka_unit_test(run_ahead), cmocka_unit_test(left_behind), cmocka_unit_test(two_segments)};
  if (argc > 1) cmocka_set_test_filter(argv[1]);
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
