/* TIMEOUT 300: smddp_barrier(3), both forms. */
#include "faults.h"

#include <stdatomic.h>

static void test_arguments(void **state) {
  (void)state;
  argument_faults(BARRIER);
}

static void test_mismatch(void **state) {
  (void)state;
  mismatches(BARRIER);
}

static atomic_int arrived;

static void wait_for_all(rank_t *rank) {
  for (int round = 1; round <= 300; round++) {
    const bool async = round % 3 == 0;
    const call_t barrier = {.collective = BARRIER};
    if (rank->number == round % rank->size && round % 50 == 0) sleep_ms(2);
    atomic_fetch_add(&arrived, 1);
    CHECK_STATUS(rank, SMDDP_SUCCESS, async ? call_and_wait(&barrier, rank->world, NULL) : call_blocking(&barrier, rank->world, NULL));
    const int seen = atomic_load(&arrived);
    CHECK(rank, seen >= round * rank->size, "round %d: left when %d of %d had come", round, seen, round * rank->size);
  }
}

static void test_waits_for_all(void **state) {
  (void)state;
  static const int sizes[] = {1, 2, 3, 4, 7};
  for (int i = 0; i < 5; i++) {
    atomic_store(&arrived, 0);
    assert_ranks(sizes[i], wait_for_all, NULL);
  }
}

/* It returns only when the earlier operations of this rank are complete. */
static void after_others(rank_t *rank) {
  static _Thread_local float data[4][50000];
  for (int round = 0; round < 20; round++) {
    smddp_request_t requests[4];
    for (int k = 0; k < 4; k++) {
      for (int i = 0; i < 50000; i++) data[k][i] = 1;
      CHECK_STATUS(rank, SMDDP_SUCCESS,
                   smddp_allreduce_async(data[k], data[k], 50000, SMDDP_FLOAT32, SMDDP_SUM, rank->world, NULL, &requests[k]));
    }
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_barrier(rank->world, NULL));
    for (int k = 0; k < 4; k++) {
      int done = 0;
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_test(requests[k], &done));
      CHECK(rank, done, "round %d: operation %d is outstanding after the barrier", round, k);
      CHECK(rank, data[k][0] == (float)rank->size && data[k][49999] == (float)rank->size, "wrong sum %g", data[k][0]);
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_free(requests[k]));
    }
  }
}

static void test_after_earlier_operations(void **state) {
  (void)state;
  for (int size = 1; size <= 3; size++) assert_ranks(size, after_others, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_arguments),
      cmocka_unit_test(test_mismatch),
      cmocka_unit_test(test_waits_for_all),
      cmocka_unit_test(test_after_earlier_operations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
