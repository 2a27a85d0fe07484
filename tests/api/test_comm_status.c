/* smddp_comm_status(3): every kind of break is told, and stays. */
#include "ranks.h"

static void test_errors(void **state) {
  (void)state;
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_status(NULL));
}

/* Rank 0 does what breaks it, the others hear of it without calling a collective. */
static void hear_of(rank_t *rank) {
  const smddp_status_t kind = *(const smddp_status_t *)rank->arg;
  smddp_call_options_t options = SMDDP_INIT_STRUCT(options);
  options.timeout_ms = 200;
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_status(rank->world));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_barrier(rank->world, NULL));
  CHECK_CALL(rank, meet(rank));
  if (rank->number == 0) {
    if (kind == SMDDP_ERR_ABORTED) {
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_abort(rank->world, "test"));
    } else if (kind == SMDDP_ERR_TIMEOUT) {
      CHECK_STATUS(rank, SMDDP_ERR_TIMEOUT, smddp_barrier(rank->world, &options));
    } else {
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_finalize(rank->world));
      rank->world = NULL;
    }
  }
  for (int waited = 0; rank->world && waited < 5000 && smddp_comm_status(rank->world) == SMDDP_SUCCESS; waited += 10) sleep_ms(10);
  if (!rank->world) return;
  CHECK_STATUS(rank, kind, smddp_comm_status(rank->world));
  char who[32];
  snprintf(who, sizeof who, "rank %d", kind == SMDDP_ERR_TIMEOUT ? 1 : 0); /* who is missing, or who did it */
  CHECK_SENTENCE(rank, who);
  CHECK_STATUS(rank, kind, smddp_barrier(rank->world, NULL)); /* what later operations return */
  CHECK_STATUS(rank, kind, smddp_comm_status(rank->world));
  CHECK_SENTENCE(rank, who);
}

static void test_breaks(void **state) {
  (void)state;
  static const smddp_status_t kinds[] = {SMDDP_ERR_ABORTED, SMDDP_ERR_TIMEOUT, SMDDP_ERR_PEER_GONE};
  for (int i = 0; i < 3; i++) {
    assert_ranks(2, hear_of, (void *)(uintptr_t)&kinds[i]);
    assert_ranks(3, hear_of, (void *)(uintptr_t)&kinds[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_errors), cmocka_unit_test(test_breaks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
