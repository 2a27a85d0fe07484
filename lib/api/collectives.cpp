// The collectives of smddp.h: convert, check, call.
#include "api/check.hpp"
#include "api/guard.hpp"
#include "node/shape.hpp"
#include "reduce/reduce.hpp"

#include <cstring>

namespace smddp::api {
namespace {

// One rank: every collective is a copy, or nothing; but a reduction of bools makes them 0 or 1.
void run_alone(const node::Call& call, bool has_op) {
  const size_t bytes = call.count * dtype_bytes(call.dtype);
  if (bytes && has_op && call.dtype == SMDDP_BOOL) {
    reduce::Arguments arguments;
    arguments.destinations[0] = call.recvbuf;
    arguments.sources = &call.sendbuf;
    arguments.source_count = 1;
    arguments.count = call.count;
    reduce::kernel(call.dtype, call.op)(arguments);
    return;
  }
  if (bytes && call.sendbuf != call.recvbuf && call.collective != Collective::kBroadcast) std::memcpy(call.recvbuf, call.sendbuf, bytes);
}

smddp_status_t collective(const char* function, node::Call call, bool has_op, smddp_comm_t handle, const smddp_call_options_t* options) {
  return guard([&]() -> Status {
    smddp_comm& comm = checked(handle, function);
    const core::CallSettings settings = checked(options, function);
    call.algorithm = checked_algorithm(comm, options, function, call.collective);
    check_call(comm, function, call, has_op);
    if (comm.size() > 1) return core::run(comm, function, call, settings);
    if (comm.board->failed()) return comm.board->failure(nullptr);
    run_alone(call, has_op);
    return {};
  });
}

smddp_status_t collective_async(const char* function, node::Call call, bool has_op, smddp_comm_t handle,
                                const smddp_call_options_t* options, smddp_request_t* request) {
  return guard([&] {
    if (!request) throw Error(SMDDP_ERR_INVALID_ARGUMENT, format("%s: request is NULL", function));
    *request = nullptr;
    smddp_comm& comm = checked(handle, function);
    const core::CallSettings settings = checked(options, function);
    call.algorithm = checked_algorithm(comm, options, function, call.collective);
    check_call(comm, function, call, has_op);
    *request = core::start(comm, function, call, settings);
  });
}

node::Call make_call(Collective collective, const void* sendbuf, void* recvbuf, size_t count, smddp_dtype_t dtype,
                     smddp_op_t op = SMDDP_SUM, int root = 0) {
  node::Call call;
  call.collective = collective;
  call.dtype = dtype;
  call.op = op;
  call.root = root;
  call.count = count;
  call.sendbuf = sendbuf;
  call.recvbuf = recvbuf;
  return call;
}

}  // namespace
}  // namespace smddp::api

using smddp::Collective;
using smddp::api::collective;
using smddp::api::collective_async;
using smddp::api::make_call;

extern "C" {

smddp_status_t smddp_allreduce(const void* sendbuf, void* recvbuf, size_t count, smddp_dtype_t dtype, smddp_op_t op, smddp_comm_t comm,
                               const smddp_call_options_t* options) {
  return collective("smddp_allreduce", make_call(Collective::kAllreduce, sendbuf, recvbuf, count, dtype, op), true, comm, options);
}

smddp_status_t smddp_allreduce_async(const void* sendbuf, void* recvbuf, size_t count, smddp_dtype_t dtype, smddp_op_t op,
                                     smddp_comm_t comm, const smddp_call_options_t* options, smddp_request_t* request) {
  return collective_async("smddp_allreduce_async", make_call(Collective::kAllreduce, sendbuf, recvbuf, count, dtype, op), true, comm, options, request);
}

smddp_status_t smddp_broadcast(void* buffer, size_t count, smddp_dtype_t dtype, int root, smddp_comm_t comm,
                               const smddp_call_options_t* options) {
  return collective("smddp_broadcast", make_call(Collective::kBroadcast, buffer, buffer, count, dtype, SMDDP_SUM, root), false, comm, options);
}

smddp_status_t smddp_broadcast_async(void* buffer, size_t count, smddp_dtype_t dtype, int root, smddp_comm_t comm,
                                     const smddp_call_options_t* options, smddp_request_t* request) {
  return collective_async("smddp_broadcast_async", make_call(Collective::kBroadcast, buffer, buffer, count, dtype, SMDDP_SUM, root), false, comm, options, request);
}

smddp_status_t smddp_reduce(const void* sendbuf, void* recvbuf, size_t count, smddp_dtype_t dtype, smddp_op_t op, int root,
                            smddp_comm_t comm, const smddp_call_options_t* options) {
  return collective("smddp_reduce", make_call(Collective::kReduce, sendbuf, recvbuf, count, dtype, op, root), true, comm, options);
}

smddp_status_t smddp_reduce_async(const void* sendbuf, void* recvbuf, size_t count, smddp_dtype_t dtype, smddp_op_t op, int root,
                                  smddp_comm_t comm, const smddp_call_options_t* options, smddp_request_t* request) {
  return collective_async("smddp_reduce_async", make_call(Collective::kReduce, sendbuf, recvbuf, count, dtype, op, root), true, comm, options, request);
}

smddp_status_t smddp_allgather(const void* sendbuf, void* recvbuf, size_t count, smddp_dtype_t dtype, smddp_comm_t comm,
                               const smddp_call_options_t* options) {
  return collective("smddp_allgather", make_call(Collective::kAllgather, sendbuf, recvbuf, count, dtype), false, comm, options);
}

smddp_status_t smddp_allgather_async(const void* sendbuf, void* recvbuf, size_t count, smddp_dtype_t dtype, smddp_comm_t comm,
                                     const smddp_call_options_t* options, smddp_request_t* request) {
  return collective_async("smddp_allgather_async", make_call(Collective::kAllgather, sendbuf, recvbuf, count, dtype), false, comm, options, request);
}

smddp_status_t smddp_reduce_scatter(const void* sendbuf, void* recvbuf, size_t count, smddp_dtype_t dtype, smddp_op_t op, smddp_comm_t comm,
                                    const smddp_call_options_t* options) {
  return collective("smddp_reduce_scatter", make_call(Collective::kReduceScatter, sendbuf, recvbuf, count, dtype, op), true, comm, options);
}

smddp_status_t smddp_reduce_scatter_async(const void* sendbuf, void* recvbuf, size_t count, smddp_dtype_t dtype, smddp_op_t op,
                                          smddp_comm_t comm, const smddp_call_options_t* options, smddp_request_t* request) {
  return collective_async("smddp_reduce_scatter_async", make_call(Collective::kReduceScatter, sendbuf, recvbuf, count, dtype, op), true, comm, options, request);
}

smddp_status_t smddp_alltoall(const void* sendbuf, void* recvbuf, size_t count, smddp_dtype_t dtype, smddp_comm_t comm,
                              const smddp_call_options_t* options) {
  return collective("smddp_alltoall", make_call(Collective::kAlltoall, sendbuf, recvbuf, count, dtype), false, comm, options);
}

smddp_status_t smddp_alltoall_async(const void* sendbuf, void* recvbuf, size_t count, smddp_dtype_t dtype, smddp_comm_t comm,
                                    const smddp_call_options_t* options, smddp_request_t* request) {
  return collective_async("smddp_alltoall_async", make_call(Collective::kAlltoall, sendbuf, recvbuf, count, dtype), false, comm, options, request);
}

smddp_status_t smddp_gather(const void* sendbuf, void* recvbuf, size_t count, smddp_dtype_t dtype, int root, smddp_comm_t comm,
                            const smddp_call_options_t* options) {
  return collective("smddp_gather", make_call(Collective::kGather, sendbuf, recvbuf, count, dtype, SMDDP_SUM, root), false, comm, options);
}

smddp_status_t smddp_gather_async(const void* sendbuf, void* recvbuf, size_t count, smddp_dtype_t dtype, int root, smddp_comm_t comm,
                                  const smddp_call_options_t* options, smddp_request_t* request) {
  return collective_async("smddp_gather_async", make_call(Collective::kGather, sendbuf, recvbuf, count, dtype, SMDDP_SUM, root), false, comm, options, request);
}

smddp_status_t smddp_scatter(const void* sendbuf, void* recvbuf, size_t count, smddp_dtype_t dtype, int root, smddp_comm_t comm,
                             const smddp_call_options_t* options) {
  return collective("smddp_scatter", make_call(Collective::kScatter, sendbuf, recvbuf, count, dtype, SMDDP_SUM, root), false, comm, options);
}

smddp_status_t smddp_scatter_async(const void* sendbuf, void* recvbuf, size_t count, smddp_dtype_t dtype, int root, smddp_comm_t comm,
                                   const smddp_call_options_t* options, smddp_request_t* request) {
  return collective_async("smddp_scatter_async", make_call(Collective::kScatter, sendbuf, recvbuf, count, dtype, SMDDP_SUM, root), false, comm, options, request);
}

smddp_status_t smddp_barrier(smddp_comm_t comm, const smddp_call_options_t* options) {
  return collective("smddp_barrier", make_call(Collective::kBarrier, nullptr, nullptr, 0, SMDDP_DTYPE_NONE), false, comm, options);
}

smddp_status_t smddp_barrier_async(smddp_comm_t comm, const smddp_call_options_t* options, smddp_request_t* request) {
  return collective_async("smddp_barrier_async", make_call(Collective::kBarrier, nullptr, nullptr, 0, SMDDP_DTYPE_NONE), false, comm, options, request);
}

}  // extern "C"
