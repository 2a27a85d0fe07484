/* smddp_schedule_describe(3) */
#include "ranks.h"

#include <stdlib.h>

static char text[65536];

static smddp_schedule_query_t six(void) {
  smddp_schedule_query_t query = SMDDP_INIT_STRUCT(query);
  query.collective = "allreduce";
  query.algorithm = "sharded";
  query.ranks = 6;
  return query;
}

static void test_text(void **state) {
  (void)state;
  smddp_schedule_query_t query = six();
  query.rank = 2;
  size_t length = 0;
  assert_status(SMDDP_SUCCESS, smddp_schedule_describe(&query, SMDDP_FORMAT_TEXT, text, sizeof text, &length));
  assert_int_equal(strlen(text), length);
  assert_non_null(strstr(text, "allreduce, algorithm sharded, rank 2 of 6, 6 shares, scratch 5"));
  assert_non_null(strstr(text, "send to 3 tag 0: send share 3"));
  assert_non_null(strstr(text, "to receive share 2, finished"));
  query.algorithm = "hierarchical";
  query.nodes = "4+2";
  assert_status(SMDDP_SUCCESS, smddp_schedule_describe(&query, SMDDP_FORMAT_TEXT, text, sizeof text, NULL));
  assert_non_null(strstr(text, "2 lanes"));
  assert_non_null(strstr(text, "node reduce shares send to nothing")); /* rank 2 of 4 has no lane */
}

static void test_servers(void **state) {
  (void)state;
  smddp_schedule_query_t query = six();
  query.algorithm = "servers";
  query.servers = 2;
  query.rank = 7;
  assert_status(SMDDP_SUCCESS, smddp_schedule_describe(&query, SMDDP_FORMAT_TEXT, text, sizeof text, NULL));
  assert_non_null(strstr(text, "allreduce, algorithm servers, server 1 of 2 for 6 ranks"));
  query.rank = 5;
  assert_status(SMDDP_SUCCESS, smddp_schedule_describe(&query, SMDDP_FORMAT_TEXT, text, sizeof text, NULL));
  assert_non_null(strstr(text, "send to server 1 tag 0"));
  assert_status(SMDDP_SUCCESS, smddp_schedule_describe(&query, SMDDP_FORMAT_JSON, text, sizeof text, NULL));
  assert_non_null(strstr(text, "\"servers\": 2"));
}

static void test_json(void **state) {
  (void)state;
  smddp_schedule_query_t query = six();
  assert_status(SMDDP_SUCCESS, smddp_schedule_describe(&query, SMDDP_FORMAT_JSON, text, sizeof text, NULL));
  assert_int_equal(text[0], '{');
  assert_non_null(strstr(text, "\"algorithm\": \"sharded\""));
  assert_non_null(strstr(text, "\"kind\": \"reduce\""));
}

static void test_truncation(void **state) {
  (void)state;
  smddp_schedule_query_t query = six();
  size_t length = 0;
  assert_status(SMDDP_SUCCESS, smddp_schedule_describe(&query, SMDDP_FORMAT_TEXT, NULL, 0, &length));
  assert_true(length > 100);
  assert_status(SMDDP_SUCCESS, smddp_schedule_describe(&query, SMDDP_FORMAT_TEXT, text, 10, NULL));
  assert_string_equal(text, "allreduce");
}

static void refused(const smddp_schedule_query_t *query, const char *word) {
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_schedule_describe(query, SMDDP_FORMAT_TEXT, text, sizeof text, NULL));
  if (!strstr(smddp_last_error(), word)) fail_msg("no '%s' in '%s'", word, smddp_last_error());
}

static void test_errors(void **state) {
  (void)state;
  smddp_schedule_query_t query = six();
  refused(NULL, "NULL");
  query.struct_size = 8;
  refused(&query, "struct_size 8");
  query = six(), query.collective = "send";
  refused(&query, "'send' is none of allreduce");
  query.collective = NULL;
  refused(&query, "barrier");
  query = six(), query.algorithm = "rung";
  refused(&query, "halving_doubling");
  query.algorithm = NULL;
  refused(&query, "sharded");
  query = six(), query.ranks = 0;
  refused(&query, "neither");
  query.ranks = 1025;
  refused(&query, "1025");
  query.ranks = -1;
  refused(&query, "-1");
  static const char *const nodes[] = {"", "2+", "+2", "2+x", "2+0", "2++2", "2+-1", "1024+1", "99999999999999999999"};
  for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
    query.nodes = nodes[i], query.ranks = 0;
    refused(&query, "numbers of ranks");
  }
  query = six(), query.nodes = "2+2";
  refused(&query, "ranks 6, but nodes '2+2' have 4");
  query = six(), query.rank = 6;
  refused(&query, "rank 6 is not 0 to 5");
  query = six(), query.servers = 2, query.rank = 6; /* sharded has no use for servers */
  refused(&query, "rank 6 is not 0 to 5");
  query = six(), query.algorithm = "servers";
  refused(&query, "is not for 6 ranks");
  query.servers = -1;
  refused(&query, "servers -1");
  query.servers = 1025;
  refused(&query, "1025");
  query.servers = 2, query.rank = 8;
  refused(&query, "6 for server 0, to 7");
  query = six(), query.root = -1;
  refused(&query, "root -1");
  query = six(), query.collective = "reduce_scatter", query.algorithm = "recursive_halving";
  refused(&query, "is not for 6 ranks");
  query = six();
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_schedule_describe(&query, (smddp_info_format_t)2, text, sizeof text, NULL));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_schedule_describe(&query, SMDDP_FORMAT_TEXT, NULL, 1, NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_text), cmocka_unit_test(test_servers), cmocka_unit_test(test_json), cmocka_unit_test(test_truncation),
                                     cmocka_unit_test(test_errors)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
