/* smddp_finalize(3) */
#include "ranks.h"

static void test_errors(void **state) {
  (void)state;
  smddp_comm_t world = single_rank(), copy = NULL;
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_finalize(NULL));
  assert_status(SMDDP_SUCCESS, smddp_comm_dup(world, NULL, &copy));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_finalize(copy)); /* no world communicator */
  assert_status(SMDDP_SUCCESS, smddp_finalize(world));
  assert_status(SMDDP_ERR_INVALID_USAGE, smddp_finalize(world));
  int rank = 5;
  assert_status(SMDDP_ERR_INVALID_USAGE, smddp_comm_rank(copy, &rank)); /* ended with its context */
  assert_status(SMDDP_ERR_INVALID_USAGE, smddp_barrier(copy, NULL));
  assert_status(SMDDP_ERR_INVALID_USAGE, smddp_comm_free(copy));
  assert_non_null(strstr(smddp_last_error(), "finalized"));
  assert_int_equal(rank, 5);
}

/* The memory of smddp_alloc and requests outlive the context. */
static void test_what_stays(void **state) {
  (void)state;
  smddp_comm_t world = single_rank();
  void *memory = NULL;
  smddp_request_t request = NULL;
  assert_status(SMDDP_SUCCESS, smddp_alloc(world, 4096, &memory));
  assert_status(SMDDP_SUCCESS, smddp_barrier_async(world, NULL, &request));
  assert_status(SMDDP_SUCCESS, smddp_wait(request, 0));
  assert_status(SMDDP_SUCCESS, smddp_finalize(world));
  memset(memory, 1, 4096);
  int done = 0;
  assert_status(SMDDP_SUCCESS, smddp_test(request, &done));
  assert_int_equal(done, 1);
  assert_status(SMDDP_SUCCESS, smddp_request_free(request));
  assert_status(SMDDP_SUCCESS, smddp_free(memory));
}

/* Rank 0 leaves while the others wait for it in a collective. */
static void leave_others_waiting(rank_t *rank) {
  float value = 1;
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_barrier(rank->world, NULL));
  const int64_t start = now_ms();
  if (rank->number == 0) {
    sleep_ms(50);
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_finalize(rank->world));
    rank->world = NULL;
  } else {
    CHECK_STATUS(rank, SMDDP_ERR_PEER_GONE, smddp_allreduce(&value, &value, 1, SMDDP_FLOAT32, SMDDP_SUM, rank->world, NULL));
    CHECK_SENTENCE(rank, "rank 0");
    CHECK_SENTENCE(rank, "allreduce");
  }
  CHECK(rank, now_ms() - start < 5000, "%lld ms", (long long)(now_ms() - start));
}

static void test_peer_gone(void **state) {
  (void)state;
  assert_ranks(2, leave_others_waiting, NULL);
  assert_ranks(4, leave_others_waiting, NULL);
}

/* Whoever leaves right after a collective does not spoil its result for the others. */
static void leave_at_once(rank_t *rank) {
  enum { COUNT = 300000 };
  static _Thread_local float data[COUNT];
  for (int i = 0; i < COUNT; i++) data[i] = 1;
  const size_t count = *(const size_t *)rank->arg;
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(data, data, count, SMDDP_FLOAT32, SMDDP_SUM, rank->world, NULL));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_finalize(rank->world));
  rank->world = NULL;
  for (size_t i = 0; i < count; i++) CHECK(rank, data[i] == (float)rank->size, "element %zu: %g", i, data[i]);
}

static void test_leave_at_once(void **state) {
  (void)state;
  static const size_t counts[] = {1, 1000, 300000};
  for (int round = 0; round < 10; round++)
    for (int i = 0; i < 3; i++) assert_ranks(2 + round % 3, leave_at_once, (void *)(uintptr_t)&counts[i]);
}

/* An operation that is outstanding ends with an error; buffers and request may then go. */
static void leave_with_outstanding(rank_t *rank) {
  static _Thread_local float data[1000];
  smddp_request_t request = NULL;
  if (rank->number == 0) {
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce_async(data, data, 1000, SMDDP_FLOAT32, SMDDP_SUM, rank->world, NULL, &request));
    const int64_t start = now_ms();
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_finalize(rank->world));
    rank->world = NULL;
    CHECK(rank, now_ms() - start < 5000, "finalize took %lld ms", (long long)(now_ms() - start));
    const smddp_status_t status = smddp_wait(request, 1000);
    CHECK(rank, status != SMDDP_SUCCESS && status != SMDDP_ERR_TIMEOUT, "the operation: %s", smddp_status_string(status));
    CHECK(rank, smddp_request_error(request)[0], "the cancelled operation has no sentence");
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_free(request));
  }
  CHECK_CALL(rank, meet(rank));
  if (rank->number) {
    /* What rank 0 had contributed may have been enough for this one. */
    const smddp_status_t status = smddp_allreduce(data, data, 1000, SMDDP_FLOAT32, SMDDP_SUM, rank->world, NULL);
    CHECK(rank, status == SMDDP_SUCCESS || status == SMDDP_ERR_PEER_GONE, "%s (%s)", smddp_status_string(status), smddp_last_error());
    CHECK_STATUS(rank, SMDDP_ERR_PEER_GONE, smddp_barrier(rank->world, NULL));
    CHECK_SENTENCE(rank, "rank 0");
  }
}

static void test_outstanding(void **state) {
  (void)state;
  assert_ranks(2, leave_with_outstanding, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_errors), cmocka_unit_test(test_what_stays), cmocka_unit_test(test_peer_gone),
                                     cmocka_unit_test(test_leave_at_once), cmocka_unit_test(test_outstanding)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
