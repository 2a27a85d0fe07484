#include "arrangement.hpp"

namespace smddp_bench {

Arrangement::Arrangement(const Call& call, bool reduces, bool in_place, char* send_memory, char* recv_memory)
    : call_(call), pattern_{call.dtype, reduces, call.op, call.size, 0},
      shape_(shape_of(call.collective, call.count, call.rank, call.size, call.root)), send_(send_memory), recv_(recv_memory),
      memories_{send_memory, recv_memory} {
  smddp_dtype_size(call.dtype, &element_bytes_);
  overlaps_ = in_place && shape_.send > 0 && shape_.recv > 0;
  const size_t own_offset = call.count * element_bytes_ * static_cast<size_t>(call.rank);
  if (!overlaps_) {
    used_bytes_[0] = shape_.send * element_bytes_;
    used_bytes_[1] = shape_.recv * element_bytes_;
  } else if (shape_.send > shape_.recv) {
    recv_ = send_ + own_offset;
    used_bytes_[0] = shape_.send * element_bytes_;
  } else {
    send_ = shape_.recv > shape_.send ? recv_ + own_offset : recv_;
    used_bytes_[1] = shape_.recv * element_bytes_;
  }
  call_.send = shape_.send ? send_ : nullptr;
  call_.recv = shape_.recv ? recv_ : nullptr;
}

void Arrangement::poison_results() {
  // A root's buffer of broadcast is an input.
  if (call_.collective == Collective::kBroadcast && call_.rank == call_.root) return;
  poison(recv_, shape_.recv * element_bytes_);
}

void Arrangement::prepare(uint64_t repetition) {
  pattern_.repetition = repetition;
  for (int i = 0; i < 2; ++i) poison(memories_[i], used_bytes_[i] + kGuardBytes);
  if (call_.collective == Collective::kBroadcast) {
    if (call_.rank == call_.root) fill(pattern_, call_.root, 0, call_.count, recv_);
  } else {
    fill(pattern_, call_.rank, 0, shape_.send, send_);
  }
}

int64_t Arrangement::count_wrong_results() const {
  const size_t count = call_.count, own_first = count * static_cast<size_t>(call_.rank), block_bytes = count * element_bytes_;
  switch (call_.collective) {
    case Collective::kAllreduce: return smddp_bench::count_wrong(pattern_, kAllRanks, 0, count, recv_);
    case Collective::kReduce:
      if (call_.rank == call_.root) return smddp_bench::count_wrong(pattern_, kAllRanks, 0, count, recv_);
      if (overlaps_) return smddp_bench::count_wrong(pattern_, call_.rank, 0, count, recv_);
      return count_unpoisoned(recv_, block_bytes);
    case Collective::kBroadcast: return smddp_bench::count_wrong(pattern_, call_.root, 0, count, recv_);
    case Collective::kReduceScatter: return smddp_bench::count_wrong(pattern_, kAllRanks, own_first, count, recv_);
    case Collective::kScatter: return smddp_bench::count_wrong(pattern_, call_.root, own_first, count, recv_);
    case Collective::kSendrecv: {
      const int previous = (call_.rank + call_.size - 1) % call_.size;
      return smddp_bench::count_wrong(pattern_, previous, 0, count, recv_);
    }
    case Collective::kAllgather: case Collective::kGather: case Collective::kAlltoall: {
      int64_t wrong = 0;
      const size_t first = call_.collective == Collective::kAlltoall ? own_first : 0;
      for (int source = 0; source < call_.size && shape_.recv > 0; ++source) {
        wrong += smddp_bench::count_wrong(pattern_, source, first, count, recv_ + block_bytes * static_cast<size_t>(source));
      }
      return wrong;
    }
    case Collective::kBarrier: return 0;
  }
  return 0;
}

int64_t Arrangement::count_changed_inputs() const {
  // In place the result has taken the input's place, but for the root of scatter, whose result is a part of its input.
  if (overlaps_ && call_.collective != Collective::kScatter) return 0;
  return smddp_bench::count_wrong(pattern_, call_.rank, 0, shape_.send, send_);
}

int64_t Arrangement::count_wrong() const {
  int64_t wrong = count_wrong_results() + count_changed_inputs();
  for (int i = 0; i < 2; ++i) wrong += count_unpoisoned(memories_[i] + used_bytes_[i], kGuardBytes);
  return wrong;
}

}  // namespace smddp_bench
