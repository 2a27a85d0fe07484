/* Asynchronous allreduces under a compute loop that never calls the library. argv[1]: how, argv[2]: bytes of one.
 *   silent N             N operations, started one after the other; the loop goes on until all have ended, as their callbacks say, or for
 *                        30 s; says "ended" and the operations in that order
 *   measure N PERCENT    N rounds: communication alone, computation alone, both; the computation takes about so much of the communication's
 *                        time; each says "round COMMUNICATION COMPUTATION TOTAL CPU" in seconds, CPU being what the communication took of
 *                        the processors beside the computation */
#include "support/rank.h"

#include <stdatomic.h>
#include <time.h>

enum { MOST = 16 };

static atomic_int ended, order[MOST];

static void note_end(void *arg, smddp_status_t status) {
  const int place = atomic_fetch_add(&ended, 1);
  atomic_store(&order[place], status == SMDDP_SUCCESS ? (int)(intptr_t)arg : -1);
}

/* Stays in the nearest cache, so that it and the library compete for processors alone. */
static double compute(long loops) {
  static volatile double kept;
  double x[64];
  for (int i = 0; i < 64; i++) x[i] = i;
  for (long loop = 0; loop < loops; loop++) {
    for (int i = 0; i < 64; i++) x[i] = x[i] * 0.999999 + 1e-6;
  }
  for (int i = 0; i < 64; i++) kept = x[i];
  return kept;
}

static double cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void silent(size_t count, int operations) {
  smddp_request_t requests[MOST];
  float *in = zeroed(count * sizeof *in), *out[MOST];
  for (size_t i = 0; i < count; i++) in[i] = 1;
  for (int i = 0; i < operations; i++) out[i] = zeroed(count * sizeof *in);
  REQUIRE(smddp_barrier(world, NULL));
  for (int i = 0; i < operations; i++) {
    REQUIRE(smddp_allreduce_async(in, out[i], count, SMDDP_FLOAT32, SMDDP_SUM, world, NULL, &requests[i]));
    REQUIRE(smddp_request_set_callback(requests[i], note_end, (void *)(intptr_t)i));
  }
  for (const double limit = seconds() + 30; atomic_load(&ended) < operations && seconds() < limit;) compute(1000);
  EXPECT(atomic_load(&ended) == operations, "%d of %d operations ended while nobody called the library", atomic_load(&ended), operations);
  char line[MOST * 4] = "ended";
  for (int i = 0; i < operations; i++) snprintf(line + strlen(line), 4, " %d", atomic_load(&order[i]));
  say("%s", line);
  for (int i = 0; i < operations; i++) {
    REQUIRE(smddp_wait(requests[i], 0));
    REQUIRE(smddp_request_free(requests[i]));
    for (size_t k = 0; k < count; k++) EXPECT(out[i][k] == (float)size, "operation %d, element %zu: %g", i, k, (double)out[i][k]);
  }
}

static void measure(size_t count, int rounds, long percent) {
  float *in = zeroed(count * sizeof *in), *out = zeroed(count * sizeof *in);
  smddp_request_t request;
  double begin, communication = 0;
  for (int i = 0; i < 3; i++) { /* the first ones set things up */
    REQUIRE(smddp_barrier(world, NULL));
    begin = seconds();
    REQUIRE(smddp_allreduce(in, out, count, SMDDP_FLOAT32, SMDDP_SUM, world, NULL));
    communication = seconds() - begin;
  }
  long loops = 100000;
  begin = seconds();
  compute(loops);
  loops = (long)((double)loops * communication * (double)percent / 100 / (seconds() - begin));
  REQUIRE(smddp_broadcast(&loops, sizeof loops, SMDDP_UINT8, 0, world, NULL));
  for (int i = 0; i < rounds; i++) {
    REQUIRE(smddp_barrier(world, NULL));
    begin = seconds();
    REQUIRE(smddp_allreduce(in, out, count, SMDDP_FLOAT32, SMDDP_SUM, world, NULL));
    communication = seconds() - begin;

    REQUIRE(smddp_barrier(world, NULL));
    double cpu = cpu_seconds();
    begin = seconds();
    compute(loops);
    const double computation = seconds() - begin;
    const double computation_cpu = cpu_seconds() - cpu;

    REQUIRE(smddp_barrier(world, NULL));
    cpu = cpu_seconds();
    begin = seconds();
    REQUIRE(smddp_allreduce_async(in, out, count, SMDDP_FLOAT32, SMDDP_SUM, world, NULL, &request));
    compute(loops);
    REQUIRE(smddp_wait(request, 0));
    const double total = seconds() - begin;
    say("round %.6f %.6f %.6f %.6f", communication, computation, total, cpu_seconds() - cpu - computation_cpu);
    REQUIRE(smddp_request_free(request));
  }
}

int main(int argc, char **argv) {
  join_job();
  const size_t count = (size_t)argument(argc, argv, 2, 1 << 20) / sizeof(float);
  const int number = (int)argument(argc, argv, 3, 4);
  if (argc > 1 && !strcmp(argv[1], "measure")) measure(count, number, argument(argc, argv, 4, 100));
  else silent(count, number < MOST ? number : MOST);
  REQUIRE(smddp_finalize(world));
  return 0;
}
