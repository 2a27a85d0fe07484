#include "collective.hpp"

namespace smddp_bench {
namespace {

constexpr int kTag = 17;

// By reference: the call that gives status may be evaluated after an argument by value.
smddp_status_t finish(smddp_status_t status, const smddp_request_t& request) {
  if (status != SMDDP_SUCCESS) return status;
  status = smddp_wait(request, 0);
  const smddp_status_t freed = smddp_request_free(request);
  return status != SMDDP_SUCCESS ? status : freed;
}

// To the next rank, from the previous one.
smddp_status_t run_sendrecv(const Call& c) {
  const int next = (c.rank + 1) % c.size, previous = (c.rank + c.size - 1) % c.size;
  smddp_request_t requests[2] = {nullptr, nullptr};
  smddp_status_t status = smddp_recv_async(c.recv, c.count, c.dtype, previous, kTag, c.comm, nullptr, &requests[0]);
  if (status != SMDDP_SUCCESS) return status;
  status = c.async ? smddp_send_async(c.send, c.count, c.dtype, next, kTag, c.comm, nullptr, &requests[1])
                   : smddp_send(c.send, c.count, c.dtype, next, kTag, c.comm, nullptr);
  if (status != SMDDP_SUCCESS) return status;
  status = smddp_wait_all(2, requests, 0);
  smddp_request_free(requests[0]);
  smddp_request_free(requests[1]);
  return status;
}

smddp_status_t run_async(const Call& c, const smddp_call_options_t* o) {
  smddp_request_t r = nullptr;
  switch (c.collective) {
    case Collective::kAllreduce: return finish(smddp_allreduce_async(c.send, c.recv, c.count, c.dtype, c.op, c.comm, o, &r), r);
    case Collective::kBroadcast: return finish(smddp_broadcast_async(c.recv, c.count, c.dtype, c.root, c.comm, o, &r), r);
    case Collective::kReduce:
      return finish(smddp_reduce_async(c.send, c.recv, c.count, c.dtype, c.op, c.root, c.comm, o, &r), r);
    case Collective::kAllgather: return finish(smddp_allgather_async(c.send, c.recv, c.count, c.dtype, c.comm, o, &r), r);
    case Collective::kReduceScatter:
      return finish(smddp_reduce_scatter_async(c.send, c.recv, c.count, c.dtype, c.op, c.comm, o, &r), r);
    case Collective::kAlltoall: return finish(smddp_alltoall_async(c.send, c.recv, c.count, c.dtype, c.comm, o, &r), r);
    case Collective::kGather: return finish(smddp_gather_async(c.send, c.recv, c.count, c.dtype, c.root, c.comm, o, &r), r);
    case Collective::kScatter: return finish(smddp_scatter_async(c.send, c.recv, c.count, c.dtype, c.root, c.comm, o, &r), r);
    case Collective::kBarrier: return finish(smddp_barrier_async(c.comm, o, &r), r);
    case Collective::kSendrecv: return run_sendrecv(c);
  }
  return SMDDP_ERR_INTERNAL;
}

}  // namespace

const std::vector<Traits>& all_collectives() {
  using C = Collective;
  static const std::vector<Traits> table = {
      // name, reduces, rooted, has_in_place, larger_side_is_all
      {C::kAllreduce, "allreduce", true, false, true, false},
      {C::kBroadcast, "broadcast", false, true, false, false},
      {C::kReduce, "reduce", true, true, true, false},
      {C::kAllgather, "allgather", false, false, true, true},
      {C::kReduceScatter, "reduce_scatter", true, false, true, true},
      {C::kAlltoall, "alltoall", false, false, true, true},
      {C::kGather, "gather", false, true, true, true},
      {C::kScatter, "scatter", false, true, true, true},
      {C::kBarrier, "barrier", false, false, false, false},
      {C::kSendrecv, "sendrecv", false, false, false, false},
  };
  return table;
}

double bus_factor(Collective collective, int size) {
  const double others = static_cast<double>(size - 1) / size;
  switch (collective) {
    case Collective::kAllreduce: return 2 * others;
    case Collective::kAllgather: case Collective::kReduceScatter: case Collective::kAlltoall: case Collective::kGather:
    case Collective::kScatter: return others;
    default: return 1;
  }
}

Shape shape_of(Collective collective, size_t count, int rank, int size, int root) {
  const size_t all = count * static_cast<size_t>(size);
  switch (collective) {
    case Collective::kAllreduce: case Collective::kReduce: case Collective::kSendrecv: return {count, count};
    case Collective::kBroadcast: return {0, count};
    case Collective::kAllgather: return {count, all};
    case Collective::kReduceScatter: return {all, count};
    case Collective::kAlltoall: return {all, all};
    case Collective::kGather: return {count, rank == root ? all : 0};
    case Collective::kScatter: return {rank == root ? all : 0, count};
    case Collective::kBarrier: return {0, 0};
  }
  return {};
}

smddp_status_t run(const Call& c) {
  smddp_call_options_t options = SMDDP_INIT_STRUCT(options);
  options.algorithm = c.algorithm;
  const smddp_call_options_t* o = c.algorithm ? &options : nullptr;
  if (c.async) return run_async(c, o);
  switch (c.collective) {
    case Collective::kAllreduce: return smddp_allreduce(c.send, c.recv, c.count, c.dtype, c.op, c.comm, o);
    case Collective::kBroadcast: return smddp_broadcast(c.recv, c.count, c.dtype, c.root, c.comm, o);
    case Collective::kReduce: return smddp_reduce(c.send, c.recv, c.count, c.dtype, c.op, c.root, c.comm, o);
    case Collective::kAllgather: return smddp_allgather(c.send, c.recv, c.count, c.dtype, c.comm, o);
    case Collective::kReduceScatter: return smddp_reduce_scatter(c.send, c.recv, c.count, c.dtype, c.op, c.comm, o);
    case Collective::kAlltoall: return smddp_alltoall(c.send, c.recv, c.count, c.dtype, c.comm, o);
    case Collective::kGather: return smddp_gather(c.send, c.recv, c.count, c.dtype, c.root, c.comm, o);
    case Collective::kScatter: return smddp_scatter(c.send, c.recv, c.count, c.dtype, c.root, c.comm, o);
    case Collective::kBarrier: return smddp_barrier(c.comm, o);
    case Collective::kSendrecv: return run_sendrecv(c);
  }
  return SMDDP_ERR_INTERNAL;
}

}  // namespace smddp_bench
