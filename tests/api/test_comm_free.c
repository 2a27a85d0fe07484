/* smddp_comm_free(3) */
#include "ranks.h"

static void wrong_frees(rank_t *rank) {
  smddp_comm_t copy = NULL;
  static _Thread_local float data[100];
  smddp_request_t request = NULL;
  CHECK_STATUS(rank, SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_free(NULL));
  CHECK_STATUS(rank, SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_free(rank->world));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_dup(rank->world, NULL, &copy));
  if (rank->number == 0) { /* outstanding: the others have not called */
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce_async(data, data, 100, SMDDP_FLOAT32, SMDDP_SUM, copy, NULL, &request));
    CHECK_STATUS(rank, SMDDP_ERR_INVALID_USAGE, smddp_comm_free(copy));
  }
  CHECK_CALL(rank, meet(rank));
  if (rank->number != 0)
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce_async(data, data, 100, SMDDP_FLOAT32, SMDDP_SUM, copy, NULL, &request));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_wait(request, 0));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_free(request));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_free(copy));
  CHECK_STATUS(rank, SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_free(copy));
}

static void test_errors(void **state) {
  (void)state;
  assert_ranks(2, wrong_frees, NULL);
  assert_ranks(3, wrong_frees, NULL);
}

/* Numbers do not run out, in whatever order the ranks free. */
static void make_and_free(rank_t *rank) {
  enum { AT_ONCE = 8 };
  for (int round = 0; round < 60; round++) {
    smddp_comm_t comms[AT_ONCE];
    for (int i = 0; i < AT_ONCE; i++) {
      int sum = 1;
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_dup(rank->world, NULL, &comms[i]));
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(&sum, &sum, 1, SMDDP_INT32, SMDDP_SUM, comms[i], NULL));
      CHECK(rank, sum == rank->size, "round %d, communicator %d: sum %d", round, i, sum);
    }
    for (int i = 0; i < AT_ONCE; i++)
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_free(comms[rank->number % 2 ? AT_ONCE - 1 - i : (i * 3 + round) % AT_ONCE]));
  }
}

static void test_many(void **state) {
  (void)state;
  assert_ranks(2, make_and_free, NULL);
  assert_ranks(3, make_and_free, NULL);
}

/* A broken communicator can be freed, and others are made after it. */
static void free_broken(rank_t *rank) {
  for (int round = 0; round < 5; round++) {
    smddp_comm_t copy = NULL;
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_dup(rank->world, NULL, &copy));
    CHECK_CALL(rank, meet(rank));
    if (rank->number == 0) CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_abort(copy, NULL));
    CHECK_STATUS(rank, SMDDP_ERR_ABORTED, smddp_barrier(copy, NULL));
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_free(copy));
  }
}

static void test_broken(void **state) {
  (void)state;
  assert_ranks(3, free_broken, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_errors), cmocka_unit_test(test_many), cmocka_unit_test(test_broken)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
