/* smddp_request_free(3) */
#include "ranks.h"

static void test_errors(void **state) {
  (void)state;
  smddp_comm_t world = single_rank();
  smddp_request_t request = NULL;
  assert_status(SMDDP_SUCCESS, smddp_request_free(NULL));
  assert_status(SMDDP_SUCCESS, smddp_barrier_async(world, NULL, &request));
  assert_status(SMDDP_SUCCESS, smddp_wait(request, 0));
  assert_status(SMDDP_SUCCESS, smddp_request_free(request));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_request_free(request));
  assert_status(SMDDP_SUCCESS, smddp_finalize(world));
}

/* Freed before it has ended: it goes on, and a barrier comes after it. */
static void free_early(rank_t *rank) {
  enum { OPERATIONS = 5, COUNT = 40000 };
  static _Thread_local float data[OPERATIONS][COUNT];
  for (int round = 0; round < 20; round++) {
    for (int k = 0; k < OPERATIONS; k++) {
      smddp_request_t request = NULL;
      for (int i = 0; i < COUNT; i++) data[k][i] = (float)k;
      CHECK_STATUS(rank, SMDDP_SUCCESS,
                   smddp_allreduce_async(data[k], data[k], k % 2 ? 3 : COUNT, SMDDP_FLOAT32, SMDDP_SUM, rank->world, NULL, &request));
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_free(request));
    }
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_barrier(rank->world, NULL));
    for (int k = 0; k < OPERATIONS; k++)
      CHECK(rank, data[k][0] == (float)(k * rank->size) && data[k][k % 2 ? 2 : COUNT - 1] == (float)(k * rank->size),
            "round %d, operation %d: %g", round, k, data[k][0]);
  }
}

static void test_free_early(void **state) {
  (void)state;
  for (int size = 1; size <= 4; size++) assert_ranks(size, free_early, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_errors), cmocka_unit_test(test_free_early)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
