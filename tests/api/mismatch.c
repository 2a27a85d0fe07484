#include "faults.h"

#include <stdlib.h>

typedef struct mismatch {
  const char *what;
  call_t usual, other;       /* the last rank calls other */
  const char *left, *right;  /* words for the two sides; the sentence has both */
  bool async;
  const char *algorithms[2]; /* that the usual and the other call want; NULL: none */
} mismatch_t;

static void call_differently(rank_t *rank) {
  mismatch_t *m = rank->arg;
  const bool is_other = rank->number == rank->size - 1;
  call_t call = is_other ? m->other : m->usual;
  smddp_call_options_t options = SMDDP_INIT_STRUCT(options);
  options.algorithm = m->algorithms[is_other];
  const size_t bytes = (size_t)rank->size * 200000 * 8;
  unsigned char *send = calloc(1, bytes), *recv = calloc(1, bytes);
  call.sendbuf = send;
  call.recvbuf = recv;
  smddp_status_t status = m->async ? call_and_wait(&call, rank->world, &options) : call_blocking(&call, rank->world, &options);
  if (status == SMDDP_SUCCESS) status = smddp_barrier(rank->world, NULL); /* this rank's part was done before the others came */
  free(send);
  free(recv);
  CHECK(rank, status == SMDDP_ERR_MISMATCH, "%s: %s (%s), expected SMDDP_ERR_MISMATCH", m->what, smddp_status_string(status),
        smddp_last_error());
  CHECK(rank, strstr(smddp_last_error(), m->left) && strstr(smddp_last_error(), m->right), "%s: '%s' and '%s' are not both in '%s'",
        m->what, m->left, m->right, smddp_last_error());
  /* Broken for good, on all ranks. */
  CHECK_STATUS(rank, SMDDP_ERR_MISMATCH, smddp_barrier(rank->world, NULL));
  CHECK_STATUS(rank, SMDDP_ERR_MISMATCH, smddp_comm_status(rank->world));
}

static void run_mismatch(mismatch_t m) {
  for (int size = 2; size <= 3; size++) {
    for (int async = 0; async < 2; async++) {
      m.async = async;
      const char *faults = run_ranks(size, call_differently, &m, NULL);
      if (faults) fail_msg("%s, %s, %d ranks, %s:\n%s", collective_name(m.usual.collective), m.what, size,
                           async ? "async" : "blocking", faults);
    }
  }
}

void mismatches(collective_t c) {
  const call_t small = {c, NULL, NULL, 10, SMDDP_FLOAT32, SMDDP_SUM, 0};
  call_t large = small, other = small;
  large.count = 100000;
  const char *name = collective_name(c);
  if (c != BARRIER) {
    other.count = 11;
    run_mismatch((mismatch_t){"small counts", small, other, "10 ", "11 ", false, {NULL, NULL}});
    other.count = 100001;
    run_mismatch((mismatch_t){"large counts", large, other, "100000 ", "100001 ", false, {NULL, NULL}});
    run_mismatch((mismatch_t){"small and large count", small, large, "10 ", "100000 ", false, {NULL, NULL}});
    other = small;
    other.dtype = SMDDP_INT32;
    run_mismatch((mismatch_t){"types of one size", small, other, "float32", "int32", false, {NULL, NULL}});
    other.dtype = SMDDP_FLOAT64;
    other.count = 5; /* the same bytes */
    run_mismatch((mismatch_t){"types of one number of bytes", small, other, "float32", "float64", false, {NULL, NULL}});
  }
  if (has_op(c)) {
    other = small;
    other.op = SMDDP_MAX;
    run_mismatch((mismatch_t){"operations", small, other, "sum", "max", false, {NULL, NULL}});
    other = large;
    other.op = SMDDP_AVG;
    run_mismatch((mismatch_t){"operations of a large call", large, other, "sum", "avg", false, {NULL, NULL}});
  }
  if (has_root(c)) {
    other = small;
    other.root = 1;
    run_mismatch((mismatch_t){"roots", small, other, "root 0", "root 1", false, {NULL, NULL}});
  }
  other = small;
  other.collective = c == ALLREDUCE ? BROADCAST : ALLREDUCE;
  run_mismatch((mismatch_t){"collectives", small, other, name, collective_name(other.collective), false, {NULL, NULL}});
  other.collective = c == BARRIER ? ALLGATHER : BARRIER;
  run_mismatch((mismatch_t){"collectives", small, other, name, collective_name(other.collective), false, {NULL, NULL}});
  const bool barrier = c == BARRIER;
  run_mismatch((mismatch_t){"algorithms", small, small, barrier ? "barrier(by hierarchical)" : ", by hierarchical)",
                            barrier ? "barrier(by dissemination)" : ", by one_hop)", false, {"hierarchical", barrier ? "dissemination" : "one_hop"}});
  run_mismatch((mismatch_t){"an algorithm and none", small, small, barrier ? "barrier()" : name, "by hierarchical)", false, {NULL, "hierarchical"}});
}
