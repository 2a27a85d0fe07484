/* Rank 0 … size − 1 run into one kind of fault and say what each of them gets. argv[1]: the fault; argv[2]: elements; argv[3]: the odd rank,
 * else the last. Says "got STATUS SENTENCE" and ends with status 0 after smddp_finalize; for rejoin, an abort, after a second job in the
 * same process. */
#include "support/rank.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static size_t count;
static char *in, *out;

static smddp_status_t right(void) { return smddp_allreduce(in, out, count, SMDDP_FLOAT32, SMDDP_SUM, world, NULL); }

/* What a rank needs for its call may have come before the others gave up; then its next call tells. */
static smddp_status_t right_or_next(void) {
  const smddp_status_t status = right();
  return status == SMDDP_SUCCESS ? smddp_barrier(world, NULL) : status;
}

static smddp_status_t other(const char *fault) {
  if (!strcmp(fault, "count")) return smddp_allreduce(in, out, count / 2 + 1, SMDDP_FLOAT32, SMDDP_SUM, world, NULL);
  if (!strcmp(fault, "dtype")) return smddp_allreduce(in, out, count, SMDDP_INT32, SMDDP_SUM, world, NULL);
  if (!strcmp(fault, "op")) return smddp_allreduce(in, out, count, SMDDP_FLOAT32, SMDDP_MAX, world, NULL);
  if (!strcmp(fault, "collective")) return smddp_allgather(in, out, count, SMDDP_FLOAT32, world, NULL);
  if (!strcmp(fault, "order")) {
    const smddp_status_t status = smddp_reduce_scatter(in, out, count, SMDDP_FLOAT32, SMDDP_SUM, world, NULL);
    return status == SMDDP_SUCCESS ? right() : status;
  }
  if (!strcmp(fault, "late")) {
    sleep_seconds(2.5);
    return right_or_next();
  }
  if (!strcmp(fault, "stop")) {
    raise(SIGSTOP);
    return right_or_next();
  }
  die(__FILE__, __LINE__, "no fault '%s'", fault);
}

static smddp_status_t usual(const char *fault) {
  const smddp_status_t status = right();
  if (status != SMDDP_SUCCESS || strcmp(fault, "order") != 0) return status;
  return smddp_reduce_scatter(in, out, count, SMDDP_FLOAT32, SMDDP_SUM, world, NULL);
}

static smddp_status_t root_differs(void) {
  /* Each believes to be the root, so nobody waits for anybody; the barrier tells. */
  const smddp_status_t status = smddp_broadcast(in, count, SMDDP_FLOAT32, rank % 2, world, NULL);
  return status == SMDDP_SUCCESS ? smddp_barrier(world, NULL) : status;
}

static void *aborter(void *arg) {
  sleep_seconds(0.3);
  REQUIRE(smddp_comm_abort(world, arg));
  return NULL;
}

static smddp_status_t aborted(void) {
  /* Rank 0 waits in a collective that the others never call; another of its threads gives up. */
  if (rank != 0) return smddp_recv(in, count, SMDDP_FLOAT32, 0, 7, world, NULL, NULL);
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, aborter, "enough waited") == 0, "no thread");
  const smddp_status_t status = right();
  pthread_join(thread, NULL);
  return status;
}

int main(int argc, char **argv) {
  const char *fault = argc > 1 ? argv[1] : "count";
  count = (size_t)argument(argc, argv, 2, 1);
  join_job();
  const int odd = (int)argument(argc, argv, 3, size - 1);
  const bool rejoins = !strcmp(fault, "rejoin");
  in = zeroed((count + 2) * 4 * (size_t)size);
  out = zeroed((count + 2) * 4 * (size_t)size);
  REQUIRE(smddp_comm_set_timeout(world, !strcmp(fault, "late") || !strcmp(fault, "stop") ? 1000 : 60000));
  /* Whoever is quick may have broken the world while others are still in their last right call. */
  smddp_status_t status = SMDDP_SUCCESS;
  for (int i = 0; i < 5 && status == SMDDP_SUCCESS; i++) status = right();
  if (status == SMDDP_SUCCESS) status = !strcmp(fault, "root")    ? root_differs()
                                : !strcmp(fault, "abort") || rejoins ? aborted()
                                : rank == odd           ? other(fault)
                                                        : usual(fault);
  say("got %s %s", smddp_status_string(status), smddp_last_error());
  EXPECT(smddp_barrier(world, NULL) == status, "a later call gives another error: %s", smddp_last_error());
  const double begin = seconds();
  REQUIRE(smddp_finalize(world));
  EXPECT(seconds() - begin < 5, "smddp_finalize took %.1f s", seconds() - begin);
  if (!rejoins) return 0;
  join_job();
  REQUIRE(right());
  REQUIRE(smddp_finalize(world));
  return 0;
}
