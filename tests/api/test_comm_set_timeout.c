/* smddp_comm_set_timeout(3), and the deadlines of call options and of communicators. */
#include "ranks.h"

static void test_errors(void **state) {
  (void)state;
  smddp_comm_t world = single_rank();
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_set_timeout(NULL, 1000));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_set_timeout(world, -1));
  assert_non_null(strstr(smddp_last_error(), "-1"));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_set_timeout(world, INT64_MIN));
  static const int64_t allowed[] = {1, INT64_C(1) << 31, INT64_MAX - 1, SMDDP_TIMEOUT_INFINITE, SMDDP_TIMEOUT_DEFAULT};
  for (int i = 0; i < 5; i++) {
    assert_status(SMDDP_SUCCESS, smddp_comm_set_timeout(world, allowed[i]));
    assert_status(SMDDP_SUCCESS, smddp_barrier(world, NULL));
  }
  assert_status(SMDDP_SUCCESS, smddp_finalize(world));
}

/* The last rank never comes: the barrier of the others fails after expected ms, and names it. The first whose time is up breaks the
 * communicator for all, so that one who started later waits less. */
static void wait_in_vain(rank_t *rank, smddp_comm_t comm, const smddp_call_options_t *options, int64_t expected, bool async) {
  CHECK_CALL(rank, meet(rank));
  if (rank->number == rank->size - 1) return;
  const int64_t start = now_ms(), skew = rank->size > 2 ? 90 : 20;
  if (async) {
    smddp_request_t request = NULL;
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_barrier_async(comm, options, &request));
    CHECK_STATUS(rank, SMDDP_ERR_TIMEOUT, smddp_wait(request, 0));
    int done = 0;
    CHECK_STATUS(rank, SMDDP_ERR_TIMEOUT, smddp_test(request, &done));
    CHECK(rank, done, "an operation whose deadline passed has not ended");
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_free(request));
  } else {
    CHECK_STATUS(rank, SMDDP_ERR_TIMEOUT, smddp_barrier(comm, options));
  }
  const int64_t took = now_ms() - start;
  CHECK(rank, took >= expected - skew && took <= expected + 500 * TEST_SLOWNESS, "%lld ms instead of %lld", (long long)took,
        (long long)expected);
  char missing[32];
  snprintf(missing, sizeof missing, "rank %d", rank->size - 1);
  CHECK_SENTENCE(rank, missing);
  CHECK_SENTENCE(rank, "barrier");
}

static void deadlines(rank_t *rank) {
  smddp_comm_options_t second = SMDDP_INIT_STRUCT(second);
  smddp_call_options_t tenth = SMDDP_INIT_STRUCT(tenth);
  second.timeout_ms = 1000;
  tenth.timeout_ms = 100;
  for (int async = 0; async < 2; async++) {
    smddp_comm_t group[3];
    for (int i = 0; i < 3; i++) CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_dup(rank->world, i < 2 ? &second : NULL, &group[i]));
    CHECK_CALL(rank, wait_in_vain(rank, group[0], &tenth, 100, async)); /* the call's deadline before the communicator's */
    CHECK_CALL(rank, wait_in_vain(rank, group[1], NULL, 1000, async));  /* the communicator's before the world's */
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_set_timeout(group[2], 700));
    CHECK_CALL(rank, wait_in_vain(rank, group[2], NULL, 700, async)); /* one that was set later */
    CHECK_CALL(rank, meet(rank));
    /* Broken on the rank that never came too; the world is whole. */
    for (int i = 0; i < 3; i++) CHECK_STATUS(rank, SMDDP_ERR_TIMEOUT, smddp_barrier(group[i], NULL));
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_barrier(rank->world, NULL));
    for (int i = 0; i < 3; i++) CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_free(group[i]));
  }
}

static void test_deadlines(void **state) {
  (void)state;
  assert_ranks(2, deadlines, NULL);
  assert_ranks(3, deadlines, NULL);
}

/* Very large values mean to wait, and do not overflow. */
static void wait_long(rank_t *rank) {
  static const int64_t large[] = {INT64_C(1) << 31, INT64_MAX - 1, SMDDP_TIMEOUT_INFINITE};
  smddp_comm_t group[3];
  smddp_request_t requests[3] = {NULL, NULL, NULL};
  for (int i = 0; i < 3; i++) CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_dup(rank->world, NULL, &group[i]));
  if (rank->number == 0) {
    for (int i = 0; i < 3; i++) {
      smddp_call_options_t options = SMDDP_INIT_STRUCT(options);
      if (i % 2) options.timeout_ms = large[i];
      else CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_set_timeout(group[i], large[i]));
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_barrier_async(group[i], &options, &requests[i]));
    }
    CHECK_STATUS(rank, SMDDP_ERR_TIMEOUT, smddp_wait_all(3, requests, 3000)); /* of the wait alone */
    for (int i = 0; i < 3; i++) {
      int done = 1;
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_test(requests[i], &done));
      CHECK(rank, !done, "the deadline %lld ms passed within 3 s", (long long)large[i]);
    }
  }
  CHECK_CALL(rank, meet(rank));
  for (int i = 0; i < 3; i++) {
    if (rank->number == 0) CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_wait(requests[i], 0));
    else CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_barrier(group[i], NULL));
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_free(requests[i]));
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_free(group[i]));
  }
}

static void test_large_values(void **state) {
  (void)state;
  assert_ranks(2, wait_long, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_errors), cmocka_unit_test(test_deadlines), cmocka_unit_test(test_large_values)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
