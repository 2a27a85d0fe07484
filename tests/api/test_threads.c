/* The thread rule of smddp(7): who may call collectives. */
#include "ranks.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 4, ROUNDS = 200 };

/* A thread of a rank, with the communicator that it uses and the tally of what it saw. */
typedef struct worker {
  rank_t *rank;
  smddp_comm_t comm;
  int number, right, swapped, refused, other;
  pthread_barrier_t *start;
} worker_t;

static void *gather_many(void *argument) {
  worker_t *w = argument;
  if (w->start) pthread_barrier_wait(w->start);
  for (int round = 0; round < ROUNDS; round++) {
    const int mine = w->rank->number * 1000000 + w->number * 10000 + round;
    int all[MAX_RANKS] = {0};
    const smddp_status_t status = smddp_allgather(&mine, all, 1, SMDDP_INT32, w->comm, NULL);
    if (status == SMDDP_ERR_INVALID_USAGE) {
      w->refused++;
    } else if (status != SMDDP_SUCCESS) {
      w->other++;
    } else {
      bool right = true;
      for (int r = 0; r < w->rank->size; r++) right = right && all[r] == r * 1000000 + w->number * 10000 + round;
      *(right ? &w->right : &w->swapped) += 1;
    }
  }
  return NULL;
}

/* One communicator for each thread: all are right. */
static void own_communicators(rank_t *rank) {
  pthread_t threads[THREADS];
  worker_t workers[THREADS];
  memset(workers, 0, sizeof workers);
  for (int i = 0; i < THREADS; i++) {
    workers[i].rank = rank;
    workers[i].number = i;
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_dup(rank->world, NULL, &workers[i].comm));
  }
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, gather_many, &workers[i]);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++) {
    CHECK(rank, workers[i].right == ROUNDS, "thread %d: %d right, %d swapped, %d refused, %d others", i, workers[i].right,
          workers[i].swapped, workers[i].refused, workers[i].other);
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_free(workers[i].comm));
  }
}

static void test_own_communicators(void **state) {
  (void)state;
  assert_ranks(2, own_communicators, NULL);
  assert_ranks(3, own_communicators, NULL);
}

/* One communicator for all threads, which belongs to one of them: the owner is right, the others are refused. */
static void owned(rank_t *rank) {
  pthread_t threads[THREADS];
  worker_t workers[THREADS];
  memset(workers, 0, sizeof workers);
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_barrier(rank->world, NULL)); /* this thread owns it now */
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (worker_t){.rank = rank, .comm = rank->world, .number = i};
    if (i) pthread_create(&threads[i], NULL, gather_many, &workers[i]);
  }
  gather_many(&workers[0]);
  for (int i = 1; i < THREADS; i++) pthread_join(threads[i], NULL);
  CHECK(rank, workers[0].right == ROUNDS, "the owner: %d right, %d swapped, %d refused, %d others", workers[0].right, workers[0].swapped,
        workers[0].refused, workers[0].other);
  for (int i = 1; i < THREADS; i++)
    CHECK(rank, workers[i].refused == ROUNDS, "thread %d: %d refused of %d", i, workers[i].refused, ROUNDS);
}

/* When its owner has ended, another thread may take it. */
static void handed_on(rank_t *rank) {
  for (int i = 0; i < 3; i++) {
    pthread_t thread;
    worker_t worker = {.rank = rank, .comm = rank->world, .number = i};
    pthread_create(&thread, NULL, gather_many, &worker);
    pthread_join(thread, NULL);
    CHECK(rank, worker.right == ROUNDS, "thread %d: %d right, %d swapped, %d refused, %d others", i, worker.right, worker.swapped,
          worker.refused, worker.other);
  }
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_barrier(rank->world, NULL));
}

static void test_owned(void **state) {
  (void)state;
  assert_ranks(2, owned, NULL);
  assert_ranks(2, handed_on, NULL);
}

/* Ordered: any thread, one after the other. */
static void one_after_the_other(rank_t *rank) {
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_barrier(rank->world, NULL));
  handed_on(rank);
}

/* Ordered: of two calls at the same time the second one is refused. */
static void *barrier_call(void *argument) {
  worker_t *w = argument;
  const smddp_status_t status = smddp_barrier(w->comm, NULL);
  if (status == SMDDP_SUCCESS) w->right++;
  else w->other++;
  return NULL;
}

static void at_the_same_time(rank_t *rank) {
  if (rank->number == 0) {
    pthread_t thread;
    worker_t worker = {.rank = rank, .comm = rank->world};
    pthread_create(&thread, NULL, barrier_call, &worker);
    sleep_ms(200); /* it waits for the other rank */
    float value = 1;
    const smddp_status_t status = smddp_allreduce(&value, &value, 1, SMDDP_FLOAT32, SMDDP_SUM, rank->world, NULL);
    char sentence[200];
    snprintf(sentence, sizeof sentence, "%s", smddp_last_error());
    meet(rank);
    pthread_join(thread, NULL);
    CHECK(rank, status == SMDDP_ERR_INVALID_USAGE, "the second call: %s (%s)", smddp_status_string(status), sentence);
    CHECK(rank, worker.right == 1, "the first call failed");
  } else {
    CHECK_CALL(rank, meet(rank));
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_barrier(rank->world, NULL));
  }
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_barrier(rank->world, NULL)); /* the refused call changed nothing */
}

static void test_ordered(void **state) {
  (void)state;
  smddp_init_options_t options = SMDDP_INIT_STRUCT(options);
  options.thread_mode = SMDDP_THREAD_ORDERED;
  const char *faults = run_ranks(2, one_after_the_other, NULL, &options);
  if (faults) fail_msg("%s", faults);
  faults = run_ranks(2, at_the_same_time, NULL, &options);
  if (faults) fail_msg("%s", faults);
}

/* Many threads at once on one ordered communicator: each result is right or refused, never swapped. */
static void never_swapped(rank_t *rank) {
  pthread_t threads[THREADS];
  worker_t workers[THREADS];
  pthread_barrier_t start;
  pthread_barrier_init(&start, NULL, THREADS);
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (worker_t){.rank = rank, .comm = rank->world, .number = i, .start = &start};
    pthread_create(&threads[i], NULL, gather_many, &workers[i]);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&start);
  for (int i = 0; i < THREADS; i++)
    CHECK(rank, workers[i].swapped == 0, "thread %d: %d right, %d swapped, %d refused, %d others", i, workers[i].right, workers[i].swapped,
          workers[i].refused, workers[i].other);
}

static void test_never_swapped(void **state) {
  (void)state;
  smddp_init_options_t options = SMDDP_INIT_STRUCT(options);
  options.timeout_ms = 10000;
  const char *faults = run_ranks(1, never_swapped, NULL, &options); /* owned: the threads race to be the owner */
  if (faults) fail_msg("%s", faults);
  options.thread_mode = SMDDP_THREAD_ORDERED;
  faults = run_ranks(1, never_swapped, NULL, &options);
  if (faults) fail_msg("%s", faults);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_own_communicators), cmocka_unit_test(test_owned), cmocka_unit_test(test_ordered),
                                     cmocka_unit_test(test_never_swapped)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
