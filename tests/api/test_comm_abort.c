/* smddp_comm_abort(3) */
#include "ranks.h"

static void test_errors(void **state) {
  (void)state;
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_abort(NULL, "no communicator"));
}

/* Rank 1 aborts while the others wait in a collective. */
static void abort_waiting(rank_t *rank) {
  const bool async = *(const bool *)rank->arg;
  static _Thread_local float data[50000];
  CHECK_CALL(rank, meet(rank));
  const int64_t start = now_ms();
  if (rank->number == 1) {
    sleep_ms(100);
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_abort(rank->world, "the data set is damaged"));
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_abort(rank->world, "again")); /* the first call decides */
  } else if (async) {
    smddp_request_t request = NULL;
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce_async(data, data, 50000, SMDDP_FLOAT32, SMDDP_SUM, rank->world, NULL, &request));
    CHECK_STATUS(rank, SMDDP_ERR_ABORTED, smddp_wait(request, 0));
    CHECK(rank, strstr(smddp_request_error(request), "the data set is damaged"), "'%s'", smddp_request_error(request));
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_free(request));
  } else {
    CHECK_STATUS(rank, SMDDP_ERR_ABORTED, smddp_allreduce(data, data, 50000, SMDDP_FLOAT32, SMDDP_SUM, rank->world, NULL));
  }
  CHECK_STATUS(rank, SMDDP_ERR_ABORTED, smddp_barrier(rank->world, NULL));
  CHECK_SENTENCE(rank, "rank 1");
  CHECK_SENTENCE(rank, "the data set is damaged");
  CHECK_STATUS(rank, SMDDP_ERR_ABORTED, smddp_comm_status(rank->world));
  CHECK_STATUS(rank, SMDDP_ERR_ABORTED, smddp_send(data, 1, SMDDP_FLOAT32, 0, 0, rank->world, NULL));
  CHECK_STATUS(rank, SMDDP_ERR_ABORTED, smddp_recv(data, 1, SMDDP_FLOAT32, 0, 0, rank->world, NULL, NULL));
  CHECK(rank, now_ms() - start < 5000, "%lld ms", (long long)(now_ms() - start));
}

static void test_waiting(void **state) {
  (void)state;
  for (int async = 0; async < 2; async++) {
    bool arg = async;
    assert_ranks(2, abort_waiting, &arg);
    assert_ranks(4, abort_waiting, &arg);
  }
}

/* Without a reason, and with one that is too long. */
static void reasons(rank_t *rank) {
  smddp_comm_t copy = NULL;
  char reason[500];
  memset(reason, 'y', sizeof reason - 1);
  reason[sizeof reason - 1] = '\0';
  for (int round = 0; round < 2; round++) {
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_dup(rank->world, NULL, &copy));
    CHECK_CALL(rank, meet(rank));
    if (rank->number == 0) CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_abort(copy, round ? reason : NULL));
    CHECK_STATUS(rank, SMDDP_ERR_ABORTED, smddp_barrier(copy, NULL));
    CHECK_SENTENCE(rank, "rank 0");
    if (round) {
      const char *kept = strstr(smddp_last_error(), "yyy");
      CHECK(rank, kept && strspn(kept, "y") == 200, "%zu characters of the reason are kept", kept ? strspn(kept, "y") : 0);
    }
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_free(copy));
  }
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_barrier(rank->world, NULL));
}

static void test_reasons(void **state) {
  (void)state;
  assert_ranks(2, reasons, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_errors), cmocka_unit_test(test_waiting), cmocka_unit_test(test_reasons)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
