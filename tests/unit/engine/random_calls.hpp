// Random collectives and messages: what all ranks draw alike from one seed, their inputs, and a plain reference of their results.
// Values are such that sums and products are exact in every type, so that results are compared byte by byte whatever the order.
#pragma once

#include "base/error.hpp"
#include "coll/algorithms.hpp"
#include "node/shape.hpp"
#include "reduce/reduce.hpp"
#include "unit/reduce/reference.hpp"

#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace test {

using namespace smddp;

struct RandomCall {
  uint64_t number = 0;  // of all calls of a world
  size_t comm = 0;
  Collective collective = Collective::kNone;  // kSend: a message from root to peer
  smddp_dtype_t dtype = SMDDP_UINT8;
  smddp_op_t op = SMDDP_SUM;
  size_t count = 0;
  int root = 0, peer = 0, tag = 0;
  bool any_source = false;
  bool in_place = false;
  const coll::Algorithm* algorithm = nullptr;  // NULL: the members are on one node
  size_t segment_elements = 0;

  size_t bytes() const { return count * dtype_bytes(dtype); }
  std::string text(const coll::Shape& shape) const {
    node::Call call;
    call.collective = collective;
    call.dtype = dtype;
    call.op = op;
    call.count = count;
    call.root = root;
    return format("call %llu, %s%s on comm %zu of %s, by %s in segments of %zu", static_cast<unsigned long long>(number),
                  node::call_text(call).c_str(), in_place ? " in place" : "", comm, coll::describe(shape).c_str(),
                  algorithm ? algorithm->name : "the node group", segment_elements);
  }
};

inline uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Element i of a rank's contribution.
inline void put_input(const RandomCall& call, int rank, size_t i, unsigned char* out) {
  const uint64_t bits = mix(mix(call.number * 64 + static_cast<uint64_t>(rank) + 1) + i);
  if (!dtype_is_float(call.dtype)) {
    std::memcpy(out, &bits, dtype_bytes(call.dtype));
    if (call.dtype == SMDDP_BOOL && bits % 4 == 0) *out = 0;
    return;
  }
  constexpr double factors[] = {1, -1, 2, -2, 0.5, -0.5, 1, -1};
  const double value = call.op == SMDDP_PROD ? factors[bits % 8] : 0.5 * static_cast<double>(static_cast<int>(bits % 33) - 16);
  const auto single = static_cast<float>(value);
  const uint16_t half = unit::reduce::half_from_double(call.dtype == SMDDP_FLOAT16 ? unit::reduce::kFloat16 : unit::reduce::kBfloat16, value);
  const void* from = call.dtype == SMDDP_FLOAT64 ? static_cast<const void*>(&value) : call.dtype == SMDDP_FLOAT32 ? static_cast<const void*>(&single) : &half;
  std::memcpy(out, from, dtype_bytes(call.dtype));
}

inline void put_inputs(const RandomCall& call, int rank, size_t first, size_t count, unsigned char* out) {
  const size_t element = dtype_bytes(call.dtype);
  for (size_t i = 0; i < count; ++i) put_input(call, rank, first + i, out + i * element);
}

inline bool gathers_blocks(Collective collective) {
  return collective == Collective::kAllgather || collective == Collective::kGather || collective == Collective::kAlltoall;
}

// What a rank must have received; empty: nothing.
inline std::vector<unsigned char> expected(const RandomCall& call, int rank, int size) {
  const size_t element = dtype_bytes(call.dtype), me = static_cast<size_t>(rank) * call.count;
  const bool target = !node::has_root_target(call.collective) || rank == call.root;
  const bool blocks = gathers_blocks(call.collective);
  std::vector<unsigned char> result(target ? call.bytes() * (blocks ? static_cast<size_t>(size) : 1) : 0);
  if (result.empty()) return result;
  if (node::reduces(call.collective)) {
    std::vector<std::vector<unsigned char>> inputs;
    std::vector<const unsigned char*> pointers;
    for (int r = 0; r < size; ++r) {
      inputs.emplace_back(call.bytes());
      put_inputs(call, r, call.collective == Collective::kReduceScatter ? me : 0, call.count, inputs.back().data());
      pointers.push_back(inputs.back().data());
    }
    for (size_t i = 0; i < call.count; ++i) {
      unit::reduce::reference(call.dtype, call.op, pointers.data(), size, size, true, i, result.data() + i * element);
    }
    return result;
  }
  for (int r = 0; blocks && r < size; ++r) {
    put_inputs(call, r, call.collective == Collective::kAlltoall ? me : 0, call.count, result.data() + static_cast<size_t>(r) * call.bytes());
  }
  if (!blocks) put_inputs(call, call.root, call.collective == Collective::kScatter ? me : 0, call.count, result.data());
  return result;
}

class Drawing {
 public:
  Drawing(uint64_t seed, const std::vector<coll::Shape>& comms) : random_(seed), comms_(comms) {}

  RandomCall next() {
    RandomCall call;
    call.number = ++calls_;
    call.comm = below(comms_.size());
    const coll::Shape& shape = comms_[call.comm];
    const auto size = static_cast<size_t>(shape.size());
    call.root = static_cast<int>(below(size));
    if (below(6) == 0) {
      draw_message(call, size);
      return call;
    }
    call.collective = static_cast<Collective>(1 + below(9));
    draw_type(call);
    static constexpr size_t counts[] = {0, 1, 2, 7, 28, 29, 63, 64, 65, 113, 500, 1000, 2049, 5000, 20000};
    call.count = call.collective == Collective::kBarrier ? 0 : counts[below(std::size(counts))];
    if (node::sends_blocks(call.collective) || gathers_blocks(call.collective)) call.count = (call.count + size - 1) / size;
    if (!node::has_root_source(call.collective) && !node::has_root_target(call.collective)) call.root = 0;
    call.in_place = below(3) == 0 || call.collective == Collective::kBroadcast;
    if (shape.node_count() > 1) draw_algorithm(call, shape);
    return call;
  }

 private:
  size_t below(size_t limit) { return static_cast<size_t>(random_() % limit); }

  void draw_message(RandomCall& call, size_t size) {
    static constexpr size_t counts[] = {0, 1, 50, 64, 200, 3000, 60000, 200000};
    call.collective = Collective::kSend;
    call.peer = static_cast<int>((static_cast<size_t>(call.root) + 1 + below(size - 1)) % size);
    call.count = counts[below(std::size(counts))];
    call.any_source = below(4) == 0;
    call.tag = call.any_source ? 1000 + static_cast<int>(call.number) : static_cast<int>(below(3));
  }

  void draw_type(RandomCall& call) {
    if (call.collective == Collective::kBarrier) {
      call.dtype = SMDDP_DTYPE_NONE;
      return;
    }
    do {
      call.dtype = static_cast<smddp_dtype_t>(1 + below(kDtypeEnd - 1));
      call.op = node::reduces(call.collective) ? static_cast<smddp_op_t>(below(kOpEnd)) : SMDDP_SUM;
    } while (!reduce::kernel(call.dtype, call.op));
  }

  void draw_algorithm(RandomCall& call, const coll::Shape& shape) {
    const auto& all = coll::algorithms();
    do {
      call.algorithm = &all[below(all.size())];
    } while (call.algorithm->collective != call.collective || (call.algorithm->fits && !call.algorithm->fits(shape)));
    call.segment_elements = size_t{64} << below(10);
    if (call.segment_elements * 100 < call.count) call.segment_elements = 0;
  }

  std::mt19937_64 random_;
  const std::vector<coll::Shape>& comms_;
  uint64_t calls_ = 0;
};

}  // namespace test
