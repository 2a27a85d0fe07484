/* smddp_register(3), smddp_deregister(3) */
#include "ranks.h"

static void test_errors(void **state) {
  (void)state;
  smddp_comm_t world = single_rank(), other = single_rank();
  static char memory[8192];
  smddp_registration_t registration = (smddp_registration_t)(void *)memory;
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_register(NULL, memory, 10, &registration));
  assert_true(registration == NULL || registration == (smddp_registration_t)(void *)memory);
  registration = (smddp_registration_t)(void *)memory;
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_register(world, NULL, 10, &registration));
  assert_true(registration == NULL || registration == (smddp_registration_t)(void *)memory);
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_register(world, memory, SIZE_MAX, &registration)); /* wraps around */
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_register(world, memory, 10, NULL));
  assert_status(SMDDP_SUCCESS, smddp_deregister(world, NULL));
  assert_status(SMDDP_SUCCESS, smddp_register(world, memory, sizeof memory, &registration));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_deregister(NULL, registration));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_deregister(other, registration));
  assert_status(SMDDP_SUCCESS, smddp_deregister(world, registration));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_deregister(world, registration));
  assert_status(SMDDP_SUCCESS, smddp_finalize(other));
  assert_status(SMDDP_SUCCESS, smddp_finalize(world));
}

/* The same range twice, overlapping ranges, another order on each rank, again after deregistering on one rank. */
static void repeat(rank_t *rank) {
  static _Thread_local float memory[100000];
  smddp_registration_t all[3] = {NULL, NULL, NULL}, again = NULL;
  for (int round = 0; round < 10; round++) {
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_register(rank->world, memory, sizeof memory, &all[0]));
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_register(rank->world, memory, sizeof memory, &all[1]));
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_register(rank->world, memory + 1000, 5000, &all[2]));
    CHECK(rank, all[0] && all[1] && all[2] && all[0] != all[1] && all[1] != all[2], "registrations are not told apart");
    if (rank->number == 0) CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_deregister(rank->world, all[0]));
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_register(rank->world, memory, sizeof memory, &again));
    for (int i = 0; i < 100000; i++) memory[i] = 1;
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(memory, memory, 100000, SMDDP_FLOAT32, SMDDP_SUM, rank->world, NULL));
    CHECK(rank, memory[99999] == (float)rank->size, "sum %g", memory[99999]);
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_deregister(rank->world, again));
    for (int i = rank->number == 0; i < 3; i++)
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_deregister(rank->world, all[rank->number % 2 ? 2 - i : i]));
  }
  smddp_registration_t nothing = NULL;
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_register(rank->world, NULL, 0, &nothing));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_deregister(rank->world, nothing));
}

static void test_repeat(void **state) {
  (void)state;
  for (int size = 1; size <= 3; size++) assert_ranks(size, repeat, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_errors), cmocka_unit_test(test_repeat)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
