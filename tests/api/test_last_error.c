/* smddp_last_error(3) */
#include "ranks.h"

#include <pthread.h>

static void *other_thread(void *seen) {
  snprintf(seen, 200, "%s", smddp_last_error()); /* of a thread without failed calls */
  int rank;
  smddp_comm_rank(NULL, &rank);
  return NULL;
}

static void test_sentences(void **state) {
  (void)state;
  size_t size;
  char first[200], second[200], other[200] = "not called";
  assert_string_equal(smddp_last_error(), "");
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_dtype_size((smddp_dtype_t)99, &size));
  snprintf(first, sizeof first, "%s", smddp_last_error());
  assert_non_null(strstr(first, "99"));
  assert_null(strchr(first, '\n'));

  /* A call that succeeds, and another thread's failure, leave it as it is. */
  assert_status(SMDDP_SUCCESS, smddp_dtype_size(SMDDP_INT8, &size));
  assert_string_equal(smddp_last_error(), first);
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, other_thread, other), 0);
  pthread_join(thread, NULL);
  assert_string_equal(other, "");
  assert_string_equal(smddp_last_error(), first);

  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_free(NULL));
  snprintf(second, sizeof second, "%s", smddp_last_error());
  assert_string_not_equal(second, first);
  assert_non_null(strstr(second, "comm"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sentences)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
