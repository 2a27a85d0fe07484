/* smddp_version(3) */
#include "ranks.h"

static void test_numbers(void **state) {
  (void)state;
  int major = -1, minor = -1, patch = -1;
  smddp_version(&major, &minor, &patch);
  assert_int_equal(major, SMDDP_VERSION_MAJOR);
  assert_int_equal(minor, SMDDP_VERSION_MINOR);
  assert_int_equal(patch, SMDDP_VERSION_PATCH);
  char text[64];
  snprintf(text, sizeof text, "%d.%d.%d", major, minor, patch);
  assert_string_equal(text, SMDDP_VERSION_STRING);
}

static void test_null(void **state) {
  (void)state;
  int minor = -1;
  smddp_version(NULL, &minor, NULL);
  assert_int_equal(minor, SMDDP_VERSION_MINOR);
  smddp_version(NULL, NULL, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers), cmocka_unit_test(test_null)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
