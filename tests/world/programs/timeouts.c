/* Deadlines: rank 0 calls, the others never do until it is done. The deadline that holds is the nearest: of the call, of the communicator
 * as it was made or changed since, of the environment (SMDDP_TIMEOUT_MS=1500). Huge ones are waits, negative ones are refused. */
#include "calls.h"
#include "support/rank.h"

enum { COMMS = 9, COUNT = 300000 };

static smddp_comm_t comms[COMMS];
static float *buffers[2];

static void expect_after(int number, double expected, int64_t call_ms, size_t count, bool async) {
  smddp_call_options_t options = SMDDP_INIT_STRUCT(options);
  options.timeout_ms = call_ms;
  const call_t call = {ALLREDUCE, buffers[0], buffers[1], count, SMDDP_FLOAT32, SMDDP_SUM, 0};
  const double begin = seconds();
  const smddp_status_t status = async ? call_and_wait(&call, comms[number], &options) : call_blocking(&call, comms[number], &options);
  const double took = seconds() - begin;
  EXPECT(status == SMDDP_ERR_TIMEOUT, "case %d: %s (%s)", number, smddp_status_string(status), smddp_last_error());
  EXPECT(took > expected - 0.02 && took < expected + 0.8, "case %d: timed out after %.3f s, not %.1f", number, took, expected);
  EXPECT_SAYS("rank 1 has not called it");
  EXPECT_STATUS(SMDDP_ERR_TIMEOUT, smddp_comm_status(comms[number]));
}

static void refuse_negative(smddp_comm_t comm) {
  smddp_call_options_t call = SMDDP_INIT_STRUCT(call);
  smddp_request_t request = NULL;
  call.timeout_ms = -1;
  EXPECT_STATUS(SMDDP_ERR_INVALID_ARGUMENT, smddp_barrier(comm, &call));
  EXPECT_SAYS("-1");
  EXPECT_STATUS(SMDDP_ERR_INVALID_ARGUMENT, smddp_barrier_async(comm, &call, &request));
  EXPECT_STATUS(SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_set_timeout(comm, -1));
  EXPECT_STATUS(SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_set_timeout(comm, INT64_MIN));
}

static void wait_long(int number, int64_t timeout_ms, smddp_request_t *request) {
  smddp_call_options_t options = SMDDP_INIT_STRUCT(options);
  options.timeout_ms = timeout_ms;
  REQUIRE(smddp_barrier_async(comms[number], &options, request));
}

int main(void) {
  join_job();
  for (int i = 0; i < 2; i++) buffers[i] = zeroed(COUNT * sizeof(float));
  for (int i = 0; i < COMMS; i++) {
    smddp_comm_options_t options = SMDDP_INIT_STRUCT(options);
    options.timeout_ms = i == 0 || i == 1 || i == 2 ? 1000 : 0;
    REQUIRE(smddp_comm_dup(world, &options, &comms[i]));
  }
  smddp_request_t long_waits[2] = {NULL};
  if (rank == 0) {
    wait_long(6, INT64_C(1) << 31, &long_waits[0]);
    wait_long(7, SMDDP_TIMEOUT_INFINITE, &long_waits[1]);
    const double begin = seconds();
    expect_after(0, 0.1, 100, 1, false);
    expect_after(1, 1.0, 0, COUNT, false);
    expect_after(2, 1.0, 0, 1, true);
    REQUIRE(smddp_comm_set_timeout(comms[3], 1000));
    expect_after(3, 1.0, 0, 1, false);
    expect_after(4, 1.5, 0, 1, false);
    REQUIRE(smddp_comm_set_timeout(comms[5], 200));
    REQUIRE(smddp_comm_set_timeout(comms[5], SMDDP_TIMEOUT_DEFAULT));
    expect_after(5, 1.5, 0, COUNT, true);
    refuse_negative(comms[8]);
    if (seconds() - begin < 3) sleep_seconds(3 - (seconds() - begin));
    for (int i = 0; i < 2; i++) {
      int done = 1;
      REQUIRE(smddp_test(long_waits[i], &done));
      EXPECT(!done, "the long wait %d ended", i);
      EXPECT_STATUS(SMDDP_ERR_TIMEOUT, smddp_wait(long_waits[i], 50)); /* of this wait alone */
    }
    REQUIRE(smddp_send(NULL, 0, SMDDP_INT8, 1, 0, world, NULL));
  } else {
    smddp_call_options_t forever = SMDDP_INIT_STRUCT(forever);
    forever.timeout_ms = SMDDP_TIMEOUT_INFINITE;
    REQUIRE(smddp_recv(NULL, 0, SMDDP_INT8, 0, 0, world, &forever, NULL));
    /* This rank comes too late to those that failed. */
    for (int i = 0; i < 6; i++) EXPECT_STATUS(SMDDP_ERR_TIMEOUT, smddp_barrier(comms[i], NULL));
    for (int i = 6; i < 8; i++) REQUIRE(smddp_barrier(comms[i], NULL));
  }
  for (int i = 0; i < 2; i++) {
    if (long_waits[i]) REQUIRE(smddp_wait(long_waits[i], 0));
    REQUIRE(smddp_request_free(long_waits[i]));
  }
  REQUIRE(smddp_barrier(comms[8], NULL));
  REQUIRE(smddp_finalize(world));
  return 0;
}
