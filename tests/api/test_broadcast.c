/* TIMEOUT 600: smddp_broadcast(3), both forms. */
#include "faults.h"
#include "sweep.h"

static void test_sweep(void **state) {
  (void)state;
  sweep(BROADCAST);
}

static void test_arguments(void **state) {
  (void)state;
  argument_faults(BROADCAST);
}

static void test_mismatch(void **state) {
  (void)state;
  mismatches(BROADCAST);
}

/* A broadcast followed at once by an allreduce of another count: no result is that of a neighbour. */
static void back_to_back(rank_t *rank) {
  static _Thread_local uint32_t data[4096];
  for (uint32_t round = 0; round < 2000; round++) {
    const int root = (int)(round % (uint32_t)rank->size);
    const size_t count = 1 + round * 2654435761u % 4096, other = 1 + round * 40503u % 700;
    if (rank->number == root)
      for (size_t i = 0; i < count; i++) data[i] = round * 4096 + (uint32_t)i;
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_broadcast(data, count, SMDDP_UINT32, root, rank->world, NULL));
    for (size_t i = 0; i < count; i++)
      CHECK(rank, data[i] == round * 4096 + (uint32_t)i, "round %u, element %zu: %u of round %u", round, i, data[i], data[i] / 4096);
    for (size_t i = 0; i < other; i++) data[i] = round + (uint32_t)i;
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(data, data, other, SMDDP_UINT32, SMDDP_SUM, rank->world, NULL));
    for (size_t i = 0; i < other; i++)
      CHECK(rank, data[i] == (round + (uint32_t)i) * (uint32_t)rank->size, "round %u, sum %zu: %u", round, i, data[i]);
  }
}

static void test_back_to_back(void **state) {
  (void)state;
  assert_ranks(4, back_to_back, NULL);
}

/* The root may run ahead of the others. */
static void run_ahead(rank_t *rank) {
  for (int round = 0; round < 1000; round++) {
    int value = rank->number == 0 ? round : -1;
    if (rank->number == 1 && round % 100 == 0) sleep_ms(1);
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_broadcast(&value, 1, SMDDP_INT32, 0, rank->world, NULL));
    CHECK(rank, value == round, "round %d: %d", round, value);
  }
}

static void test_run_ahead(void **state) {
  (void)state;
  assert_ranks(3, run_ahead, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sweep),
      cmocka_unit_test(test_arguments),
      cmocka_unit_test(test_mismatch),
      cmocka_unit_test(test_back_to_back),
      cmocka_unit_test(test_run_ahead),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
