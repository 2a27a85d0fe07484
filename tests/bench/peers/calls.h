/* What bench.c needs of a library; mpi_calls.c and smddp_calls.c give it, each for its own. A failed call ends the job with a sentence
 * on standard error: none of these functions returns an error. */
#ifndef SMDDP_BENCH_CALLS_H
#define SMDDP_BENCH_CALLS_H

#include <stddef.h>

extern int rank, ranks; /* known after calls_start */

/* One collective of count float32 elements on the larger side (a block is count / ranks of them), sum, root 0, out of place. */
typedef void (*collective_call)(const float *in, float *out, size_t count);

struct named_call {
  const char *name;
  collective_call call;
};
extern const struct named_call named_calls[]; /* ends with a NULL name */

void calls_start(int *argc, char ***argv);
/* library_memory: from the library's own allocator; ends the job where there is none. */
float *calls_allocate(size_t bytes, int library_memory);
void calls_barrier(void);
void calls_stop(void);
_Noreturn void calls_abort(void);

#endif
