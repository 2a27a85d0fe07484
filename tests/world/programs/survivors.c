/* Rank 0 waits to be killed; the others, a communicator of their own, go on without it until another one of them dies too.
 * Says "ready"; then "world TIME STATUS SENTENCE" when the world is broken; "on" after a second of work among the others; "rest TIME STATUS
 * SENTENCE" when that ends; "finalized TIME". Ends with status 3. */
#include "support/rank.h"

enum { COUNT = 5000 };

int main(void) {
  join_job();
  float *in = zeroed(COUNT * sizeof(float)), *out = zeroed(COUNT * sizeof(float));
  smddp_comm_t rest = NULL;
  REQUIRE(smddp_comm_split(world, rank != 0, 0, NULL, &rest));
  REQUIRE(smddp_barrier(world, NULL));
  say("ready");
  const smddp_status_t broken = rank == 0 ? smddp_recv(in, 1, SMDDP_FLOAT32, 1, 0, world, NULL, NULL) : smddp_barrier(world, NULL);
  say("world %.6f %s %s", seconds(), smddp_status_string(broken), smddp_last_error());
  const double begin = seconds();
  smddp_status_t status = SMDDP_SUCCESS;
  for (int i = 0; i < COUNT; i++) in[i] = (float)rank;
  for (long n = 0; status == SMDDP_SUCCESS; n++) {
    out[COUNT - 1] = -1;
    status = smddp_allreduce(in, out, COUNT, SMDDP_FLOAT32, SMDDP_SUM, rest, NULL);
    if (status == SMDDP_SUCCESS) EXPECT(out[COUNT - 1] == (float)(size * (size - 1) / 2), "sum %g", (double)out[COUNT - 1]);
    /* All stay in step: the same number of rounds says "on" after a second on the slowest. */
    float said = seconds() - begin > 1, all = 0;
    if (status == SMDDP_SUCCESS) status = smddp_allreduce(&said, &all, 1, SMDDP_FLOAT32, SMDDP_MIN, rest, NULL);
    if (status == SMDDP_SUCCESS && all > 0 && n >= 0) {
      say("on");
      n = -1000000000;
    }
  }
  say("rest %.6f %s %s", seconds(), smddp_status_string(status), smddp_last_error());
  REQUIRE(smddp_finalize(world));
  say("finalized %.6f", seconds());
  return 3;
}
