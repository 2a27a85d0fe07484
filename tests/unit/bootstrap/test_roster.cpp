// The words for who is missing, and who gives way to whom.
#include "bootstrap/roster.hpp"

#include "base/clock.hpp"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
extern "C" {
#include <cmocka.h>
}

using namespace smddp;
using namespace smddp::bootstrap;

static void missing_ranks_in_words(void**) {
  assert_string_equal(missing_members({0, 1, 2}, 4, 0).c_str(), "rank 3 of 4");
  assert_string_equal(missing_members({0, 1}, 4, 0).c_str(), "ranks 2, 3 of 4");
  assert_string_equal(missing_members({0, 3}, 9, 0).c_str(), "ranks 1, 2, 4-8 of 9");
  assert_string_equal(missing_members({}, 3, 0).c_str(), "ranks 0-2 of 3");
  assert_string_equal(missing_members({0, 1}, INT32_MAX, 0).c_str(), "ranks 2-2147483646 of 2147483647");
  std::vector<int> even;
  for (int rank = 0; rank < 100; rank += 2) even.push_back(rank);
  assert_string_equal(missing_members(even, 100, 0).c_str(), "ranks 1, 3, 5, 7, 9, 11, 13, 15 and 42 more of 100");
}

static void missing_servers_in_words(void**) {
  assert_string_equal(missing_members({0, 1, 3}, 2, 2).c_str(), "server 0 of 2");
  assert_string_equal(missing_members({0, 2, 3}, 2, 2).c_str(), "rank 1 of 2");
  assert_string_equal(missing_members({0}, 3, 2).c_str(), "ranks 1, 2 of 3 and servers 0, 1 of 2");
}

static Hello hello(int rank, uint64_t token) {
  Hello made;
  made.rank = rank;
  made.size = 3;
  made.token = token;
  made.timeout_ms = 1000 + rank;
  made.member.host = "h" + std::to_string(rank);
  return made;
}

static void places(void**) {
  Roster roster(hello(0, 1), 500);
  assert_false(roster.judge(hello(1, 2), false).has_value());
  roster.enter(hello(1, 2), 10);
  assert_int_equal(roster.holder(1), 10);
  assert_true(roster.judge(hello(1, 3), true)->reason == Reason::kDuplicate);
  assert_false(roster.judge(hello(1, 2), true).has_value());
  assert_false(roster.judge(hello(1, 3), false).has_value());
  assert_true(roster.judge(hello(0, 9), true)->reason == Reason::kDuplicate);
  assert_true(roster.judge(hello(3, 9), false)->reason == Reason::kRank);
  assert_true(roster.judge(hello(-1, 9), false)->reason == Reason::kRank);
}

static void only_confirmed_ranks_count(void**) {
  Roster roster(hello(0, 1), 5000);
  roster.enter(hello(1, 2), 10);
  roster.enter(hello(2, 3), 11);
  assert_false(roster.complete());
  roster.confirm(1, 4000);
  assert_string_equal(roster.timeout_sentence().c_str(), "rank 1 waited 1001 ms; rank 2 of 3 did not come");
  roster.confirm(2, 6000);
  assert_true(roster.complete());
  assert_int_equal(roster.verdict_time(), 4000);
  assert_true(roster.leave(1) != "");
  assert_false(roster.complete());
  assert_int_equal(roster.verdict_time(), 5000);
  roster.enter(hello(1, 4), 12);
  assert_string_equal(roster.leave(1).c_str(), "");
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(missing_ranks_in_words),
      cmocka_unit_test(missing_servers_in_words),
      cmocka_unit_test(places),
      cmocka_unit_test(only_confirmed_ranks_count),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
