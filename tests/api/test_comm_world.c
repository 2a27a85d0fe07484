/* smddp_comm_world(3) */
#include "ranks.h"

static void test_first_context(void **state) {
  (void)state;
  smddp_comm_t seen = (smddp_comm_t)(void *)&seen;
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_world(NULL));
  assert_status(SMDDP_ERR_INVALID_USAGE, smddp_comm_world(&seen));
  assert_true(seen == NULL || seen == (smddp_comm_t)(void *)&seen);
  smddp_comm_t first = single_rank(), second = single_rank();
  assert_status(SMDDP_SUCCESS, smddp_comm_world(&seen));
  assert_ptr_equal(seen, first);
  assert_status(SMDDP_SUCCESS, smddp_finalize(first));
  assert_status(SMDDP_SUCCESS, smddp_comm_world(&seen));
  assert_ptr_equal(seen, second);
  assert_status(SMDDP_SUCCESS, smddp_finalize(second));
  assert_status(SMDDP_ERR_INVALID_USAGE, smddp_comm_world(&seen));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_first_context)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
