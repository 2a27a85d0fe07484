// The collectives as the benchmark sees them: shapes, bandwidth factors and one way to call them all.
// Invariant: sizes mean what nccl-tests mean, the bytes of the larger side.
#pragma once

#include <smddp/smddp.h>

#include <string>
#include <vector>

namespace smddp_bench {

enum class Collective { kAllreduce, kBroadcast, kReduce, kAllgather, kReduceScatter, kAlltoall, kGather, kScatter, kBarrier, kSendrecv };

struct Traits {
  Collective collective;
  const char* name;
  bool reduces;       // has an op
  bool rooted;
  bool has_in_place;  // a choice of in place and out of place
  bool larger_side_is_all;  // the larger side is one block of count a rank, not one block
};

const std::vector<Traits>& all_collectives();

// Bus bandwidth over algorithm bandwidth, as nccl-tests define it.
double bus_factor(Collective collective, int size);

// Elements of one rank's two buffers where they are apart, 0 where the rank needs none. Broadcast has recv alone.
struct Shape {
  size_t send = 0;
  size_t recv = 0;
};
Shape shape_of(Collective collective, size_t count, int rank, int size, int root);

// One call, ready to be made many times.
struct Call {
  Collective collective;
  const void* send;
  void* recv;
  size_t count;
  smddp_dtype_t dtype;
  smddp_op_t op;
  int root;
  smddp_comm_t comm;
  int rank, size;
  bool async;
  const char* algorithm;  // NULL: none is named
};

smddp_status_t run(const Call& call);

}  // namespace smddp_bench
