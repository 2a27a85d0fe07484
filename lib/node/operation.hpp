// One collective of one rank inside a node, as the resumable state machines of this folder carry it: arguments, then how far it is.
#pragma once

#include "base/error.hpp"
#include "base/types.hpp"
#include "node/protocol.hpp"

#include <cstdint>

namespace smddp::node {

struct Call {
  Collective collective = Collective::kNone;
  smddp_dtype_t dtype = SMDDP_DTYPE_NONE;
  smddp_op_t op = SMDDP_SUM;
  int root = 0;
  size_t count = 0;  // as the public functions define it
  const void* sendbuf = nullptr;
  void* recvbuf = nullptr;
  int divisor = 1;      // AVG: ranks of the whole reduction
  bool finish = true;   // AVG: this operation's results are final
  uint8_t algorithm = 0;  // that the user wants: place in coll::algorithms(), from 1; 0: none, the library chooses
  int parts = 0, lanes = 0;  // ReduceShares, GatherShares: the vector is cut into parts, rank r < lanes owns lane r of them; 0: a share each
  const Call* whole = nullptr;  // the collective of several nodes that this is a step of
  uint32_t history = 0, number = 0;  // of such a step: stands for that collective and all calls before it; which one it is
};

enum class Step : uint8_t {
  kAgain,   // nothing to do until a peer moves
  kMoved,   // did something, more is to come
  kDone,
  kFailed,  // Operation::status says why
};

enum class Phase : uint8_t { kBegin, kEnter, kCollect, kStream, kDone };

struct Operation {
  Call call;
  int64_t deadline = 0;  // base/clock.hpp
  int64_t timeout_ms = 0;

  Phase phase = Phase::kBegin;
  bool large = false;
  uint32_t sequence = 0;
  uint64_t word = 0;
  int next_peer = 0;   // the first whose entry has not been seen
  int left_peer = -1;  // has left and was looked at once more

  // Large operations: segments of each rank's share, and how many of them this rank has posted, reduced and gathered.
  uint64_t base = 0;
  uint32_t segments = 0;
  uint32_t posted = 0, reduced = 0, gathered = 0;
  size_t segment_elements = 0;
  bool zero_send = false, zero_recv = false;

  Status status;
};

// 32 bits that differ, but for one chance in 2^32, when anything that ranks must agree on differs.
uint32_t signature(const Call& call);

// "allreduce(4096 × float32, sum)", "broadcast(16 × int8, root 2, by binomial)", "barrier()".
std::string call_text(const Call& call);

}  // namespace smddp::node
