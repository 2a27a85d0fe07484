#include "ranks.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct run {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int size, arrived, round;
  bool broken; /* a rank failed: nobody should wait for it */
  rank_function_t function;
  const smddp_init_options_t *options;
  smddp_unique_id_t id;
};

int64_t now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

void sleep_ms(int milliseconds) {
  struct timespec time = {milliseconds / 1000, (milliseconds % 1000) * 1000000L};
  while (nanosleep(&time, &time) != 0) {
  }
}

void set_fault(rank_t *rank, const char *file, int line, const char *pattern, ...) {
  if (rank->fault[0]) return;
  const char *name = strrchr(file, '/');
  int length = snprintf(rank->fault, sizeof rank->fault, "%s:%d: ", name ? name + 1 : file, line);
  va_list arguments;
  va_start(arguments, pattern);
  vsnprintf(rank->fault + length, sizeof rank->fault - (size_t)length, pattern, arguments);
  va_end(arguments);
  pthread_mutex_lock(&rank->run->mutex);
  rank->run->broken = true;
  pthread_cond_broadcast(&rank->run->changed);
  pthread_mutex_unlock(&rank->run->mutex);
}

bool status_is(rank_t *rank, const char *file, int line, const char *call, smddp_status_t status, smddp_status_t expected) {
  if (status != expected) {
    set_fault(rank, file, line, "%s: %s (%s), expected %s", call, smddp_status_string(status),
              status == SMDDP_SUCCESS ? "" : smddp_last_error(), smddp_status_string(expected));
  } else if (status != SMDDP_SUCCESS && !smddp_last_error()[0]) {
    set_fault(rank, file, line, "%s: %s without a sentence", call, smddp_status_string(status));
  }
  return rank->fault[0] == '\0';
}

void meet(rank_t *rank) {
  struct run *run = rank->run;
  pthread_mutex_lock(&run->mutex);
  const int round = run->round;
  if (++run->arrived == run->size) {
    run->arrived = 0;
    run->round++;
    pthread_cond_broadcast(&run->changed);
  }
  while (run->round == round && !run->broken) pthread_cond_wait(&run->changed, &run->mutex);
  const bool met = run->round != round;
  pthread_mutex_unlock(&run->mutex);
  if (!met) set_fault(rank, __FILE__, __LINE__, "another rank failed");
}

/* The others wait for this rank no longer. */
static void depart(struct run *run) {
  pthread_mutex_lock(&run->mutex);
  if (--run->size == run->arrived) {
    run->arrived = 0;
    run->round++;
    pthread_cond_broadcast(&run->changed);
  }
  pthread_mutex_unlock(&run->mutex);
}

static void *rank_thread(void *argument) {
  rank_t *rank = argument;
  struct run *run = rank->run;
  smddp_init_options_t options = SMDDP_INIT_STRUCT(options);
  options.rank = rank->number;
  options.size = rank->size;
  options.unique_id = &run->id;
  options.timeout_ms = run->options && run->options->timeout_ms ? run->options->timeout_ms : TEST_TIMEOUT_MS;
  options.thread_mode = run->options ? run->options->thread_mode : 0;
  if (!status_is(rank, __FILE__, __LINE__, "smddp_init", smddp_init(&options, &rank->world), SMDDP_SUCCESS)) return NULL;
  run->function(rank);
  /* Tests that end a rank early finalize it and set world to NULL; the others leave together. */
  if (!rank->world) depart(run);
  else if (!rank->fault[0]) meet(rank);
  if (rank->world) status_is(rank, __FILE__, __LINE__, "smddp_finalize", smddp_finalize(rank->world), SMDDP_SUCCESS);
  return NULL;
}

const char *run_ranks(int size, rank_function_t function, void *arg, const smddp_init_options_t *options) {
  static char faults[MAX_RANKS * 1100];
  static rank_t ranks[MAX_RANKS];
  struct run run = {.size = size, .function = function, .options = options};
  pthread_t threads[MAX_RANKS];
  if (size > MAX_RANKS) return "too many ranks";
  if (smddp_unique_id_create(&run.id) != SMDDP_SUCCESS) return smddp_last_error();
  pthread_mutex_init(&run.mutex, NULL);
  pthread_cond_init(&run.changed, NULL);
  for (int i = 0; i < size; i++) {
    ranks[i] = (rank_t){.number = i, .size = size, .arg = arg, .run = &run};
    if (pthread_create(&threads[i], NULL, rank_thread, &ranks[i]) != 0) abort();
  }
  for (int i = 0; i < size; i++) pthread_join(threads[i], NULL);
  pthread_cond_destroy(&run.changed);
  pthread_mutex_destroy(&run.mutex);
  size_t length = 0;
  for (int i = 0; i < size; i++) {
    if (ranks[i].fault[0])
      length += (size_t)snprintf(faults + length, sizeof faults - length, "  rank %d: %s\n", i, ranks[i].fault);
  }
  return length ? faults : NULL;
}

smddp_comm_t single_rank(void) {
  smddp_init_options_t options = SMDDP_INIT_STRUCT(options);
  options.size = 1;
  options.timeout_ms = TEST_TIMEOUT_MS;
  smddp_comm_t world = NULL;
  assert_status(SMDDP_SUCCESS, smddp_init(&options, &world));
  assert_non_null(world);
  return world;
}

int free_port(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  assert_true(fd >= 0);
  assert_int_equal(bind(fd, (struct sockaddr *)&address, length), 0);
  assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
  close(fd);
  return ntohs(address.sin_port);
}
