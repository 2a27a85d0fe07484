/* The calls of MPI. Errors end the job by MPI's own default handler. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "calls.h"

int rank, ranks;

#define ALL MPI_COMM_WORLD

static void allreduce(const float *in, float *out, size_t n) { MPI_Allreduce(in, out, (int)n, MPI_FLOAT, MPI_SUM, ALL); }
static void reduce(const float *in, float *out, size_t n) { MPI_Reduce(in, out, (int)n, MPI_FLOAT, MPI_SUM, 0, ALL); }
static void broadcast(const float *in, float *out, size_t n) {
  MPI_Bcast(rank == 0 ? (void *)in : out, (int)n, MPI_FLOAT, 0, ALL);
}
static void allgather(const float *in, float *out, size_t n) {
  MPI_Allgather(in, (int)n / ranks, MPI_FLOAT, out, (int)n / ranks, MPI_FLOAT, ALL);
}
static void reduce_scatter(const float *in, float *out, size_t n) {
  MPI_Reduce_scatter_block(in, out, (int)n / ranks, MPI_FLOAT, MPI_SUM, ALL);
}
static void alltoall(const float *in, float *out, size_t n) {
  MPI_Alltoall(in, (int)n / ranks, MPI_FLOAT, out, (int)n / ranks, MPI_FLOAT, ALL);
}
static void gather(const float *in, float *out, size_t n) {
  MPI_Gather(in, (int)n / ranks, MPI_FLOAT, out, (int)n / ranks, MPI_FLOAT, 0, ALL);
}
static void scatter(const float *in, float *out, size_t n) {
  MPI_Scatter(in, (int)n / ranks, MPI_FLOAT, out, (int)n / ranks, MPI_FLOAT, 0, ALL);
}
static void barrier(const float *in, float *out, size_t n) {
  (void)in, (void)out, (void)n;
  MPI_Barrier(ALL);
}

const struct named_call named_calls[] = {
    {"allreduce", allreduce}, {"broadcast", broadcast},   {"reduce", reduce},
    {"allgather", allgather}, {"alltoall", alltoall},     {"reduce_scatter", reduce_scatter},
    {"gather", gather},       {"scatter", scatter},       {"barrier", barrier},
    {NULL, NULL},
};

void calls_start(int *argc, char ***argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(ALL, &rank);
  MPI_Comm_size(ALL, &ranks);
}

/* MPI_Alloc_mem promises no more than malloc does, hence is no counterpart of smddp_alloc. */
float *calls_allocate(size_t bytes, int library_memory) {
  void *p = library_memory ? NULL : aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (!p) {
    fprintf(stderr, "bench: no memory of this kind\n");
    calls_abort();
  }
  return p;
}

void calls_barrier(void) { MPI_Barrier(ALL); }
void calls_stop(void) { MPI_Finalize(); }
void calls_abort(void) {
  MPI_Abort(ALL, 1);
  exit(1);
}
