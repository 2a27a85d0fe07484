/* TIMEOUT 600: smddp_gather(3), both forms. */
#include "faults.h"
#include "sweep.h"

static void test_sweep(void **state) {
  (void)state;
  sweep(GATHER);
}

static void test_arguments(void **state) {
  (void)state;
  argument_faults(GATHER);
}

static void test_mismatch(void **state) {
  (void)state;
  mismatches(GATHER);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sweep),
      cmocka_unit_test(test_arguments),
      cmocka_unit_test(test_mismatch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
