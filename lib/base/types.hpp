// The element types, operations and collectives as plain tables: sizes, names, and which pairs are allowed.
#pragma once

#include <smddp/smddp.h>

#include <cstdint>
#include <string>

namespace smddp {

enum class Collective : uint8_t {
  kNone = 0,
  kAllreduce = 1,
  kBroadcast = 2,
  kReduce = 3,
  kAllgather = 4,
  kReduceScatter = 5,
  kAlltoall = 6,
  kGather = 7,
  kScatter = 8,
  kBarrier = 9,
  kSend = 10,
  kRecv = 11,
  kSplit = 12,
  kDup = 13,
  kReduceShares = 14,  // the two halves of an allreduce inside a node: each rank reduces its share of one vector,
  kGatherShares = 15,  // and takes the others' shares; both in place in vectors of count elements
};

// Bytes of an element; 0 for a value that is reserved or no type at all.
constexpr size_t dtype_bytes(smddp_dtype_t dtype) {
  constexpr uint8_t sizes[] = {0, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 1};
  return static_cast<unsigned>(dtype) < sizeof(sizes) ? sizes[dtype] : 0;
}

constexpr bool dtype_is_float(smddp_dtype_t dtype) { return dtype >= SMDDP_FLOAT16 && dtype <= SMDDP_FLOAT64; }

constexpr int kDtypeEnd = SMDDP_BOOL + 1;  // working types are 1 … kDtypeEnd − 1
constexpr int kOpEnd = SMDDP_BXOR + 1;     // working operations are 0 … kOpEnd − 1

// Whether the value names a type or operation that this version reserves for a later one.
bool dtype_is_reserved(smddp_dtype_t dtype);
bool op_is_reserved(smddp_op_t op);

const char* dtype_name(smddp_dtype_t dtype);
const char* op_name(smddp_op_t op);
const char* collective_name(Collective collective);

// A member of a job in words: "rank 3"; behind the ranks come the servers, "server 0".
std::string member_name(int member, int ranks);

}  // namespace smddp
