/* Every collective as one uniform call, so that a test of all of them is written once. */
#ifndef SMDDP_TESTS_API_CALLS_H
#define SMDDP_TESTS_API_CALLS_H

#include "ranks.h"

typedef enum collective { ALLREDUCE, BROADCAST, REDUCE, ALLGATHER, REDUCE_SCATTER, ALLTOALL, GATHER, SCATTER, BARRIER } collective_t;

typedef struct call {
  collective_t collective;
  const void *sendbuf; /* of broadcast: unused */
  void *recvbuf;       /* of broadcast: the buffer */
  size_t count;
  smddp_dtype_t dtype;
  smddp_op_t op;
  int root;
} call_t;

const char *collective_name(collective_t collective);
bool has_op(collective_t collective);
bool has_root(collective_t collective);

/* Blocks of count elements in the buffers of a rank. */
int send_blocks(collective_t collective, int size);
int recv_blocks(collective_t collective, int size);

smddp_status_t call_blocking(const call_t *call, smddp_comm_t comm, const smddp_call_options_t *options);
smddp_status_t call_async(const call_t *call, smddp_comm_t comm, const smddp_call_options_t *options, smddp_request_t *request);

/* Async, wait and free; the status of the first that fails. */
smddp_status_t call_and_wait(const call_t *call, smddp_comm_t comm, const smddp_call_options_t *options);

#endif
