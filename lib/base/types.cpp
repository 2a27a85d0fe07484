#include "base/types.hpp"

namespace smddp {

bool dtype_is_reserved(smddp_dtype_t dtype) {
  switch (static_cast<int>(dtype)) {
    case SMDDP_FLOAT8_E4M3: case SMDDP_FLOAT8_E5M2: case SMDDP_COMPLEX64: case SMDDP_COMPLEX128: case SMDDP_FLOAT32_INT32:
    case SMDDP_FLOAT64_INT32: case SMDDP_INT32_INT32: case SMDDP_INT64_INT32: return true;
    default: return dtype >= SMDDP_DTYPE_USER;
  }
}

bool op_is_reserved(smddp_op_t op) { return (op >= SMDDP_PREMUL_SUM && op <= SMDDP_LXOR) || op >= SMDDP_OP_USER; }

const char* dtype_name(smddp_dtype_t dtype) {
  switch (static_cast<int>(dtype)) {
    case SMDDP_INT8: return "int8";
    case SMDDP_UINT8: return "uint8";
    case SMDDP_INT16: return "int16";
    case SMDDP_UINT16: return "uint16";
    case SMDDP_INT32: return "int32";
    case SMDDP_UINT32: return "uint32";
    case SMDDP_INT64: return "int64";
    case SMDDP_UINT64: return "uint64";
    case SMDDP_FLOAT16: return "float16";
    case SMDDP_BFLOAT16: return "bfloat16";
    case SMDDP_FLOAT32: return "float32";
    case SMDDP_FLOAT64: return "float64";
    case SMDDP_BOOL: return "bool";
    case SMDDP_FLOAT8_E4M3: return "float8_e4m3";
    case SMDDP_FLOAT8_E5M2: return "float8_e5m2";
    case SMDDP_COMPLEX64: return "complex64";
    case SMDDP_COMPLEX128: return "complex128";
    case SMDDP_FLOAT32_INT32: return "float32_int32";
    case SMDDP_FLOAT64_INT32: return "float64_int32";
    case SMDDP_INT32_INT32: return "int32_int32";
    case SMDDP_INT64_INT32: return "int64_int32";
    default: return "unknown";
  }
}

const char* op_name(smddp_op_t op) {
  switch (static_cast<int>(op)) {
    case SMDDP_SUM: return "sum";
    case SMDDP_AVG: return "avg";
    case SMDDP_PROD: return "prod";
    case SMDDP_MIN: return "min";
    case SMDDP_MAX: return "max";
    case SMDDP_BAND: return "band";
    case SMDDP_BOR: return "bor";
    case SMDDP_BXOR: return "bxor";
    case SMDDP_PREMUL_SUM: return "premul_sum";
    case SMDDP_MINLOC: return "minloc";
    case SMDDP_MAXLOC: return "maxloc";
    case SMDDP_LAND: return "land";
    case SMDDP_LOR: return "lor";
    case SMDDP_LXOR: return "lxor";
    default: return "unknown";
  }
}

const char* collective_name(Collective collective) {
  static constexpr const char* names[] = {"none",     "allreduce", "broadcast", "reduce", "allgather", "reduce_scatter", "alltoall",
                                          "gather",   "scatter",   "barrier",   "send",   "recv",      "split",          "dup",
                                          "reduce_shares", "gather_shares"};
  return static_cast<unsigned>(collective) < sizeof(names) / sizeof(names[0]) ? names[static_cast<unsigned>(collective)] : "unknown";
}

std::string member_name(int member, int ranks) {
  return member < ranks ? "rank " + std::to_string(member) : "server " + std::to_string(member - ranks);
}

}  // namespace smddp
