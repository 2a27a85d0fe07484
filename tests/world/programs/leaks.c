/* Collectives of changing size, then many of one element, then communicators made, used and freed in different order on the ranks:
 * memory, shared memory, descriptors and threads stay what they were after the first ones.
 * argv[1]: collectives, argv[2]: communicators, argv[3]: KiB by which resident memory may grow (0: not looked at). */
#include "support/rank.h"

#include <malloc.h>

static long resident_kib(void) {
  long pages = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "re");
  EXPECT(file && fscanf(file, "%ld %ld", &pages, &resident) == 2, "cannot read /proc/self/statm");
  fclose(file);
  return resident * 4;
}

static size_t heap_in_use(void) {
#ifdef __GLIBC__
  return mallinfo2().uordblks;
#else
  return 0; /* resident memory is looked at all the same */
#endif
}

typedef struct usage {
  long resident;
  size_t heap;
  int descriptors, threads;
} usage_t;

static usage_t usage(void) {
  return (usage_t){resident_kib(), heap_in_use(), entries_of("/proc/self/fd"), entries_of("/proc/self/task")};
}

static void compare(const char *what, usage_t before, long limit_kib) {
  const usage_t after = usage();
  EXPECT(after.descriptors == before.descriptors, "%s: %d descriptors, %d before", what, after.descriptors, before.descriptors);
  EXPECT(after.threads == before.threads, "%s: %d threads, %d before", what, after.threads, before.threads);
  if (!limit_kib) return;
  EXPECT(after.resident <= before.resident + limit_kib, "%s: %ld KiB resident, %ld before", what, after.resident, before.resident);
  EXPECT(after.heap <= before.heap + 64 * 1024, "%s: %zu bytes of heap in use, %zu before", what, after.heap, before.heap);
}

static void collectives(long count, long limit_kib) {
  float *in = zeroed(30000 * sizeof(float)), *out = zeroed(30000 * sizeof(float));
  usage_t before = usage();
  for (long i = 0; i < count / 20; i++) {
    REQUIRE(smddp_allreduce(in, out, 30000 - (size_t)(i % 5000), SMDDP_FLOAT32, SMDDP_SUM, world, NULL));
    if (i == count / 200) before = usage();
  }
  for (long i = 0; i < count; i++) REQUIRE(smddp_allreduce(in, out, 1, SMDDP_FLOAT32, SMDDP_SUM, world, NULL));
  compare("collectives", before, limit_kib);
  free(in);
  free(out);
}

static void communicators(long count, long limit_kib) {
  enum { HELD = 8 };
  smddp_comm_t held[HELD] = {NULL};
  usage_t before = usage();
  const long first = count / 10 > 200 ? count / 10 : 200;
  for (long i = 0; i < count; i++) {
    /* Each rank frees in an order of its own. */
    const int slot = (int)((i * (2 * rank + 1)) % HELD);
    if (held[slot]) REQUIRE(smddp_comm_free(held[slot]));
    REQUIRE(smddp_comm_split(world, 0, (int)(i % 3) * rank, NULL, &held[slot]));
    float one = 1, sum = 0;
    REQUIRE(smddp_allreduce(&one, &sum, 1, SMDDP_FLOAT32, SMDDP_SUM, held[slot], NULL));
    EXPECT(sum == (float)size, "communicator %ld: the sum of ones is %g", i, (double)sum);
    if (i == first) before = usage();
  }
  compare("communicators", before, limit_kib);
  for (int i = 0; i < HELD; i++) {
    if (held[i]) REQUIRE(smddp_comm_free(held[i]));
  }
}

int main(int argc, char **argv) {
  join_job();
  collectives(argument(argc, argv, 1, 10000), argument(argc, argv, 3, 2048));
  communicators(argument(argc, argv, 2, 500), argument(argc, argv, 3, 2048));
  REQUIRE(smddp_barrier(world, NULL));
  REQUIRE(smddp_finalize(world));
  return 0;
}
