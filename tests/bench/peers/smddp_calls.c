/* The calls of SMDDP. */
#include <smddp/smddp.h>
#include <stdio.h>
#include <stdlib.h>

#include "calls.h"

int rank, ranks;
static smddp_comm_t comm;

static void require(smddp_status_t status) {
  if (status == SMDDP_SUCCESS) return;
  fprintf(stderr, "bench: rank %d: %s: %s\n", rank, smddp_status_string(status), smddp_last_error());
  _Exit(1);
}

static size_t block(size_t n) { return n / (size_t)ranks; }

static void allreduce(const float *in, float *out, size_t n) {
  require(smddp_allreduce(in, out, n, SMDDP_FLOAT32, SMDDP_SUM, comm, NULL));
}
static void broadcast(const float *in, float *out, size_t n) {
  require(smddp_broadcast(rank == 0 ? (void *)in : out, n, SMDDP_FLOAT32, 0, comm, NULL));
}
static void reduce(const float *in, float *out, size_t n) {
  require(smddp_reduce(in, out, n, SMDDP_FLOAT32, SMDDP_SUM, 0, comm, NULL));
}
static void allgather(const float *in, float *out, size_t n) {
  require(smddp_allgather(in, out, block(n), SMDDP_FLOAT32, comm, NULL));
}
static void reduce_scatter(const float *in, float *out, size_t n) {
  require(smddp_reduce_scatter(in, out, block(n), SMDDP_FLOAT32, SMDDP_SUM, comm, NULL));
}
static void alltoall(const float *in, float *out, size_t n) {
  require(smddp_alltoall(in, out, block(n), SMDDP_FLOAT32, comm, NULL));
}
static void gather(const float *in, float *out, size_t n) {
  require(smddp_gather(in, out, block(n), SMDDP_FLOAT32, 0, comm, NULL));
}
static void scatter(const float *in, float *out, size_t n) {
  require(smddp_scatter(in, out, block(n), SMDDP_FLOAT32, 0, comm, NULL));
}
static void barrier(const float *in, float *out, size_t n) {
  (void)in, (void)out, (void)n;
  require(smddp_barrier(comm, NULL));
}

const struct named_call named_calls[] = {
    {"allreduce", allreduce}, {"broadcast", broadcast},   {"reduce", reduce},
    {"allgather", allgather}, {"alltoall", alltoall},     {"reduce_scatter", reduce_scatter},
    {"gather", gather},       {"scatter", scatter},       {"barrier", barrier},
    {NULL, NULL},
};

void calls_start(int *argc, char ***argv) {
  (void)argc, (void)argv;
  require(smddp_init(NULL, &comm));
  require(smddp_comm_rank(comm, &rank));
  require(smddp_comm_size(comm, &ranks));
}

float *calls_allocate(size_t bytes, int library_memory) {
  void *p = NULL;
  if (library_memory) require(smddp_alloc(comm, bytes, &p));
  else p = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (!p) {
    fprintf(stderr, "bench: rank %d: no memory for %zu bytes\n", rank, bytes);
    calls_abort();
  }
  return p;
}

void calls_barrier(void) { require(smddp_barrier(comm, NULL)); }
void calls_stop(void) { require(smddp_finalize(comm)); }
void calls_abort(void) { _Exit(1); }
