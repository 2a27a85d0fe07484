/* A timer that fires every millisecond, from before smddp_init to after smddp_finalize, with a handler without SA_RESTART: no call notices.
 * argv[1]: real or prof; argv[2]: rounds. */
#include "support/rank.h"

#include <signal.h>
#include <sys/time.h>

enum { COUNT = 30000 };

static volatile sig_atomic_t fired;

static void count_signal(int number) {
  (void)number;
  fired++;
}

int main(int argc, char **argv) {
  const bool real = argc < 2 || !strcmp(argv[1], "real");
  const long rounds = argument(argc, argv, 2, 500);
  struct sigaction action = {.sa_handler = count_signal};
  sigaction(real ? SIGALRM : SIGPROF, &action, NULL);
  const struct itimerval every = {{0, 1000}, {0, 1000}};
  setitimer(real ? ITIMER_REAL : ITIMER_PROF, &every, NULL);
  static float in[COUNT], out[COUNT];
  join_job();
  for (long i = 0; i < rounds; i++) {
    const size_t count = i % 4 == 3 ? COUNT : 1;
    in[0] = in[count - 1] = (float)(i + rank);
    REQUIRE(smddp_allreduce(in, out, count, SMDDP_FLOAT32, SMDDP_SUM, world, NULL));
    const float right = (float)(i * size + size * (size - 1) / 2);
    EXPECT(out[0] == right && out[count - 1] == right, "round %ld: %g, not %g", i, (double)out[0], (double)right);
    if (i % 50 == 0 && (rank == 0 || !real)) { /* the others sleep, and are woken by the timer all the time */
      const int before = fired;
      for (const double end = seconds() + 5; fired < before + 5 && seconds() < end;) continue;
    }
    if (i % 100 == 0) {
      smddp_comm_t comm;
      REQUIRE(smddp_comm_dup(world, NULL, &comm));
      REQUIRE(smddp_barrier(comm, NULL));
      REQUIRE(smddp_comm_free(comm));
    }
  }
  /* A timer of processor time fires late where this rank gets little of it. */
  for (const double end = seconds() + 20; fired <= 10 && seconds() < end;) continue;
  REQUIRE(smddp_barrier(world, NULL));
  REQUIRE(smddp_finalize(world));
  EXPECT(fired > 10, "the timer fired %d times", (int)fired);
  return 0;
}
