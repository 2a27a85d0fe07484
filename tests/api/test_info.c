/* smddp_info(3) */
#include "ranks.h"

#include <stdlib.h>

static char *text_of(smddp_info_kind_t kind, smddp_info_format_t format) {
  size_t length = 0, again = 0;
  assert_status(SMDDP_SUCCESS, smddp_info(kind, format, NULL, 0, &length));
  assert_true(length > 10);
  char *text = malloc(length + 1);
  memset(text, 'x', length + 1);
  assert_status(SMDDP_SUCCESS, smddp_info(kind, format, text, length + 1, &again));
  assert_int_equal(again, length);
  assert_int_equal(strlen(text), length);
  return text;
}

static void test_kinds(void **state) {
  (void)state;
  static const char *const words[] = {SMDDP_VERSION_STRING, "", "SMDDP_TIMEOUT_MS", "rank", "", "node"};
  smddp_comm_t world = single_rank();
  for (int kind = SMDDP_INFO_BUILD; kind <= SMDDP_INFO_JOB; kind++) {
    char *text = text_of((smddp_info_kind_t)kind, SMDDP_FORMAT_TEXT), *json = text_of((smddp_info_kind_t)kind, SMDDP_FORMAT_JSON);
    assert_non_null(strstr(text, words[kind]));
    assert_non_null(strstr(json, words[kind]));
    assert_true(json[0] == (kind == SMDDP_INFO_PARAMETERS ? '[' : '{'));
    free(text);
    free(json);
  }
  assert_status(SMDDP_SUCCESS, smddp_finalize(world));
}

static void test_truncation(void **state) {
  (void)state;
  char *whole = text_of(SMDDP_INFO_PARAMETERS, SMDDP_FORMAT_TEXT);
  char part[16];
  size_t length = 0;
  memset(part, 'x', sizeof part);
  assert_status(SMDDP_SUCCESS, smddp_info(SMDDP_INFO_PARAMETERS, SMDDP_FORMAT_TEXT, part, 9, &length));
  assert_int_equal(length, strlen(whole));
  assert_int_equal(strlen(part), 8);
  assert_memory_equal(part, whole, 8);
  assert_int_equal(part[9], 'x');
  assert_status(SMDDP_SUCCESS, smddp_info(SMDDP_INFO_PARAMETERS, SMDDP_FORMAT_TEXT, part, 1, NULL));
  assert_string_equal(part, "");
  free(whole);
}

/* A wrong value is shown, and no error. */
static void test_wrong_value(void **state) {
  (void)state;
  assert_int_equal(setenv("SMDDP_SPIN_US", "soon", 1), 0);
  char *text = text_of(SMDDP_INFO_PARAMETERS, SMDDP_FORMAT_TEXT);
  assert_non_null(strstr(text, "soon"));
  free(text);
  assert_int_equal(unsetenv("SMDDP_SPIN_US"), 0);
}

static void test_errors(void **state) {
  (void)state;
  char text[16];
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_info((smddp_info_kind_t)6, SMDDP_FORMAT_TEXT, text, sizeof text, NULL));
  assert_status(SMDDP_ERR_INVALID_USAGE, smddp_info(SMDDP_INFO_JOB, SMDDP_FORMAT_TEXT, text, sizeof text, NULL));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_info((smddp_info_kind_t)-1, SMDDP_FORMAT_TEXT, text, sizeof text, NULL));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_info(SMDDP_INFO_BUILD, (smddp_info_format_t)2, text, sizeof text, NULL));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_info(SMDDP_INFO_BUILD, SMDDP_FORMAT_TEXT, NULL, 1, NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds), cmocka_unit_test(test_truncation), cmocka_unit_test(test_wrong_value),
                                     cmocka_unit_test(test_errors)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
