/* smddp_request_set_callback(3) */
#include "ranks.h"

#include <stdatomic.h>

typedef struct calls {
  atomic_int count, status;
} calls_t;

static void note(void *arg, smddp_status_t status) {
  calls_t *calls = arg;
  atomic_store(&calls->status, (int)status);
  atomic_fetch_add(&calls->count, 1);
}

/* Waits until the callback has run: it may run a moment after the wait has returned. */
static int count_of(calls_t *calls) {
  for (int i = 0; i < 500 && atomic_load(&calls->count) == 0; i++) sleep_ms(10);
  return atomic_load(&calls->count);
}

static void test_errors(void **state) {
  (void)state;
  smddp_comm_t world = single_rank();
  smddp_request_t request = NULL;
  calls_t calls = {0, -1};
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_request_set_callback(NULL, note, &calls));
  assert_status(SMDDP_SUCCESS, smddp_barrier_async(world, NULL, &request));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_request_set_callback(request, NULL, &calls));
  assert_status(SMDDP_SUCCESS, smddp_wait(request, 0));
  assert_status(SMDDP_SUCCESS, smddp_request_set_callback(request, note, &calls)); /* has ended: at once */
  assert_int_equal(atomic_load(&calls.count), 1);
  assert_int_equal(atomic_load(&calls.status), SMDDP_SUCCESS);
  assert_status(SMDDP_ERR_INVALID_USAGE, smddp_request_set_callback(request, note, &calls));
  assert_int_equal(atomic_load(&calls.count), 1);
  assert_status(SMDDP_SUCCESS, smddp_request_free(request));
  assert_status(SMDDP_SUCCESS, smddp_finalize(world));
}

/* Once for each operation, whether it is waited for or its request is freed at once. */
static void call_back(rank_t *rank) {
  enum { COUNT = 20000 };
  static _Thread_local float data[COUNT];
  for (int round = 0; round < 60; round++) {
    calls_t calls = {0, -1};
    smddp_request_t request = NULL;
    CHECK_STATUS(rank, SMDDP_SUCCESS,
                 smddp_allreduce_async(data, data, round % 2 ? COUNT : 2, SMDDP_FLOAT32, SMDDP_SUM, rank->world, NULL, &request));
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_set_callback(request, note, &calls));
    if (round % 3) CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_wait(request, 0));
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_free(request));
    CHECK(rank, count_of(&calls) == 1, "round %d: called %d times", round, atomic_load(&calls.count));
    CHECK(rank, atomic_load(&calls.status) == SMDDP_SUCCESS, "round %d: status %d", round, atomic_load(&calls.status));
  }
}

/* Of an operation that fails, with its status. */
static void call_back_failure(rank_t *rank) {
  static calls_t calls[MAX_RANKS];
  calls_t *mine = &calls[rank->number];
  atomic_store(&mine->count, 0);
  smddp_request_t request = NULL;
  int value = 1;
  if (rank->number == 0) {
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce_async(&value, &value, 1, SMDDP_INT32, SMDDP_SUM, rank->world, NULL, &request));
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_set_callback(request, note, mine));
  }
  CHECK_CALL(rank, meet(rank));
  if (rank->number == 1) CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_abort(rank->world, "test"));
  if (rank->number == 0) {
    CHECK(rank, count_of(mine) == 1 && atomic_load(&mine->status) == SMDDP_ERR_ABORTED, "called %d times, status %d",
          atomic_load(&mine->count), atomic_load(&mine->status));
    CHECK_STATUS(rank, SMDDP_ERR_ABORTED, smddp_wait(request, 0));
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_free(request));
    CHECK(rank, atomic_load(&mine->count) == 1, "called %d times", atomic_load(&mine->count));
  }
}

/* Freeing the request inside is allowed. */
typedef struct self_freeing {
  atomic_int freed;
  smddp_request_t request;
} self_freeing_t;

static void free_itself(void *arg, smddp_status_t status) {
  self_freeing_t *self = arg;
  atomic_store(&self->freed, status == SMDDP_SUCCESS && smddp_request_free(self->request) == SMDDP_SUCCESS ? 1 : -1);
}

static void free_inside(rank_t *rank) {
  for (int round = 0; round < 50; round++) {
    self_freeing_t self = {0, NULL};
    int value = 1;
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce_async(&value, &value, 1, SMDDP_INT32, SMDDP_SUM, rank->world, NULL, &self.request));
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_set_callback(self.request, free_itself, &self));
    for (int i = 0; i < 500 && atomic_load(&self.freed) == 0; i++) sleep_ms(10);
    CHECK(rank, atomic_load(&self.freed) == 1, "round %d: %d", round, atomic_load(&self.freed));
    CHECK(rank, value == rank->size, "sum %d", value);
  }
}

static void test_calls(void **state) {
  (void)state;
  for (int size = 1; size <= 3; size++) {
    assert_ranks(size, call_back, NULL);
    assert_ranks(size, free_inside, NULL);
  }
  assert_ranks(2, call_back_failure, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_errors), cmocka_unit_test(test_calls)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
