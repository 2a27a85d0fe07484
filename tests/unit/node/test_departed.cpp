// What ranks of a node say of one that has left, before their own monitors have heard of anything.
#include "protocol/ranks.hpp"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

using namespace smddp;

namespace {

constexpr const char* kDeath = "rank 7 died (connection closed)";

// What a rank gets that waits for the others in a barrier.
std::string verdict(test::Node& node, int rank) {
  node::Operation operation;
  operation.call.collective = Collective::kBarrier;
  node::Step step = node::Step::kAgain;
  for (int i = 0; i < 10 && step != node::Step::kFailed && step != node::Step::kDone; ++i) step = node.board(rank).step(operation);
  return step == node::Step::kFailed ? operation.status.text : "no failure";
}

void finalized(void**) {
  test::Node node(2);
  node.group(1).finalize("");
  assert_string_equal(verdict(node, 0).c_str(), "rank 1 has finalized during barrier() #1 on comm 'test', rank 0");
}

// The death was on another node. Rank 1 heard of it first and gave up; rank 0's error names the dead all the same.
void finalized_after_a_death_elsewhere(void**) {
  test::Node node(2);
  node.group(1).finalize(kDeath);
  assert_string_equal(verdict(node, 0).c_str(), (std::string("rank 1 has finalized after ") + kDeath + " during barrier() #1 on comm 'test', rank 0").c_str());
}

// Rank 1 gave up because rank 2 had, and knew no more than that.
void the_cause_of_one_is_the_cause_of_all(void**) {
  test::Node node(3);
  node.group(2).finalize(kDeath);
  node.group(1).finalize("");
  assert_string_equal(node.group(0).departed({0, 1}).c_str(), (std::string("rank 1 has finalized after ") + kDeath).c_str());
}

void a_death_here_counts_more(void**) {
  test::Node node(3);
  node.group(1).finalize(kDeath);
  node.group(0).mark(2, node::RankState::kDead, node::DeathReason::kProcess);
  assert_string_equal(node.group(0).departed({0, 1}).c_str(), "rank 1 has finalized after rank 2 died (process ended)");
  assert_string_equal(node.group(0).departed({0, 1, 2}).c_str(), "rank 2 died (process ended)");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(finalized), cmocka_unit_test(finalized_after_a_death_elsewhere),
                              cmocka_unit_test(the_cause_of_one_is_the_cause_of_all), cmocka_unit_test(a_death_here_counts_more)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
