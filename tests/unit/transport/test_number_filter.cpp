// Each number is seen once, in any order, across the wrap of 32 bits.
#include "transport/messages/number_filter.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

using smddp::transport::NumberFilter;

namespace {

void once_in_any_order(void**) {
  std::mt19937 random(1);
  NumberFilter filter;
  for (uint32_t base = 0; base < 200000; base += 1000) {
    std::vector<uint32_t> numbers;
    for (uint32_t i = 0; i < 1000; ++i) numbers.push_back(base + i);
    std::shuffle(numbers.begin(), numbers.end(), random);
    for (const uint32_t number : numbers) {
      assert_false(filter.seen(number));
      assert_true(filter.add(number));
      assert_true(filter.seen(number));
      assert_false(filter.add(number));
    }
  }
}

void late_ones_are_known(void**) {
  NumberFilter filter;
  for (uint32_t i = 1; i < NumberFilter::kWindow; ++i) assert_true(filter.add(i));  // 0 is on its way
  assert_false(filter.add(NumberFilter::kWindow + 5));  // too far ahead of it
  assert_true(filter.add(0));
  for (uint32_t i = 0; i < NumberFilter::kWindow; ++i) assert_false(filter.add(i));
  assert_true(filter.add(NumberFilter::kWindow + 5));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(once_in_any_order), cmocka_unit_test(late_ones_are_known)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
