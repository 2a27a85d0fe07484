/* smddp_serve(3): servers as threads beside ranks as threads, which are all on one node: the servers come and go with the ranks. What they
 * do for ranks on several nodes is tested by tests/world/test_servers.py. */
#include "ranks.h"

#include <pthread.h>
#include <stdlib.h>

enum { RANKS = 2, SERVERS = 2, MEMBERS = RANKS + SERVERS };

typedef struct member {
  smddp_init_options_t options;
  bool serves;
  pthread_t thread;
  smddp_status_t status;
  float sum;
  int size;
  char sentence[512];
} member_t;

static void *run_rank(member_t *member) {
  smddp_comm_t world = NULL;
  const float one = 1;
  member->status = smddp_init(&member->options, &world);
  if (member->status == SMDDP_SUCCESS) member->status = smddp_comm_size(world, &member->size);
  if (member->status == SMDDP_SUCCESS) member->status = smddp_allreduce(&one, &member->sum, 1, SMDDP_FLOAT32, SMDDP_SUM, world, NULL);
  snprintf(member->sentence, sizeof member->sentence, "%s", smddp_last_error());
  if (world) smddp_finalize(world);
  return NULL;
}

static void *run_member(void *arg) {
  member_t *member = arg;
  if (!member->serves) return run_rank(member);
  member->status = smddp_serve(&member->options);
  snprintf(member->sentence, sizeof member->sentence, "%s", smddp_last_error());
  return NULL;
}

static void run_all(member_t *members, int count) {
  for (int i = 0; i < count; i++) assert_int_equal(pthread_create(&members[i].thread, NULL, run_member, &members[i]), 0);
  for (int i = 0; i < count; i++) pthread_join(members[i].thread, NULL);
}

static void prepare(member_t *members, int64_t timeout_ms) {
  memset(members, 0, MEMBERS * sizeof *members);
  const int port = free_port();
  for (int i = 0; i < MEMBERS; i++) {
    members[i].serves = i >= RANKS;
    members[i].options = (smddp_init_options_t)SMDDP_INIT_STRUCT(members[i].options);
    members[i].options.address = "127.0.0.1";
    members[i].options.port = port;
    members[i].options.job_id = "servers";
    members[i].options.size = RANKS;
    members[i].options.rank = i < RANKS ? i : i - RANKS;
    members[i].options.timeout_ms = timeout_ms;
  }
}

static void test_servers_end_with_the_ranks(void **state) {
  (void)state;
  member_t members[MEMBERS];
  for (int round = 0; round < 2; round++) { /* and can serve again */
    prepare(members, TEST_TIMEOUT_MS);
    run_all(members, MEMBERS);
    for (int i = 0; i < MEMBERS; i++) {
      if (members[i].status != SMDDP_SUCCESS) fail_msg("member %d: %s", i, members[i].sentence);
      if (!members[i].serves && (members[i].sum != RANKS || members[i].size != RANKS)) fail_msg("rank %d: sum %g, size %d", i, members[i].sum, members[i].size);
    }
  }
}

static void test_missing_server_is_named(void **state) {
  (void)state;
  member_t members[MEMBERS];
  prepare(members, 1500);
  run_all(members, MEMBERS - 1);
  for (int i = 0; i < MEMBERS - 1; i++) {
    if (members[i].status != SMDDP_ERR_TIMEOUT || !strstr(members[i].sentence, "server 1 of 2 did not come")) fail_msg("member %d: %s", i, members[i].sentence);
  }
}

/* Other jobs of the same processes, such as a framework's groups. */
static void test_no_servers_by_unique_id(void **state) {
  (void)state;
  smddp_unique_id_t id;
  assert_status(SMDDP_SUCCESS, smddp_unique_id_create(&id));
  member_t members[MEMBERS];
  prepare(members, TEST_TIMEOUT_MS);
  for (int i = 0; i < RANKS; i++) members[i].options.unique_id = &id;
  run_all(members, RANKS);
  for (int i = 0; i < RANKS; i++) {
    if (members[i].status != SMDDP_SUCCESS || members[i].sum != RANKS) fail_msg("rank %d: %s, sum %g", i, members[i].sentence, members[i].sum);
  }
}

static void refused(const smddp_init_options_t *options, const char *words) {
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_serve(options));
  if (!strstr(smddp_last_error(), words)) fail_msg("no '%s' in '%s'", words, smddp_last_error());
}

static void test_errors(void **state) {
  (void)state;
  smddp_init_options_t options = SMDDP_INIT_STRUCT(options);
  options.size = 2, options.rank = SERVERS, options.address = "127.0.0.1", options.port = 1;
  refused(&options, "options.rank=2 is not one of 0 to 1");
  options.rank = -1;
  refused(&options, "options.rank=-1");
  options.rank = 0, options.size = -2;
  refused(&options, "options.size=-2");
  options.size = 2, options.struct_size = 8;
  refused(&options, "struct_size 8");
  options.struct_size = sizeof options, options.timeout_ms = -1;
  refused(&options, "smddp_serve");
  options.timeout_ms = 0, options.thread_mode = 9;
  refused(&options, "smddp_serve");
  smddp_unique_id_t id;
  memset(&id, 0, sizeof id);
  options.thread_mode = 0, options.unique_id = &id;
  refused(&options, "options.unique_id");
  options.unique_id = NULL;
  unsetenv("WORLD_SIZE");
  refused(NULL, "WORLD_SIZE");
  setenv("WORLD_SIZE", "2", 1);
  refused(NULL, "SMDDP_SERVER=-1 is not one of 0 to 1");
  setenv("SMDDP_SERVER", "x", 1);
  refused(NULL, "SMDDP_SERVER='x'");
  unsetenv("SMDDP_SERVER");
  unsetenv("WORLD_SIZE");
  unsetenv("SMDDP_SERVERS");
  refused(&options, "SMDDP_SERVERS is not set");
  setenv("SMDDP_SERVERS", "2", 1);
}

int main(void) {
  setenv("SMDDP_SERVERS", "2", 1);
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_servers_end_with_the_ranks), cmocka_unit_test(test_missing_server_is_named), cmocka_unit_test(test_no_servers_by_unique_id),
                                     cmocka_unit_test(test_errors)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
