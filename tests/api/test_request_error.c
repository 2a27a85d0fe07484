/* smddp_request_error(3) */
#include "ranks.h"

static void test_no_error(void **state) {
  (void)state;
  smddp_comm_t world = single_rank();
  smddp_request_t request = NULL;
  assert_string_equal(smddp_request_error(NULL), "");
  assert_status(SMDDP_SUCCESS, smddp_barrier_async(world, NULL, &request));
  assert_string_equal(smddp_request_error(request), "");
  assert_status(SMDDP_SUCCESS, smddp_wait(request, 0));
  assert_string_equal(smddp_request_error(request), "");
  assert_status(SMDDP_SUCCESS, smddp_request_free(request));
  assert_string_equal(smddp_request_error(request), "");
  assert_status(SMDDP_SUCCESS, smddp_finalize(world));
}

/* Each request keeps its own sentence, whatever fails after it. */
static void sentences(rank_t *rank) {
  smddp_comm_t comm = NULL;
  char small[1], truncated[300];
  smddp_request_t first = NULL, second = NULL;
  int value = 1;
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_dup(rank->world, NULL, &comm));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_send("abc", 3, SMDDP_UINT8, rank->number, 0, comm, NULL));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_recv_async(small, 1, SMDDP_UINT8, rank->number, 0, comm, NULL, &first));
  CHECK_STATUS(rank, SMDDP_ERR_TRUNCATED, smddp_wait(first, 0));
  snprintf(truncated, sizeof truncated, "%s", smddp_request_error(first));
  CHECK(rank, strcmp(truncated, smddp_last_error()) == 0, "'%s' and '%s'", truncated, smddp_last_error());
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_recv_async(&value, 1, SMDDP_INT32, rank->number, 1, comm, NULL, &second));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_abort(comm, "test"));
  CHECK_STATUS(rank, SMDDP_ERR_ABORTED, smddp_wait(second, 0));
  CHECK(rank, strstr(smddp_request_error(second), "test"), "'%s'", smddp_request_error(second));
  CHECK(rank, strcmp(truncated, smddp_request_error(first)) == 0, "the sentence changed to '%s'", smddp_request_error(first));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_free(first));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_free(second));
}

static void test_sentences(void **state) {
  (void)state;
  assert_ranks(1, sentences, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_error), cmocka_unit_test(test_sentences)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
