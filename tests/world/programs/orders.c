/* Threads, and calls in different order on different ranks. argv[1]: rounds.
 * Each of 4 threads on a communicator of its own; all on one communicator, where a call is right or refused; asynchronous operations posted
 * in opposite order on two communicators; both ranks sending before they receive. */
#include "support/rank.h"

#include <pthread.h>

enum { THREADS = 4, LARGE = 8 << 20 };

typedef struct worker {
  pthread_t thread;
  smddp_comm_t comm;
  int number;
  long rounds, refused;
} worker_t;

static void *gather_own(void *arg) {
  worker_t *worker = arg;
  int32_t *all = zeroed((size_t)size * 4);
  for (long i = 0; i < worker->rounds; i++) {
    const int32_t own = (int32_t)(i * 1000 + worker->number * 100 + rank);
    REQUIRE(smddp_allgather(&own, all, 1, SMDDP_INT32, worker->comm, NULL));
    for (int r = 0; r < size; r++) {
      EXPECT(all[r] == own - rank + r, "thread %d, round %ld: [%d] is %d, not %d", worker->number, i, r, all[r], own - rank + r);
    }
  }
  free(all);
  return NULL;
}

static void *gather_shared(void *arg) {
  worker_t *worker = arg;
  int32_t *all = zeroed((size_t)size * 4);
  for (long i = 0; i < worker->rounds; i++) {
    const int32_t own = 5000 + rank;
    const smddp_status_t status = smddp_allgather(&own, all, 1, SMDDP_INT32, worker->comm, NULL);
    EXPECT(status == SMDDP_SUCCESS || status == SMDDP_ERR_INVALID_USAGE, "%s", smddp_last_error());
    worker->refused += status == SMDDP_ERR_INVALID_USAGE;
    for (int r = 0; r < size && status == SMDDP_SUCCESS; r++) EXPECT(all[r] == 5000 + r, "[%d] is %d", r, all[r]);
  }
  free(all);
  return NULL;
}

static void run_threads(void *(*function)(void *), worker_t *workers) {
  for (int i = 0; i < THREADS; i++) EXPECT(pthread_create(&workers[i].thread, NULL, function, &workers[i]) == 0, "no thread");
  for (int i = 0; i < THREADS; i++) pthread_join(workers[i].thread, NULL);
}

static void own_communicators(long rounds) {
  worker_t workers[THREADS] = {0};
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (worker_t){.number = i, .rounds = rounds};
    REQUIRE(smddp_comm_dup(world, NULL, &workers[i].comm));
  }
  run_threads(gather_own, workers);
  for (int i = 0; i < THREADS; i++) REQUIRE(smddp_comm_free(workers[i].comm));
}

/* The owner is the thread that comes first; it alone gets through, so the ranks agree on the number of calls. */
static void shared_communicator(long rounds) {
  smddp_comm_t comm = NULL;
  worker_t workers[THREADS] = {0};
  long refused = 0;
  REQUIRE(smddp_comm_dup(world, NULL, &comm));
  int32_t own = 5000 + rank, *all = zeroed((size_t)size * 4);
  REQUIRE(smddp_allgather(&own, all, 1, SMDDP_INT32, comm, NULL));
  for (int i = 0; i < THREADS; i++) workers[i] = (worker_t){.comm = comm, .number = i, .rounds = rounds};
  run_threads(gather_shared, workers);
  for (int i = 0; i < THREADS; i++) refused += workers[i].refused;
  EXPECT(refused == THREADS * rounds, "%ld of %ld calls of threads that do not own the communicator were refused", refused, THREADS * rounds);
  REQUIRE(smddp_allgather(&own, all, 1, SMDDP_INT32, comm, NULL));
  for (int r = 0; r < size; r++) EXPECT(all[r] == 5000 + r, "[%d] is %d", r, all[r]);
  free(all);
  REQUIRE(smddp_comm_free(comm));
}

static void opposite_orders(size_t count) {
  smddp_comm_t comms[2];
  smddp_request_t requests[2];
  float *in[2], *out[2];
  for (int i = 0; i < 2; i++) {
    REQUIRE(smddp_comm_dup(world, NULL, &comms[i]));
    in[i] = zeroed(count * 4);
    out[i] = zeroed(count * 4);
    for (size_t k = 0; k < count; k++) in[i][k] = (float)(i + 1);
  }
  const double begin = seconds();
  for (int k = 0; k < 2; k++) {
    const int i = rank % 2 ? 1 - k : k;
    REQUIRE(smddp_allreduce_async(in[i], out[i], count, SMDDP_FLOAT32, SMDDP_SUM, comms[i], NULL, &requests[i]));
  }
  for (int k = 0; k < 2; k++) {
    const int i = rank % 2 ? 1 - k : k; /* waited for in opposite order, too */
    REQUIRE(smddp_wait(requests[i], 0));
    for (size_t e = 0; e < count; e++) EXPECT(out[i][e] == (float)((i + 1) * size), "comm %d: [%zu] is %g", i, e, (double)out[i][e]);
    REQUIRE(smddp_request_free(requests[i]));
  }
  EXPECT(seconds() - begin < 10, "opposite orders of %zu elements took %.1f s", count, seconds() - begin);
  for (int i = 0; i < 2; i++) {
    REQUIRE(smddp_comm_free(comms[i]));
    free(in[i]);
    free(out[i]);
  }
}

static void both_send_first(void) {
  unsigned char *out = zeroed(LARGE), *in = zeroed(LARGE);
  memset(out, rank + 1, LARGE);
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  const double begin = seconds();
  REQUIRE(smddp_send(out, LARGE, SMDDP_UINT8, next, 3, world, NULL));
  REQUIRE(smddp_recv(in, LARGE, SMDDP_UINT8, previous, 3, world, NULL, NULL));
  for (size_t i = 0; i < LARGE; i++) EXPECT(in[i] == previous + 1, "byte %zu is %d", i, in[i]);
  EXPECT(seconds() - begin < 10, "sending first took %.1f s", seconds() - begin);
  free(out);
  free(in);
}

int main(int argc, char **argv) {
  const long rounds = argument(argc, argv, 1, 200);
  join_job();
  own_communicators(rounds);
  shared_communicator(rounds);
  for (int i = 0; i < 5; i++) {
    opposite_orders(1);
    opposite_orders(1000);
    opposite_orders(1000000);
    both_send_first();
  }
  REQUIRE(smddp_finalize(world));
  return 0;
}
