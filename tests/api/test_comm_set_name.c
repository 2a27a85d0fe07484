/* smddp_comm_set_name(3), smddp_comm_get_name(3) */
#include "ranks.h"

static const char *name_of(smddp_comm_t comm) {
  const char *name = NULL;
  assert_status(SMDDP_SUCCESS, smddp_comm_get_name(comm, &name));
  assert_non_null(name);
  return name;
}

static void test_names(void **state) {
  (void)state;
  smddp_comm_t world = single_rank(), copy = NULL, other = NULL;
  assert_string_equal(name_of(world), "world");
  assert_status(SMDDP_SUCCESS, smddp_comm_dup(world, NULL, &copy));
  assert_status(SMDDP_SUCCESS, smddp_comm_dup(world, NULL, &other));
  assert_memory_equal(name_of(copy), "world", 5); /* the parent's and a number */
  assert_string_not_equal(name_of(copy), "world");
  assert_string_not_equal(name_of(copy), name_of(other));

  char text[] = "tensor parallel";
  assert_status(SMDDP_SUCCESS, smddp_comm_set_name(copy, text));
  text[0] = 'x'; /* copied */
  assert_string_equal(name_of(copy), "tensor parallel");
  assert_status(SMDDP_SUCCESS, smddp_comm_set_name(copy, ""));
  assert_string_equal(name_of(copy), "");

  char large[200];
  memset(large, 'n', sizeof large - 1);
  large[sizeof large - 1] = '\0';
  assert_status(SMDDP_SUCCESS, smddp_comm_set_name(copy, large));
  assert_int_equal(strlen(name_of(copy)), 63);

  /* It is what sentences call the communicator by. */
  assert_status(SMDDP_SUCCESS, smddp_comm_set_name(copy, "the odd ranks"));
  assert_status(SMDDP_SUCCESS, smddp_comm_abort(copy, "test"));
  assert_status(SMDDP_ERR_ABORTED, smddp_barrier(copy, NULL));
  assert_non_null(strstr(smddp_last_error(), "the odd ranks"));
  assert_status(SMDDP_SUCCESS, smddp_finalize(world));
}

static void test_errors(void **state) {
  (void)state;
  smddp_comm_t world = single_rank();
  const char *name = "unchanged";
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_set_name(NULL, "x"));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_set_name(world, NULL));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_get_name(NULL, &name));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_get_name(world, NULL));
  assert_string_equal(name, "unchanged");
  assert_string_equal(name_of(world), "world");
  assert_status(SMDDP_SUCCESS, smddp_finalize(world));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_errors)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
