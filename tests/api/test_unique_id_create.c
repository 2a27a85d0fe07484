/* smddp_unique_id_create(3) */
#include "ranks.h"

#include <stdlib.h>

static void test_ids(void **state) {
  (void)state;
  smddp_unique_id_t a, b;
  memset(&a, 0, sizeof a);
  memset(&b, 0, sizeof b);
  assert_int_equal(sizeof a, SMDDP_UNIQUE_ID_BYTES);
  assert_status(SMDDP_SUCCESS, smddp_unique_id_create(&a));
  assert_status(SMDDP_SUCCESS, smddp_unique_id_create(&b));
  assert_memory_not_equal(&a, &b, sizeof a);
}

static void test_errors(void **state) {
  (void)state;
  smddp_unique_id_t id, before;
  memset(&id, 'x', sizeof id);
  before = id;
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_unique_id_create(NULL));
  assert_int_equal(setenv("SMDDP_BOOTSTRAP_INTERFACE", "nosuchcard", 1), 0);
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_unique_id_create(&id));
  assert_non_null(strstr(smddp_last_error(), "nosuchcard"));
  assert_memory_equal(&id, &before, sizeof id);
}

static int clear_environment(void **state) {
  (void)state;
  return unsetenv("SMDDP_BOOTSTRAP_INTERFACE");
}

static void nothing(rank_t *rank) { (void)rank; }

/* Each run_ranks meets by an id of its own; many in a row do not run out of anything. */
static void test_many(void **state) {
  (void)state;
  for (int i = 0; i < 20; i++) assert_ranks(3, nothing, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ids), cmocka_unit_test_teardown(test_errors, clear_environment), cmocka_unit_test(test_many)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
