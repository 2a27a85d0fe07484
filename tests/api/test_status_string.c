/* smddp_status_string(3) */
#include "ranks.h"

static void test_names(void **state) {
  (void)state;
  static const struct {
    smddp_status_t status;
    int value;
    const char *name;
  } all[] = {
#define ROW(status, value) {status, value, #status}
      ROW(SMDDP_SUCCESS, 0),        ROW(SMDDP_ERR_INVALID_ARGUMENT, 1), ROW(SMDDP_ERR_INVALID_USAGE, 2),
      ROW(SMDDP_ERR_UNSUPPORTED, 3), ROW(SMDDP_ERR_MISMATCH, 4),        ROW(SMDDP_ERR_TIMEOUT, 5),
      ROW(SMDDP_ERR_PEER_GONE, 6),  ROW(SMDDP_ERR_ABORTED, 7),          ROW(SMDDP_ERR_RESOURCE, 8),
      ROW(SMDDP_ERR_TRUNCATED, 9),  ROW(SMDDP_ERR_BOOTSTRAP, 10),       ROW(SMDDP_ERR_VERSION, 11),
      ROW(SMDDP_ERR_SYSTEM, 12),    ROW(SMDDP_ERR_INTERNAL, 13),        ROW(SMDDP_ERR_TRANSPORT, 14),
      ROW(SMDDP_ERR_DEVICE, 15),
  };
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    assert_int_equal(all[i].status, all[i].value);
    assert_string_equal(smddp_status_string(all[i].status), all[i].name);
  }
}

static void test_other_values(void **state) {
  (void)state;
  static const int values[] = {-1, 16, 1000, INT32_MAX, INT32_MIN};
  for (int i = 0; i < 5; i++) assert_string_equal(smddp_status_string((smddp_status_t)values[i]), "unknown status");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_other_values)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
