/* smddp_comm_split(3), smddp_comm_dup(3) */
#include "ranks.h"

/* Ranks 2 and 0 form a group with rank 2 first, rank 1 gets none, rank 3 is alone. */
static void colours(rank_t *rank) {
  static const int color[] = {0, SMDDP_COLOR_NONE, 0, 1}, key[] = {5, 0, 1, 0};
  smddp_comm_t group = (smddp_comm_t)(void *)rank;
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_split(rank->world, color[rank->number], key[rank->number], NULL, &group));
  if (rank->number == 1) {
    int value = 1;
    CHECK(rank, group == NULL, "a communicator without a colour");
    CHECK_STATUS(rank, SMDDP_ERR_INVALID_ARGUMENT, smddp_allreduce(&value, &value, 1, SMDDP_INT32, SMDDP_SUM, group, NULL));
    return;
  }
  int number = -1, size = -1, sum = rank->number;
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_rank(group, &number));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_size(group, &size));
  CHECK(rank, size == (rank->number == 3 ? 1 : 2) && number == (rank->number == 0 ? 1 : 0), "rank %d of %d", number, size);
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(&sum, &sum, 1, SMDDP_INT32, SMDDP_SUM, group, NULL));
  CHECK(rank, sum == (rank->number == 3 ? 3 : 2), "the sum of the ranks is %d", sum);
  int from_first = rank->number;
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_broadcast(&from_first, 1, SMDDP_INT32, 0, group, NULL));
  CHECK(rank, from_first == (rank->number == 3 ? 3 : 2), "rank 0 of the group is rank %d", from_first);
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_free(group));
}

static void test_colours(void **state) {
  (void)state;
  assert_ranks(4, colours, NULL);
}

static void no_colour(rank_t *rank) {
  smddp_comm_t group = (smddp_comm_t)(void *)rank;
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_split(rank->world, SMDDP_COLOR_NONE, 0, NULL, &group));
  CHECK(rank, group == NULL, "a communicator without a colour");
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_barrier(rank->world, NULL));
}

static void equal_keys(rank_t *rank) {
  smddp_comm_t group = NULL, reversed = NULL;
  int number = -1;
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_split(rank->world, 1000000, 3, NULL, &group));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_rank(group, &number));
  CHECK(rank, number == rank->number, "rank %d with equal keys", number);
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_split(group, 0, -rank->number, NULL, &reversed)); /* of a split, with negative keys */
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_rank(reversed, &number));
  CHECK(rank, number == rank->size - 1 - rank->number, "rank %d in reverse", number);
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_free(group)); /* the child lives on */
  int sum = 1;
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(&sum, &sum, 1, SMDDP_INT32, SMDDP_SUM, reversed, NULL));
  CHECK(rank, sum == rank->size, "sum %d", sum);
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_free(reversed));
}

static void test_keys(void **state) {
  (void)state;
  for (int size = 1; size <= 5; size++) {
    assert_ranks(size, equal_keys, NULL);
    assert_ranks(size, no_colour, NULL);
  }
}

/* A copy has the same ranks and a life of its own: breaking it leaves the original whole. */
static void copies(rank_t *rank) {
  smddp_comm_t copy = NULL;
  int number = -1, size = -1, sum = 1;
  const char *name = NULL;
  smddp_comm_options_t options = SMDDP_INIT_STRUCT(options);
  options.name = "a copy";
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_dup(rank->world, &options, &copy));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_rank(copy, &number));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_size(copy, &size));
  CHECK(rank, number == rank->number && size == rank->size, "rank %d of %d", number, size);
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_get_name(copy, &name));
  CHECK(rank, strcmp(name, "a copy") == 0, "name '%s'", name);
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(&sum, &sum, 1, SMDDP_INT32, SMDDP_SUM, copy, NULL));
  CHECK_CALL(rank, meet(rank));
  if (rank->number == 0) CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_abort(copy, "broken by the test"));
  CHECK_CALL(rank, meet(rank));
  CHECK_STATUS(rank, SMDDP_ERR_ABORTED, smddp_barrier(copy, NULL));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_barrier(rank->world, NULL));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_free(copy));
}

/* Two communicators used in different orders on different ranks, asynchronously. */
static void different_orders(rank_t *rank) {
  enum { COUNT = 100000 };
  static _Thread_local float a[COUNT], b[COUNT];
  smddp_comm_t comms[2];
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_dup(rank->world, NULL, &comms[0]));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_dup(rank->world, NULL, &comms[1]));
  for (int round = 0; round < 50; round++) {
    const size_t count = round % 2 ? COUNT : 10;
    float *data[2] = {a, b};
    smddp_request_t requests[2];
    for (size_t i = 0; i < count; i++) a[i] = 1, b[i] = 2;
    for (int k = 0; k < 2; k++) {
      const int which = rank->number % 2 ? 1 - k : k;
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce_async(data[which], data[which], count, SMDDP_FLOAT32, SMDDP_SUM, comms[which],
                                                              NULL, &requests[which]));
    }
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_wait_all(2, requests, 10000 * TEST_SLOWNESS));
    CHECK(rank, a[count - 1] == (float)rank->size && b[count - 1] == 2.0f * (float)rank->size, "round %d: %g %g", round, a[count - 1],
          b[count - 1]);
    for (int k = 0; k < 2; k++) CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_free(requests[k]));
  }
  for (int k = 0; k < 2; k++) CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_free(comms[k]));
}

static void test_copies(void **state) {
  (void)state;
  for (int size = 1; size <= 4; size++) {
    assert_ranks(size, copies, NULL);
    assert_ranks(size, different_orders, NULL);
  }
}

static void wrong_arguments(rank_t *rank) {
  smddp_comm_t group = (smddp_comm_t)(void *)rank;
  smddp_comm_options_t options = SMDDP_INIT_STRUCT(options);
  CHECK_STATUS(rank, SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_split(NULL, 0, 0, NULL, &group));
  CHECK(rank, group == NULL || group == (smddp_comm_t)(void *)rank, "the output is neither NULL nor unchanged after an error");
  CHECK_STATUS(rank, SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_split(rank->world, -2, 0, NULL, &group));
  CHECK_SENTENCE(rank, "-2");
  CHECK_STATUS(rank, SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_split(rank->world, 0, 0, NULL, NULL));
  CHECK_STATUS(rank, SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_dup(NULL, NULL, &group));
  CHECK_STATUS(rank, SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_dup(rank->world, NULL, NULL));
  options.thread_mode = 3;
  CHECK_STATUS(rank, SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_dup(rank->world, &options, &group));
  options.thread_mode = 0;
  options.timeout_ms = -1;
  CHECK_STATUS(rank, SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_dup(rank->world, &options, &group));
  options.timeout_ms = 0;
  options.reserved = 1;
  CHECK_STATUS(rank, SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_dup(rank->world, &options, &group));
  options.reserved = 0;
  options.struct_size = 0;
  CHECK_STATUS(rank, SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_dup(rank->world, &options, &group));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_barrier(rank->world, NULL));
}

/* Ranks that call split and something else. */
static void split_against_allreduce(rank_t *rank) {
  smddp_comm_t group = NULL;
  int value = 1;
  const smddp_status_t status = rank->number ? smddp_comm_split(rank->world, 0, 0, NULL, &group)
                                             : smddp_allreduce(&value, &value, 1, SMDDP_INT32, SMDDP_SUM, rank->world, NULL);
  CHECK(rank, status == SMDDP_ERR_MISMATCH, "%s (%s)", smddp_status_string(status), smddp_last_error());
  CHECK_SENTENCE(rank, "split");
  CHECK_SENTENCE(rank, "allreduce");
}

static void test_errors(void **state) {
  (void)state;
  assert_ranks(1, wrong_arguments, NULL);
  assert_ranks(2, wrong_arguments, NULL);
  assert_ranks(2, split_against_allreduce, NULL);
  assert_ranks(3, split_against_allreduce, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_colours), cmocka_unit_test(test_keys), cmocka_unit_test(test_copies),
                                     cmocka_unit_test(test_errors)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
