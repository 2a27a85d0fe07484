/* smddp_comm_rank(3): ranks and sizes. */
#include "ranks.h"

static void numbers(rank_t *rank) {
  int number = -1, size = -1, local_rank = -1, local_size = -1;
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_rank(rank->world, &number));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_size(rank->world, &size));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_local_rank(rank->world, &local_rank));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_local_size(rank->world, &local_size));
  CHECK(rank, number == rank->number && local_rank == rank->number, "rank %d, local rank %d", number, local_rank);
  CHECK(rank, size == rank->size && local_size == rank->size, "size %d, local size %d", size, local_size);

  smddp_comm_t odd = NULL;
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_split(rank->world, number % 2, 0, NULL, &odd));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_local_rank(odd, &local_rank));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_local_size(odd, &local_size));
  CHECK(rank, local_rank == number / 2 && local_size == (size + 1 - number % 2) / 2, "local rank %d of %d", local_rank, local_size);
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_free(odd));
}

static void test_numbers(void **state) {
  (void)state;
  for (int size = 1; size <= 5; size++) assert_ranks(size, numbers, NULL);
}

static void test_errors(void **state) {
  (void)state;
  smddp_comm_t world = single_rank(), copy = NULL;
  assert_status(SMDDP_SUCCESS, smddp_comm_dup(world, NULL, &copy));
  assert_status(SMDDP_SUCCESS, smddp_comm_free(copy));
  smddp_status_t (*const functions[])(smddp_comm_t, int *) = {smddp_comm_rank, smddp_comm_size, smddp_comm_local_rank,
                                                              smddp_comm_local_size};
  for (int i = 0; i < 4; i++) {
    int number = 77;
    assert_status(SMDDP_ERR_INVALID_ARGUMENT, functions[i](NULL, &number));
    assert_status(SMDDP_ERR_INVALID_ARGUMENT, functions[i](copy, &number));
    assert_status(SMDDP_ERR_INVALID_ARGUMENT, functions[i](world, NULL));
    assert_int_equal(number, 77);
  }
  /* Also on a broken communicator. */
  int size = 0;
  assert_status(SMDDP_SUCCESS, smddp_comm_abort(world, "test"));
  assert_status(SMDDP_SUCCESS, smddp_comm_size(world, &size));
  assert_int_equal(size, 1);
  assert_status(SMDDP_SUCCESS, smddp_finalize(world));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers), cmocka_unit_test(test_errors)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
