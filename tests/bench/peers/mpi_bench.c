/* Times one collective of the MPI library it is compiled against; rank 0 prints a JSON line per size. Bytes are those of the
 * buffer one rank contributes (allreduce, broadcast, reduce) or of the largest buffer (the others), float32, out of place. Each
 * size is checked once before it is timed; a wrong element ends the program with status 1. */
#include <mpi.h>
#include <unistd.h>

#include "../sample.h"

static float *in, *out;
static int rank, ranks;

static void allreduce(int n) { MPI_Allreduce(in, out, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); }
static void broadcast(int n) { MPI_Bcast(rank ? out : in, n, MPI_FLOAT, 0, MPI_COMM_WORLD); }
static void reduce(int n) { MPI_Reduce(in, out, n, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD); }
static void allgather(int n) { MPI_Allgather(in, n / ranks, MPI_FLOAT, out, n / ranks, MPI_FLOAT, MPI_COMM_WORLD); }
static void reduce_scatter(int n) { MPI_Reduce_scatter_block(in, out, n / ranks, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); }
static void alltoall(int n) { MPI_Alltoall(in, n / ranks, MPI_FLOAT, out, n / ranks, MPI_FLOAT, MPI_COMM_WORLD); }
static void gather(int n) { MPI_Gather(in, n / ranks, MPI_FLOAT, out, n / ranks, MPI_FLOAT, 0, MPI_COMM_WORLD); }
static void scatter(int n) { MPI_Scatter(in, n / ranks, MPI_FLOAT, out, n / ranks, MPI_FLOAT, 0, MPI_COMM_WORLD); }
static void barrier(int n) { (void)n; MPI_Barrier(MPI_COMM_WORLD); }

/* Inputs are rank + 1 everywhere, so every result is known from its block alone. */
static float sum(int block) { (void)block; return (float)ranks * (float)(ranks + 1) / 2; }
static float of_root(int block) { (void)block; return 1; }
static float of_block(int block) { return (float)(block + 1); }

static const struct collective {
  const char *name;
  void (*call)(int n);
  float (*expect)(int block);
  int result_blocks;   /* blocks of n / ranks elements in the result; 0: all n elements */
  int root_only;       /* the result is at rank 0 only */
  int others_only;     /* the result is everywhere but at rank 0 */
} collectives[] = {
    {"allreduce", allreduce, sum, 0, 0, 0},           {"broadcast", broadcast, of_root, 0, 0, 1},
    {"reduce", reduce, sum, 0, 1, 0},                 {"allgather", allgather, of_block, -1, 0, 0},
    {"reduce_scatter", reduce_scatter, sum, 1, 0, 0}, {"alltoall", alltoall, of_block, -1, 0, 0},
    {"gather", gather, of_block, -1, 1, 0},           {"scatter", scatter, of_root, 1, 0, 0},
    {"barrier", barrier, NULL, 0, 0, 0},
};

static void check(const struct collective *c, int n) {
  for (int i = 0; i < n; i++) in[i] = (float)(rank + 1), out[i] = -1;
  c->call(n);
  if (!c->expect || (c->root_only && rank != 0) || (c->others_only && rank == 0)) return;
  int block = n / ranks ? n / ranks : 1;
  int length = c->result_blocks == 0 ? n : c->result_blocks < 0 ? n / ranks * ranks : n / ranks;
  for (int i = 0; i < length; i++) {
    if (out[i] != c->expect(i / block)) {
      fprintf(stderr, "mpi_bench: rank %d, %s of %d floats: element %d is %g, not %g\n", rank, c->name, n, i, (double)out[i],
              (double)c->expect(i / block));
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
}

static void measure(const struct collective *c, size_t bytes) {
  int n = (int)(bytes / sizeof(float)), calls = calls_per_sample(bytes);
  double seconds[SAMPLE_COUNT];
  check(c, n);
  for (int s = -SAMPLE_WARMUP; s < SAMPLE_COUNT; s++) {
    MPI_Barrier(MPI_COMM_WORLD);
    double start = now_s();
    for (int i = 0; i < calls; i++) c->call(n);
    if (s >= 0) seconds[s] = (now_s() - start) / calls;
  }
  if (rank == 0) print_samples(bytes, c->name, ranks, seconds);
}

int main(int argc, char **argv) {
  size_t sizes[SIZES_MAX], largest = 4;
  int count = argc == 3 ? parse_sizes(argv[2], sizes) : -1;
  const struct collective *c = NULL;
  for (size_t i = 0; argc == 3 && i < sizeof collectives / sizeof *collectives; i++)
    if (strcmp(argv[1], collectives[i].name) == 0) c = &collectives[i];
  if (!c || count < 0) {
    fprintf(stderr, "usage: mpi_bench COLLECTIVE SIZE,SIZE,…\n");
    return 2;
  }
  for (int i = 0; i < count; i++) largest = sizes[i] > largest ? sizes[i] : largest;
  const char *limit_s = getenv("SMDDP_BENCH_LIMIT_S");
  alarm(limit_s ? (unsigned)atoi(limit_s) : 600); /* a launcher that is killed may leave its ranks */
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  in = aligned_alloc(4096, (largest + 4095) / 4096 * 4096);
  out = aligned_alloc(4096, (largest + 4095) / 4096 * 4096);
  if (!in || !out) MPI_Abort(MPI_COMM_WORLD, 3);
  for (int i = 0; i < count; i++) measure(c, sizes[i]);
  MPI_Finalize();
  return 0;
}
