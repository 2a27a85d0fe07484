/* How waiting costs. argv[1]: loops, many small and some large allreduces, says "loops SMALL LARGE" in seconds; idle SECONDS: rank 0 comes so
 * much later to a barrier, the others say "idle CPU" in seconds of processor time that their waiting took. */
#include "support/rank.h"

#include <time.h>

static double cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
  enum { COUNT = 1 << 18 };
  join_job();
  float *in = zeroed(COUNT * sizeof *in), *out = zeroed(COUNT * sizeof *out);
  in[0] = 1;
  REQUIRE(smddp_barrier(world, NULL));
  if (argc > 1 && !strcmp(argv[1], "idle")) {
    const double before = cpu_seconds();
    if (rank == 0) sleep_seconds((double)argument(argc, argv, 2, 10));
    REQUIRE(smddp_barrier(world, NULL));
    if (rank != 0) say("idle %.3f", cpu_seconds() - before);
  } else {
    const double begin = seconds();
    for (int i = 0; i < 1000; i++) REQUIRE(smddp_allreduce(in, out, 1, SMDDP_FLOAT32, SMDDP_SUM, world, NULL));
    const double middle = seconds();
    for (int i = 0; i < 100; i++) REQUIRE(smddp_allreduce(in, out, COUNT, SMDDP_FLOAT32, SMDDP_SUM, world, NULL));
    EXPECT(out[0] == (float)size, "the sum of ones is %g", (double)out[0]);
    say("loops %.3f %.3f", middle - begin, seconds() - middle);
  }
  REQUIRE(smddp_finalize(world));
  return 0;
}
