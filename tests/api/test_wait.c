/* smddp_wait(3), smddp_wait_all(3), smddp_test(3) */
#include "ranks.h"

#include <pthread.h>

static void test_errors(void **state) {
  (void)state;
  smddp_comm_t world = single_rank();
  smddp_request_t request = NULL;
  int done = 77;
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_wait(NULL, 0));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_test(NULL, &done));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_wait_all(1, NULL, 0));
  assert_status(SMDDP_SUCCESS, smddp_barrier_async(world, NULL, &request));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_wait(request, -1));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_wait_all(1, &request, -1));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_test(request, NULL));
  assert_status(SMDDP_SUCCESS, smddp_wait(request, 0));
  assert_status(SMDDP_SUCCESS, smddp_wait(request, SMDDP_TIMEOUT_INFINITE)); /* again */
  assert_status(SMDDP_SUCCESS, smddp_test(request, &done));
  assert_int_equal(done, 1);
  smddp_request_t requests[3] = {NULL, request, NULL};
  assert_status(SMDDP_SUCCESS, smddp_wait_all(3, requests, 0)); /* NULL entries are skipped */
  assert_status(SMDDP_SUCCESS, smddp_wait_all(0, NULL, 0));
  assert_status(SMDDP_SUCCESS, smddp_request_free(request));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_wait(request, 0));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_test(request, &done));
  assert_status(SMDDP_SUCCESS, smddp_finalize(world));
}

/* The time of a wait passes, the operation goes on. */
static void wait_twice(rank_t *rank) {
  int sum = 1;
  smddp_request_t request = NULL;
  if (rank->number == 0) {
    int done = 1;
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce_async(&sum, &sum, 1, SMDDP_INT32, SMDDP_SUM, rank->world, NULL, &request));
    const int64_t start = now_ms();
    CHECK_STATUS(rank, SMDDP_ERR_TIMEOUT, smddp_wait(request, 200));
    const int64_t took = now_ms() - start;
    CHECK(rank, took >= 190 && took < 200 + 500 * TEST_SLOWNESS, "%lld ms instead of 200", (long long)took);
    CHECK_STATUS(rank, SMDDP_ERR_TIMEOUT, smddp_wait_all(1, &request, 50));
    CHECK(rank, strstr(smddp_last_error(), "smddp_wait_all: timed out after 50 ms in allreduce(1"), "'%s'", smddp_last_error());
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_test(request, &done));
    CHECK(rank, !done, "ended without the other rank");
    CHECK(rank, smddp_request_error(request)[0] == '\0', "the operation has an error: %s", smddp_request_error(request));
  }
  CHECK_CALL(rank, meet(rank));
  if (rank->number) CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(&sum, &sum, 1, SMDDP_INT32, SMDDP_SUM, rank->world, NULL));
  else CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_wait(request, 0));
  CHECK(rank, sum == rank->size, "sum %d", sum);
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_free(request));
}

/* Polling alone completes it. */
static void poll_only(rank_t *rank) {
  enum { COUNT = 30000 };
  static _Thread_local float data[COUNT];
  for (int round = 0; round < 20; round++) {
    smddp_request_t request = NULL;
    const size_t count = round % 2 ? COUNT : 1;
    for (size_t i = 0; i < count; i++) data[i] = 1;
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce_async(data, data, count, SMDDP_FLOAT32, SMDDP_SUM, rank->world, NULL, &request));
    int done = 0;
    for (const int64_t start = now_ms(); !done && now_ms() - start < 20000;)
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_test(request, &done));
    CHECK(rank, done, "not ended after 20 s of polling");
    CHECK(rank, data[count - 1] == (float)rank->size, "sum %g", data[count - 1]);
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_free(request));
  }
}

/* Without any call in between, the progress thread completes it. */
static void by_itself(rank_t *rank) {
  enum { COUNT = 200000 };
  static _Thread_local float data[COUNT];
  smddp_request_t request = NULL;
  for (int i = 0; i < COUNT; i++) data[i] = 1;
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce_async(data, data, COUNT, SMDDP_FLOAT32, SMDDP_SUM, rank->world, NULL, &request));
  const volatile float *last = &data[COUNT - 1];
  (void)last;
  sleep_ms(500 * TEST_SLOWNESS);
  int done = 0;
  const int64_t start = now_ms();
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_test(request, &done));
  CHECK(rank, done, "the library made no progress while the program was away for 500 ms");
  CHECK(rank, now_ms() - start < 100, "the test took %lld ms", (long long)(now_ms() - start));
  CHECK(rank, data[COUNT - 1] == (float)rank->size, "sum %g", data[COUNT - 1]);
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_free(request));
}

static void test_progress(void **state) {
  (void)state;
  assert_ranks(2, wait_twice, NULL);
  for (int size = 1; size <= 3; size++) {
    assert_ranks(size, poll_only, NULL);
    assert_ranks(size, by_itself, NULL);
  }
}

/* The first error in the order of the array, after all have ended. */
static void errors_in_order(rank_t *rank) {
  smddp_comm_t broken = NULL;
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_dup(rank->world, NULL, &broken));
  smddp_request_t requests[4] = {NULL, NULL, NULL, NULL};
  int a = 1, b = 1;
  char small[2];
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce_async(&a, &a, 1, SMDDP_INT32, SMDDP_SUM, rank->world, NULL, &requests[0]));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_send("12345", 5, SMDDP_UINT8, rank->number, 0, rank->world, NULL));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_recv_async(small, 2, SMDDP_UINT8, rank->number, 0, rank->world, NULL, &requests[1]));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_recv_async(&b, 1, SMDDP_INT32, rank->number, 9, broken, NULL, &requests[3]));
  CHECK_CALL(rank, meet(rank));
  if (rank->number == 0) CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_abort(broken, "test"));
  CHECK_STATUS(rank, SMDDP_ERR_TRUNCATED, smddp_wait_all(4, requests, 0));
  int done = 0;
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_test(requests[0], &done));
  CHECK(rank, done && a == rank->size, "the first has %sended, sum %d", done ? "" : "not ", a);
  CHECK_STATUS(rank, SMDDP_ERR_ABORTED, smddp_test(requests[3], &done));
  CHECK(rank, done, "the last has not ended");
  for (int i = 0; i < 4; i++) CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_free(requests[i]));
}

static void test_errors_in_order(void **state) {
  (void)state;
  assert_ranks(1, errors_in_order, NULL);
  assert_ranks(3, errors_in_order, NULL);
}

/* Several threads wait for one request. */
static void *wait_for(void *request) { return (void *)(intptr_t)smddp_wait((smddp_request_t)request, 0); }

static void several_waiters(rank_t *rank) {
  for (int round = 0; round < 20; round++) {
    smddp_request_t request = NULL;
    pthread_t threads[3];
    int sum = 1;
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce_async(&sum, &sum, 1, SMDDP_INT32, SMDDP_SUM, rank->world, NULL, &request));
    for (int i = 0; i < 3; i++) CHECK(rank, pthread_create(&threads[i], NULL, wait_for, request) == 0, "no thread");
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_wait(request, 0));
    for (int i = 0; i < 3; i++) {
      void *status = (void *)1;
      pthread_join(threads[i], &status);
      CHECK(rank, status == (void *)SMDDP_SUCCESS, "thread %d: %d", i, (int)(intptr_t)status);
    }
    CHECK(rank, sum == rank->size, "sum %d", sum);
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_free(request));
  }
}

static void test_several_waiters(void **state) {
  (void)state;
  assert_ranks(2, several_waiters, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_errors), cmocka_unit_test(test_progress),
                                     cmocka_unit_test(test_errors_in_order), cmocka_unit_test(test_several_waiters)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
