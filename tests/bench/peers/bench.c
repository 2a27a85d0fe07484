/* bench COLLECTIVE SIZES [private|library]: times one collective of the library it is linked with; rank 0 prints a JSON line per
 * size. Each size is checked once before it is timed; a wrong element ends the job with a status that is not 0. */
#include <unistd.h>

#include "../sample.h"
#include "calls.h"

enum { RUN_LIMIT_S = 600 };

/* What the inputs, rank + 1 everywhere, become: the sum, the root's value, or in block b the value of rank b. */
enum expectation { SUM, OF_ROOT, OF_BLOCKS, NOTHING };

static const struct collective {
  const char *name;
  enum expectation expectation;
  int at_root, elsewhere; /* who has a result */
  int one_block;          /* the result is one block of count / ranks */
} collectives[] = {
    {"allreduce", SUM, 1, 1, 0}, {"broadcast", OF_ROOT, 0, 1, 0},  {"reduce", SUM, 1, 0, 0},
    {"allgather", OF_BLOCKS, 1, 1, 0}, {"reduce_scatter", SUM, 1, 1, 1}, {"alltoall", OF_BLOCKS, 1, 1, 0},
    {"gather", OF_BLOCKS, 1, 0, 0},    {"scatter", OF_ROOT, 1, 1, 1},    {"barrier", NOTHING, 0, 0, 0},
};

/* As nccl-tests do: whole blocks, of one element at least. */
static size_t count_of(const struct collective *c, size_t bytes) {
  const size_t count = bytes / sizeof(float) > 0 ? bytes / sizeof(float) : 1;
  if (c->expectation != OF_BLOCKS && !c->one_block) return count;
  return (count / (size_t)ranks > 0 ? count / (size_t)ranks : 1) * (size_t)ranks;
}

static void check(const struct collective *c, collective_call call, float *in, float *out, size_t count) {
  const size_t block = count / (size_t)ranks;
  const size_t results = c->expectation == OF_BLOCKS ? block * (size_t)ranks : c->one_block ? block : count;
  for (size_t i = 0; i < count; i++) in[i] = (float)(rank + 1), out[i] = -1;
  calls_barrier();
  call(in, out, count);
  if (rank == 0 ? !c->at_root : !c->elsewhere) return;
  for (size_t i = 0; i < results; i++) {
    const float expected = c->expectation == SUM       ? (float)(ranks * (ranks + 1) / 2)
                           : c->expectation == OF_ROOT ? 1
                                                       : (float)(i / block + 1);
    if (out[i] == expected) continue;
    fprintf(stderr, "bench: rank %d of %d, %s of %zu floats: element %zu is %g, not %g\n", rank, ranks, c->name, count, i,
            (double)out[i], (double)expected);
    calls_abort();
  }
}

static void measure(const struct collective *c, collective_call call, const float *in, float *out, size_t count, size_t bytes) {
  const int times = calls_per_sample(bytes);
  double seconds[SAMPLE_COUNT];
  for (int s = -SAMPLE_WARMUP; s < SAMPLE_COUNT; s++) {
    calls_barrier();
    const double start = now_s();
    for (int i = 0; i < times; i++) call(in, out, count);
    if (s >= 0) seconds[s] = (now_s() - start) / times;
  }
  if (rank == 0) print_samples(bytes, c->name, ranks, seconds);
}

int main(int argc, char **argv) {
  size_t sizes[SIZES_MAX], largest = 4096;
  const struct collective *c = NULL;
  collective_call call = NULL;
  const int count = argc >= 3 ? parse_sizes(argv[2], sizes) : -1;
  const int library_memory = argc == 4 && strcmp(argv[3], "library") == 0;
  for (size_t i = 0; argc >= 3 && i < sizeof collectives / sizeof *collectives; i++)
    if (strcmp(argv[1], collectives[i].name) == 0) c = &collectives[i];
  for (const struct named_call *n = named_calls; c && n->name; n++)
    if (strcmp(n->name, c->name) == 0) call = n->call;
  if (!call || count < 1 || argc > 4 || (argc == 4 && !library_memory && strcmp(argv[3], "private") != 0)) {
    fprintf(stderr, "usage: bench COLLECTIVE SIZE,SIZE,… [private|library]\n");
    return 2;
  }
  const char *limit_s = getenv("SMDDP_BENCH_LIMIT_S");
  alarm(limit_s ? (unsigned)atoi(limit_s) : RUN_LIMIT_S); /* a launcher that is killed may leave its ranks */
  calls_start(&argc, &argv);
  for (int i = 0; i < count; i++) largest = sizes[i] > largest ? sizes[i] : largest;
  float *in = calls_allocate(largest, library_memory), *out = calls_allocate(largest, library_memory);
  for (int i = 0; i < count; i++) {
    check(c, call, in, out, count_of(c, sizes[i]));
    measure(c, call, in, out, count_of(c, sizes[i]), sizes[i]);
  }
  calls_stop();
  return 0;
}
