/* smddp_comm_transport(3) */
#include "ranks.h"

static void transports(rank_t *rank) {
  for (int peer = 0; peer < rank->size; peer++) {
    const char *transport = NULL, *right = peer == rank->number ? "self" : "shared memory";
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_transport(rank->world, peer, &transport));
    CHECK(rank, strcmp(transport, right) == 0, "'%s' to rank %d, expected '%s'", transport, peer, right);
  }
  const char *transport = "unchanged";
  CHECK_STATUS(rank, SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_transport(rank->world, rank->size, &transport));
  CHECK_STATUS(rank, SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_transport(rank->world, -1, &transport));
  CHECK_SENTENCE(rank, "-1");
  CHECK_STATUS(rank, SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_transport(rank->world, 0, NULL));
  CHECK_STATUS(rank, SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_transport(NULL, 0, &transport));
  CHECK(rank, strcmp(transport, "unchanged") == 0, "the output changed to '%s'", transport);
}

static void test_transports(void **state) {
  (void)state;
  for (int size = 1; size <= 3; size++) assert_ranks(size, transports, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_transports)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
