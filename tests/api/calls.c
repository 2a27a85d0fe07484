#include "calls.h"

const char *collective_name(collective_t collective) {
  static const char *const names[] = {"allreduce", "broadcast", "reduce", "allgather", "reduce_scatter",
                                      "alltoall",  "gather",    "scatter", "barrier"};
  return names[collective];
}

bool has_op(collective_t c) { return c == ALLREDUCE || c == REDUCE || c == REDUCE_SCATTER; }
bool has_root(collective_t c) { return c == BROADCAST || c == REDUCE || c == GATHER || c == SCATTER; }
int send_blocks(collective_t c, int size) { return c == REDUCE_SCATTER || c == ALLTOALL || c == SCATTER ? size : 1; }
int recv_blocks(collective_t c, int size) { return c == ALLGATHER || c == ALLTOALL || c == GATHER ? size : 1; }

smddp_status_t call_blocking(const call_t *c, smddp_comm_t comm, const smddp_call_options_t *options) {
  switch (c->collective) {
    case ALLREDUCE: return smddp_allreduce(c->sendbuf, c->recvbuf, c->count, c->dtype, c->op, comm, options);
    case BROADCAST: return smddp_broadcast(c->recvbuf, c->count, c->dtype, c->root, comm, options);
    case REDUCE: return smddp_reduce(c->sendbuf, c->recvbuf, c->count, c->dtype, c->op, c->root, comm, options);
    case ALLGATHER: return smddp_allgather(c->sendbuf, c->recvbuf, c->count, c->dtype, comm, options);
    case REDUCE_SCATTER: return smddp_reduce_scatter(c->sendbuf, c->recvbuf, c->count, c->dtype, c->op, comm, options);
    case ALLTOALL: return smddp_alltoall(c->sendbuf, c->recvbuf, c->count, c->dtype, comm, options);
    case GATHER: return smddp_gather(c->sendbuf, c->recvbuf, c->count, c->dtype, c->root, comm, options);
    case SCATTER: return smddp_scatter(c->sendbuf, c->recvbuf, c->count, c->dtype, c->root, comm, options);
    case BARRIER: return smddp_barrier(comm, options);
  }
  return SMDDP_ERR_INTERNAL;
}

smddp_status_t call_async(const call_t *c, smddp_comm_t comm, const smddp_call_options_t *options, smddp_request_t *request) {
  switch (c->collective) {
    case ALLREDUCE: return smddp_allreduce_async(c->sendbuf, c->recvbuf, c->count, c->dtype, c->op, comm, options, request);
    case BROADCAST: return smddp_broadcast_async(c->recvbuf, c->count, c->dtype, c->root, comm, options, request);
    case REDUCE: return smddp_reduce_async(c->sendbuf, c->recvbuf, c->count, c->dtype, c->op, c->root, comm, options, request);
    case ALLGATHER: return smddp_allgather_async(c->sendbuf, c->recvbuf, c->count, c->dtype, comm, options, request);
    case REDUCE_SCATTER: return smddp_reduce_scatter_async(c->sendbuf, c->recvbuf, c->count, c->dtype, c->op, comm, options, request);
    case ALLTOALL: return smddp_alltoall_async(c->sendbuf, c->recvbuf, c->count, c->dtype, comm, options, request);
    case GATHER: return smddp_gather_async(c->sendbuf, c->recvbuf, c->count, c->dtype, c->root, comm, options, request);
    case SCATTER: return smddp_scatter_async(c->sendbuf, c->recvbuf, c->count, c->dtype, c->root, comm, options, request);
    case BARRIER: return smddp_barrier_async(comm, options, request);
  }
  return SMDDP_ERR_INTERNAL;
}

smddp_status_t call_and_wait(const call_t *call, smddp_comm_t comm, const smddp_call_options_t *options) {
  smddp_request_t request = NULL;
  smddp_status_t status = call_async(call, comm, options, &request);
  if (status != SMDDP_SUCCESS) return status;
  status = smddp_wait(request, 0);
  const smddp_status_t freed = smddp_request_free(request);
  return status != SMDDP_SUCCESS ? status : freed;
}
