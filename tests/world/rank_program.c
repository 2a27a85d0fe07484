/* A rank for the tests of launching and dying: argv[1] says what it does after smddp_init.
 *   exit CODE                    ends at once without finalize
 *   exit-of-one RANK CODE        that rank ends so, the others wait in an allreduce and end with 1 when it fails
 *   signal-of-one RANK SIGNAL    that rank kills itself, the others likewise
 *   sum                          all add up their ranks, check and finalize
 *   forever                      says "ready" and calls allreduces until killed */
#include <smddp/smddp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void require(smddp_status_t status, const char *call) {
  if (status == SMDDP_SUCCESS) return;
  fprintf(stderr, "%s: %s\n", call, smddp_last_error());
  exit(1);
}

static float sum_of_ranks(smddp_comm_t world, int rank) {
  float value = (float)rank, sum = -1;
  require(smddp_allreduce(&value, &sum, 1, SMDDP_FLOAT32, SMDDP_SUM, world, NULL), "smddp_allreduce");
  return sum;
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "sum";
  smddp_comm_t world = NULL;
  int rank = 0, size = 0;
  require(smddp_init(NULL, &world), "smddp_init");
  require(smddp_comm_rank(world, &rank), "smddp_comm_rank");
  require(smddp_comm_size(world, &size), "smddp_comm_size");
  if (strcmp(mode, "exit") == 0) _exit(atoi(argv[2]));
  if (strcmp(mode, "exit-of-one") == 0 && rank == atoi(argv[2])) _exit(atoi(argv[3]));
  if (strcmp(mode, "signal-of-one") == 0 && rank == atoi(argv[2])) raise(atoi(argv[3]));
  if (strcmp(mode, "forever") == 0) {
    puts("ready");
    fflush(stdout);
  }
  do {
    const float sum = sum_of_ranks(world, rank);
    if (sum != (float)(size * (size - 1) / 2)) {
      fprintf(stderr, "sum of ranks: %g\n", sum);
      return 2;
    }
  } while (strcmp(mode, "sum") != 0);
  require(smddp_finalize(world), "smddp_finalize");
  return 0;
}
