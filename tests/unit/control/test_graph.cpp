// The graph of links: symmetric, of few neighbours, short ways, and whole whatever host is taken out of it.
#include "control/graph.hpp"

#include <algorithm>
#include <bit>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

using namespace smddp::control;

namespace {

bool contains(const std::vector<int>& all, int rank) { return std::find(all.begin(), all.end(), rank) != all.end(); }

void both_sides_know(void**) {
  for (const int size : {1, 2, 3, 4, 5, 8, 13, 64, 100}) {
    for (int r = 0; r < size; ++r) {
      const std::vector<int> all = neighbours(r, size);
      assert_false(contains(all, r));
      assert_true(std::is_sorted(all.begin(), all.end()));
      for (const int other : all) assert_true(contains(neighbours(other, size), r));
    }
  }
}

void few(void**) {
  for (const int size : {2, 5, 16, 1000, 2048, 4096}) {
    const int bits = std::bit_width(static_cast<unsigned>(size - 1));
    for (int r = 0; r < size; ++r) assert_true(static_cast<int>(neighbours(r, size).size()) <= 2 * bits);
  }
  for (int size = 2; size <= 5; ++size) assert_int_equal(neighbours(0, size).size(), size - 1);
}

// Ranks of a host are neighbours in number, or dealt out in turn; any one or two hosts may go.
void whole_without_hosts(void**) {
  for (const bool in_turn : {false, true}) {
    for (const int size : {12, 64, 96}) {
      const int hosts = size / 4;
      const auto host_of = [&](int rank) { return in_turn ? rank % hosts : rank / 4; };
      for (int one = 0; one < hosts; ++one) {
        for (int two = one; two < hosts; ++two) {
          if (hosts == 3 && one != two) continue;
          std::vector<bool> lost;
          for (int r = 0; r < size; ++r) lost.push_back(host_of(r) == one || host_of(r) == two);
          const int from = static_cast<int>(std::find(lost.begin(), lost.end(), false) - lost.begin());
          assert_true(cut_off(from, lost).empty());
        }
      }
    }
  }
}

void names_who_is_cut_off(void**) {
  std::vector<bool> lost(12, false);
  const std::vector<int> around = neighbours(6, 12);
  for (size_t i = 0; i + 1 < around.size(); ++i) lost[static_cast<size_t>(around[i])] = true;
  assert_true(cut_off(0, lost).empty());
  lost[static_cast<size_t>(around.back())] = true;
  const std::vector<int> out = cut_off(0, lost);
  assert_int_equal(out.size(), 1);
  assert_int_equal(out[0], 6);
  const std::vector<int> rest = cut_off(6, lost);
  assert_int_equal(rest.size(), 12 - 1 - around.size());
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(both_sides_know), cmocka_unit_test(few), cmocka_unit_test(whole_without_hosts),
                              cmocka_unit_test(names_who_is_cut_off)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
