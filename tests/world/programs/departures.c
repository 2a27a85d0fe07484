/* A rank leaves while others still want something of it. argv[1]: how; the ranks that stay check what they get and end with status 0.
 *   exit              it ends with _exit(86) before the first use of a communicator with a timeout of 2 s
 *   stop              it stops itself there
 *   return RANK       that one of 2 ranks returns from main without smddp_finalize, the other finalizes 1 s later
 *   received          rank 1 of 2 finalizes right after its last receive, while rank 0 begins another message
 *   callbacks         the last rank is killed while the others have requests with callbacks
 *   again PORT        the last rank is killed, the others finalize and form a new job at the port, in the same process */
#include "support/rank.h"

#include <signal.h>
#include <unistd.h>

enum { LARGE = 200000, REQUESTS = 4 };

static float *in, *out;

static void leave_before_use(bool stop) {
  smddp_comm_options_t options = SMDDP_INIT_STRUCT(options);
  options.timeout_ms = 2000;
  smddp_comm_t comm = NULL;
  REQUIRE(smddp_comm_split(world, 0, 0, &options, &comm));
  REQUIRE(smddp_barrier(world, NULL));
  if (rank == 0 && stop) raise(SIGSTOP);
  if (rank == 0) _exit(86);
  const double begin = seconds();
  EXPECT_STATUS(stop ? SMDDP_ERR_TIMEOUT : SMDDP_ERR_PEER_GONE, smddp_allreduce(in, out, LARGE, SMDDP_FLOAT32, SMDDP_SUM, comm, NULL));
  EXPECT_SAYS("rank 0 ");
  if (stop) EXPECT_SAYS("stopped");
  EXPECT(seconds() - begin < 4, "it took %.1f s", seconds() - begin);
}

static void finalize_in_time(void) {
  const double begin = seconds();
  const smddp_status_t status = smddp_finalize(world);
  EXPECT(status == SMDDP_SUCCESS || status == SMDDP_ERR_PEER_GONE, "smddp_finalize: %s", smddp_last_error());
  EXPECT(seconds() - begin < 5, "smddp_finalize took %.1f s", seconds() - begin);
}

static void received(void) {
  static char data[1 << 20];
  if (rank == 1) {
    REQUIRE(smddp_recv(data, sizeof data, SMDDP_INT8, 0, 1, world, NULL, NULL));
    return;
  }
  REQUIRE(smddp_send(data, sizeof data, SMDDP_INT8, 1, 1, world, NULL));
  /* Sends are buffered: some may be taken over before the other has left, but not for ever, and an answer never comes. */
  const double begin = seconds();
  smddp_status_t status = SMDDP_SUCCESS;
  while (status == SMDDP_SUCCESS && seconds() - begin < 10) status = smddp_send(data, 100, SMDDP_INT8, 1, 2, world, NULL);
  EXPECT(status == SMDDP_ERR_PEER_GONE, "smddp_send to a rank that has left: %s", smddp_status_string(status));
  EXPECT_SAYS("rank 1 ");
  EXPECT_STATUS(SMDDP_ERR_PEER_GONE, smddp_recv(data, 1, SMDDP_INT8, 1, 3, world, NULL, NULL));
  EXPECT(seconds() - begin < 5, "it took %.1f s to learn that rank 1 has left", seconds() - begin);
}

static volatile int called[REQUESTS];

static void count_call(void *arg, smddp_status_t status) {
  if (status == SMDDP_ERR_PEER_GONE) __atomic_fetch_add((int *)arg, 1, __ATOMIC_SEQ_CST);
  else __atomic_fetch_add((int *)arg, 1000, __ATOMIC_SEQ_CST);
}

static void callbacks(void) {
  if (rank == size - 1) {
    sleep_seconds(0.3);
    raise(SIGKILL);
  }
  smddp_request_t requests[REQUESTS];
  REQUIRE(smddp_allreduce_async(in, out, 1, SMDDP_FLOAT32, SMDDP_SUM, world, NULL, &requests[0]));
  REQUIRE(smddp_allreduce_async(in, out, LARGE, SMDDP_FLOAT32, SMDDP_SUM, world, NULL, &requests[1]));
  REQUIRE(smddp_barrier_async(world, NULL, &requests[2]));
  REQUIRE(smddp_recv_async(out, 1, SMDDP_FLOAT32, size - 1, 5, world, NULL, &requests[3]));
  for (int i = 0; i < REQUESTS; i++) REQUIRE(smddp_request_set_callback(requests[i], count_call, (void *)&called[i]));
  /* Nobody waits: the library itself finds out. */
  const double begin = seconds();
  for (int i = 0; i < REQUESTS; i++) {
    while (!__atomic_load_n(&called[i], __ATOMIC_SEQ_CST) && seconds() - begin < 10) sleep_seconds(0.01);
    EXPECT(called[i] == 1, "callback %d: %d", i, called[i]);
    EXPECT_STATUS(SMDDP_ERR_PEER_GONE, smddp_wait(requests[i], 0));
    char who[32];
    snprintf(who, sizeof who, "rank %d ", size - 1);
    EXPECT(strstr(smddp_request_error(requests[i]), who), "request %d: '%s'", i, smddp_request_error(requests[i]));
    REQUIRE(smddp_request_free(requests[i]));
  }
  EXPECT(seconds() - begin < 5.3, "the callbacks took %.1f s", seconds() - begin);
}

static void again(int port) {
  if (rank == size - 1) raise(SIGKILL);
  EXPECT_STATUS(SMDDP_ERR_PEER_GONE, smddp_allreduce(in, out, LARGE, SMDDP_FLOAT32, SMDDP_SUM, world, NULL));
  finalize_in_time();
  smddp_init_options_t options = SMDDP_INIT_STRUCT(options);
  options.rank = rank;
  options.size = --size;
  options.address = "127.0.0.1";
  options.port = port;
  options.job_id = "again";
  REQUIRE(smddp_init(&options, &world));
  in[0] = in[LARGE - 1] = 1;
  REQUIRE(smddp_allreduce(in, out, LARGE, SMDDP_FLOAT32, SMDDP_SUM, world, NULL));
  EXPECT(out[0] == (float)size && out[LARGE - 1] == (float)size, "sums %g and %g", (double)out[0], (double)out[LARGE - 1]);
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "exit";
  join_job();
  in = zeroed(LARGE * sizeof(float));
  out = zeroed(LARGE * sizeof(float));
  REQUIRE(smddp_allreduce(in, out, 1, SMDDP_FLOAT32, SMDDP_SUM, world, NULL));
  if (!strcmp(how, "exit") || !strcmp(how, "stop")) leave_before_use(!strcmp(how, "stop"));
  else if (!strcmp(how, "received")) received();
  else if (!strcmp(how, "callbacks")) callbacks();
  else if (!strcmp(how, "again")) again((int)argument(argc, argv, 2, 0));
  else if (rank == argument(argc, argv, 2, 1)) return 0;
  else sleep_seconds(1);
  finalize_in_time();
  return 0;
}
