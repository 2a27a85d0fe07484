/* Says "transport NAME pid NUMBER": what joins this rank and the next one, and the process number that this rank has for itself. */
#include "support/rank.h"

#include <unistd.h>

int main(void) {
  const char *transport = NULL;
  join_job();
  float mine = (float)(rank + 1), sum = 0;
  REQUIRE(smddp_allreduce(&mine, &sum, 1, SMDDP_FLOAT32, SMDDP_SUM, world, NULL));
  EXPECT(sum == (float)(size * (size + 1) / 2), "the sum is %g", (double)sum);
  REQUIRE(smddp_comm_transport(world, (rank + 1) % size, &transport));
  say("transport %s pid %ld", transport, (long)getpid());
  REQUIRE(smddp_finalize(world));
  return 0;
}
