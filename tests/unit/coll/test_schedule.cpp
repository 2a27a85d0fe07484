// Schedules as data: what the builders make passes check(), what is broken does not, and printing names what happens.
#include "coll/allreduce/hierarchical.hpp"
#include "coll/node.hpp"

#include <cstdarg>
#include <csetjmp>
#include <cstddef>
#include <cstring>

extern "C" {
#include <cmocka.h>
}

using namespace smddp;

namespace {

void builders_are_sound(void**) {
  for (int size = 1; size <= 17; ++size) {
    for (int rank = 0; rank < size; ++rank) {
      const coll::Schedule hierarchical = coll::hierarchical_allreduce(rank, size);
      assert_string_equal(coll::check(hierarchical).c_str(), "");
      assert_true(hierarchical.segmented);
      assert_int_equal(hierarchical.steps.size(), 2);
      assert_int_equal(hierarchical.steps[0].target.index, rank);
      assert_int_equal(hierarchical.steps[0].target.parts, size);
      const coll::Schedule node = coll::node_schedule(Collective::kBroadcast, rank, size);
      assert_string_equal(coll::check(node).c_str(), "");
      assert_int_equal(node.steps.size(), 1);
    }
  }
}

void broken_ones_are_found(void**) {
  coll::Schedule schedule = coll::hierarchical_allreduce(1, 3);
  schedule.steps[1].after = {{1, 0}};  // itself, in the same segment
  assert_string_not_equal(coll::check(schedule).c_str(), "");

  schedule = coll::hierarchical_allreduce(1, 3);
  schedule.steps[1].after = {{1, 1}};  // itself, one segment back
  assert_string_equal(coll::check(schedule).c_str(), "");

  schedule = coll::hierarchical_allreduce(1, 3);
  schedule.steps[0].target.index = 3;
  assert_string_not_equal(coll::check(schedule).c_str(), "");

  schedule = coll::hierarchical_allreduce(1, 3);
  schedule.steps[0].node = coll::NodeStep::kNone;
  assert_string_not_equal(coll::check(schedule).c_str(), "");

  schedule = coll::hierarchical_allreduce(1, 3);
  schedule.steps[1].kind = coll::StepKind::kSend;
  schedule.steps[1].node = coll::NodeStep::kNone;
  schedule.steps[1].peer = 1;  // to itself
  assert_string_not_equal(coll::check(schedule).c_str(), "");

  schedule = coll::node_schedule(Collective::kAllreduce, 0, 2);
  schedule.steps.push_back(schedule.steps[0]);
  assert_string_not_equal(coll::check(schedule).c_str(), "");
}

void printing_names_the_steps(void**) {
  const std::string text = coll::print(coll::hierarchical_allreduce(2, 4));
  assert_non_null(std::strstr(text.c_str(), "allreduce, algorithm hierarchical, rank 2 of 4"));
  assert_non_null(std::strstr(text.c_str(), "node reduce shares, send 0/1 to receive 2/4"));
  assert_non_null(std::strstr(text.c_str(), "node gather shares, receive 2/4 to receive 0/1, after 0"));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(builders_are_sound), cmocka_unit_test(broken_ones_are_found),
                              cmocka_unit_test(printing_names_the_steps)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
