/* smddp_init(3) */
#include "ranks.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static smddp_init_options_t one_rank(void) {
  smddp_init_options_t options = SMDDP_INIT_STRUCT(options);
  options.size = 1;
  options.timeout_ms = 5000;
  return options;
}

static void refuse(const smddp_init_options_t *options, const char *words) {
  smddp_comm_t world = (smddp_comm_t)(void *)&world;
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_init(options, &world));
  assert_true(world == NULL || world == (smddp_comm_t)(void *)&world);
  if (!strstr(smddp_last_error(), words)) fail_msg("'%s' is not in '%s'", words, smddp_last_error());
}

static void test_wrong_options(void **state) {
  (void)state;
  smddp_init_options_t options = one_rank();
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_init(&options, NULL));
  options.struct_size = 0;
  refuse(&options, "struct_size");
  options = one_rank();
  options.size = -3;
  refuse(&options, "-3");
  options = one_rank();
  options.rank = 1;
  refuse(&options, "rank");
  options.rank = -1;
  refuse(&options, "-1");
  options = one_rank();
  options.size = 2; /* one rank needs no port */
  options.address = "127.0.0.1";
  options.port = 70000;
  refuse(&options, "70000");
  options.port = -1;
  refuse(&options, "port");
  options = one_rank();
  options.timeout_ms = -7;
  refuse(&options, "-7");
  options = one_rank();
  options.thread_mode = 9;
  refuse(&options, "thread_mode");
  smddp_unique_id_t id;
  memset(&id, 'x', sizeof id);
  options = one_rank();
  options.unique_id = &id; /* bytes that are no id */
  options.size = 2;
  refuse(&options, "unique_id");
  assert_status(SMDDP_SUCCESS, smddp_unique_id_create(&id));
  options.size = 0; /* an id needs rank and size */
  refuse(&options, "size");
}

static void test_alone(void **state) {
  (void)state;
  smddp_comm_t world = NULL;
  assert_status(SMDDP_SUCCESS, smddp_init(NULL, &world)); /* no launcher: one rank */
  int rank = -1, size = -1;
  assert_status(SMDDP_SUCCESS, smddp_comm_rank(world, &rank));
  assert_status(SMDDP_SUCCESS, smddp_comm_size(world, &size));
  assert_int_equal(rank, 0);
  assert_int_equal(size, 1);
  assert_status(SMDDP_SUCCESS, smddp_finalize(world));
}

/* Several contexts in one process, and starting again. */
static void test_contexts(void **state) {
  (void)state;
  smddp_comm_t a = single_rank(), b = single_rank();
  assert_ptr_not_equal(a, b);
  assert_status(SMDDP_SUCCESS, smddp_finalize(a));
  int value = 3;
  assert_status(SMDDP_SUCCESS, smddp_allreduce(&value, &value, 1, SMDDP_INT32, SMDDP_SUM, b, NULL));
  assert_int_equal(value, 3);
  assert_status(SMDDP_SUCCESS, smddp_finalize(b));
  for (int i = 0; i < 20; i++) assert_status(SMDDP_SUCCESS, smddp_finalize(single_rank()));
}

/* A rank that does not come is named when the deadline passes. */
static void test_missing_rank(void **state) {
  (void)state;
  smddp_unique_id_t id;
  assert_status(SMDDP_SUCCESS, smddp_unique_id_create(&id));
  smddp_init_options_t options = SMDDP_INIT_STRUCT(options);
  options.size = 3;
  options.unique_id = &id;
  options.timeout_ms = 700;
  smddp_comm_t world = (smddp_comm_t)(void *)&id;
  const int64_t start = now_ms();
  assert_status(SMDDP_ERR_TIMEOUT, smddp_init(&options, &world));
  const int64_t took = now_ms() - start;
  assert_true(world == NULL || world == (smddp_comm_t)(void *)&id);
  if (took < 600 || took > 3000) fail_msg("gave up after %lld ms instead of 700", (long long)took);
  assert_non_null(strstr(smddp_last_error(), "1"));
  assert_non_null(strstr(smddp_last_error(), "2"));
}

/* Ranks of which one has another idea of the job: no rank waits, and the cause is named. */
typedef struct starter {
  smddp_init_options_t options;
  smddp_status_t status;
  int64_t took_ms;
  char sentence[512];
} starter_t;

static void *start(void *argument) {
  starter_t *starter = argument;
  smddp_comm_t world;
  const int64_t before = now_ms();
  starter->status = smddp_init(&starter->options, &world);
  starter->took_ms = now_ms() - before;
  if (starter->status == SMDDP_SUCCESS) smddp_finalize(world);
  else snprintf(starter->sentence, sizeof starter->sentence, "%s", smddp_last_error());
  return NULL;
}

static void start_together(starter_t *starters, int count) {
  pthread_t threads[4];
  for (int i = 0; i < count; i++) assert_int_equal(pthread_create(&threads[i], NULL, start, &starters[i]), 0);
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

/* All of them are checked before the ranks meet. */
static void test_wrong_variables(void **state) {
  (void)state;
  static const char *const wrong[][2] = {{"SMDDP_TIMEOUT_MS", "soon"},   {"SMDDP_TIMEOUT_MS", "0"},    {"SMDDP_EAGER_BYTES", "99999"},
                                         {"SMDDP_THREAD_MODE", "both"},  {"SMDDP_SPIN_US", "-2"},      {"SMDDP_YIELD_US", "1.5"},
                                         {"SMDDP_PROGRESS_THREAD", "1"}, {"SMDDP_HEAP_BYTES", "much"}, {"SMDDP_P2P_BUFFER_BYTES", "1"}};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    smddp_unique_id_t id;
    assert_status(SMDDP_SUCCESS, smddp_unique_id_create(&id));
    starter_t starters[2];
    memset(starters, 0, sizeof starters);
    for (int r = 0; r < 2; r++) {
      starters[r].options = (smddp_init_options_t)SMDDP_INIT_STRUCT(starters[r].options);
      starters[r].options.rank = r;
      starters[r].options.size = 2;
      starters[r].options.unique_id = &id;
    }
    assert_int_equal(setenv(wrong[i][0], wrong[i][1], 1), 0);
    start_together(starters, 2);
    assert_int_equal(unsetenv(wrong[i][0]), 0);
    for (int r = 0; r < 2; r++) {
      if (starters[r].status != SMDDP_ERR_INVALID_ARGUMENT || !strstr(starters[r].sentence, wrong[i][0]) ||
          !strstr(starters[r].sentence, wrong[i][1]))
        fail_msg("%s=%s, rank %d: %s (%s)", wrong[i][0], wrong[i][1], r, smddp_status_string(starters[r].status), starters[r].sentence);
    }
  }
}

static int clear_environment(void **state) {
  (void)state;
  static const char *const set[] = {"SMDDP_TIMEOUT_MS", "SMDDP_EAGER_BYTES", "SMDDP_THREAD_MODE", "SMDDP_SPIN_US",
                                    "SMDDP_YIELD_US",   "SMDDP_PROGRESS_THREAD", "SMDDP_HEAP_BYTES", "SMDDP_P2P_BUFFER_BYTES"};
  for (size_t i = 0; i < sizeof set / sizeof set[0]; i++) unsetenv(set[i]);
  return 0;
}

static void test_duplicate_rank(void **state) {
  (void)state;
  smddp_unique_id_t id;
  assert_status(SMDDP_SUCCESS, smddp_unique_id_create(&id));
  starter_t starters[3];
  memset(starters, 0, sizeof starters);
  for (int i = 0; i < 3; i++) {
    starters[i].options = (smddp_init_options_t)SMDDP_INIT_STRUCT(starters[i].options);
    starters[i].options.unique_id = &id;
    starters[i].options.size = 3;
    starters[i].options.rank = i ? 1 : 0; /* 0, 1, 1 */
    starters[i].options.timeout_ms = 6000;
  }
  start_together(starters, 3);
  /* The second rank 1 is told at once, the others miss rank 2 until their deadline. */
  starter_t *second = strncmp(starters[1].sentence, "duplicate", 9) == 0 ? &starters[1] : &starters[2];
  if (second->status != SMDDP_ERR_BOOTSTRAP || strncmp(second->sentence, "duplicate rank 1", 16) != 0 || second->took_ms >= 5000 ||
      starters[0].status != SMDDP_ERR_TIMEOUT || !strstr(starters[0].sentence, "2"))
    fail_msg("rank 0: %s\nrank 1: %s\nand %s", starters[0].sentence, starters[1].sentence, starters[2].sentence);
}

static void test_different_sizes(void **state) {
  (void)state;
  smddp_unique_id_t id;
  assert_status(SMDDP_SUCCESS, smddp_unique_id_create(&id));
  starter_t starters[2];
  memset(starters, 0, sizeof starters);
  for (int i = 0; i < 2; i++) {
    starters[i].options = (smddp_init_options_t)SMDDP_INIT_STRUCT(starters[i].options);
    starters[i].options.unique_id = &id;
    starters[i].options.size = i ? 3 : 2;
    starters[i].options.rank = i;
    starters[i].options.timeout_ms = 3000;
  }
  start_together(starters, 2);
  assert_int_equal(starters[1].status, SMDDP_ERR_BOOTSTRAP);
  if (!strstr(starters[1].sentence, "number of ranks differs")) fail_msg("'%s'", starters[1].sentence);
  assert_int_not_equal(starters[0].status, SMDDP_SUCCESS);
}

/* Ranks meet at an address and port that the options give. */
static void test_address_and_port(void **state) {
  (void)state;
  starter_t starters[2];
  for (int tries = 0; tries < 3; tries++) {
    const int port = free_port();
    memset(starters, 0, sizeof starters);
    for (int i = 0; i < 2; i++) {
      starters[i].options = (smddp_init_options_t)SMDDP_INIT_STRUCT(starters[i].options);
      starters[i].options.rank = i;
      starters[i].options.size = 2;
      starters[i].options.address = "127.0.0.1";
      starters[i].options.port = port;
      starters[i].options.job_id = "api test";
      starters[i].options.timeout_ms = 20000;
    }
    start_together(starters, 2);
    if (starters[0].status == SMDDP_SUCCESS) break;
    assert_non_null(strstr(starters[0].sentence, "in use")); /* somebody else was quicker */
  }
  for (int i = 0; i < 2; i++)
    if (starters[i].status != SMDDP_SUCCESS) fail_msg("rank %d: %s", i, starters[i].sentence);
}

/* The port is in use by somebody who is no rank: rank 0 says so at once. */
static void test_port_in_use(void **state) {
  (void)state;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(bind(fd, (struct sockaddr *)&address, length), 0);
  assert_int_equal(listen(fd, 5), 0);
  assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
  smddp_init_options_t options = SMDDP_INIT_STRUCT(options);
  options.size = 2;
  options.address = "127.0.0.1";
  options.port = ntohs(address.sin_port);
  options.timeout_ms = 20000;
  smddp_comm_t world = NULL;
  const int64_t before = now_ms();
  assert_status(SMDDP_ERR_BOOTSTRAP, smddp_init(&options, &world));
  assert_true(now_ms() - before < 2000 * TEST_SLOWNESS);
  char port[16];
  snprintf(port, sizeof port, "%d", options.port);
  assert_non_null(strstr(smddp_last_error(), port));
  assert_non_null(strstr(smddp_last_error(), "in use"));
  close(fd);
}

static bool grandchild_sees(const double *block, double value) {
  const pid_t child = fork();
  if (child == 0) _exit(*block == value ? 0 : 1);
  int status = -1;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* A forked child has no context, and its parent does not notice what it does. */
static void fork_children(rank_t *rank) {
  double value = 1;
  CHECK_CALL(rank, meet(rank));
  if (rank->number == 0) {
    double *block = NULL;
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_alloc(rank->world, sizeof *block, (void **)&block));
    *block = 7;
    const pid_t child = fork();
    if (child == 0) {
      int number = 0;
      void *pointer = NULL;
      smddp_request_t request = NULL;
      smddp_comm_t world = NULL;
      const bool refused =
          smddp_allreduce(&value, &value, 1, SMDDP_FLOAT64, SMDDP_SUM, rank->world, NULL) == SMDDP_ERR_INVALID_USAGE &&
          strstr(smddp_last_error(), "fork") != NULL &&
          smddp_barrier_async(rank->world, NULL, &request) == SMDDP_ERR_INVALID_USAGE &&
          smddp_send(&value, 1, SMDDP_FLOAT64, 1, 0, rank->world, NULL) == SMDDP_ERR_INVALID_USAGE &&
          smddp_comm_rank(rank->world, &number) == SMDDP_ERR_INVALID_USAGE &&
          smddp_alloc(rank->world, 100, &pointer) == SMDDP_ERR_INVALID_USAGE &&
          smddp_comm_world(&world) == SMDDP_ERR_INVALID_USAGE && smddp_finalize(rank->world) == SMDDP_ERR_INVALID_USAGE &&
          *block == 7 && (*block = 8) && grandchild_sees(block, 8) &&
          smddp_free(block) == SMDDP_SUCCESS; /* its own copy; nothing is given back */
      _exit(refused ? 0 : 1);
    }
    int status = -1;
    CHECK(rank, waitpid(child, &status, 0) == child && WIFEXITED(status), "the child ended with status 0x%x", (unsigned)status);
    CHECK(rank, WEXITSTATUS(status) == 0, "a call of the child was not refused as forked");
    CHECK(rank, *block == 7, "the child changed memory of its parent to %g", *block);
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_free(block));
  }
  for (int i = 0; i < 100; i++) {
    value = 1;
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(&value, &value, 1, SMDDP_FLOAT64, SMDDP_SUM, rank->world, NULL));
    CHECK(rank, value == rank->size, "sum %g after the fork", value);
  }
}

static void test_fork(void **state) {
  (void)state;
  assert_ranks(2, fork_children, NULL);
}

int main(void) {
  static const char *const launcher[] = {"RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", "SMDDP_RANK"};
  for (size_t i = 0; i < sizeof launcher / sizeof launcher[0]; i++) unsetenv(launcher[i]);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_wrong_options), cmocka_unit_test_teardown(test_wrong_variables, clear_environment), cmocka_unit_test(test_alone),
      cmocka_unit_test(test_contexts),      cmocka_unit_test(test_missing_rank),    cmocka_unit_test(test_duplicate_rank),
      cmocka_unit_test(test_different_sizes), cmocka_unit_test(test_address_and_port), cmocka_unit_test(test_port_in_use),
      cmocka_unit_test(test_fork)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
