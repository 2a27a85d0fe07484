#include "tensors.hpp"

#include <ATen/MemoryOverlap.h>

namespace torch_plugin {
namespace {

using RedOp = c10d::ReduceOp;

smddp_dtype_t known_dtype(at::ScalarType type) {
  switch (type) {
    case at::kChar: return SMDDP_INT8;
    case at::kByte: return SMDDP_UINT8;
    case at::kShort: return SMDDP_INT16;
    case at::kUInt16: return SMDDP_UINT16;
    case at::kInt: return SMDDP_INT32;
    case at::kUInt32: return SMDDP_UINT32;
    case at::kLong: return SMDDP_INT64;
    case at::kUInt64: return SMDDP_UINT64;
    case at::kHalf: return SMDDP_FLOAT16;
    case at::kBFloat16: return SMDDP_BFLOAT16;
    case at::kFloat: return SMDDP_FLOAT32;
    case at::kDouble: return SMDDP_FLOAT64;
    case at::kBool: return SMDDP_BOOL;
    default: return SMDDP_DTYPE_NONE;
  }
}

const char *name(RedOp::RedOpType op) {
  static const char *const names[] = {"SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "PREMUL_SUM"};
  return op <= RedOp::PREMUL_SUM ? names[op] : "UNUSED";
}

bool is_bitwise(RedOp::RedOpType op) { return op == RedOp::BAND || op == RedOp::BOR || op == RedOp::BXOR; }

}  // namespace

Elements elements_to_reduce(const at::Tensor &tensor, RedOp::RedOpType op, const char *call) {
  const at::ScalarType type = tensor.scalar_type();
  const size_t count = static_cast<size_t>(tensor.numel());
  if (at::isComplexType(type)) {
    TORCH_CHECK_VALUE(op == RedOp::SUM || op == RedOp::AVG || op == RedOp::PREMUL_SUM, call, " does not support ReduceOp.", name(op),
                      " on complex tensors");
    return {known_dtype(c10::toRealValueType(type)), 2 * count};
  }
  TORCH_CHECK_VALUE(!(type == at::kBool && op == RedOp::AVG), "Cannot use ReduceOp.AVG with boolean inputs");
  TORCH_CHECK_VALUE(!(is_bitwise(op) && !at::isIntegralType(type, true)), "Cannot use ReduceOp.", name(op), " with non-integral dtype ",
                    type);
  const smddp_dtype_t dtype = known_dtype(type);
  TORCH_CHECK_TYPE(dtype != SMDDP_DTYPE_NONE, call, " cannot reduce tensors of dtype ", type);
  return {dtype, count};
}

Elements elements_to_move(const at::Tensor &tensor) {
  const smddp_dtype_t dtype = known_dtype(tensor.scalar_type());
  if (dtype != SMDDP_DTYPE_NONE) return {dtype, static_cast<size_t>(tensor.numel())};
  return {SMDDP_UINT8, static_cast<size_t>(tensor.numel()) * tensor.element_size()};
}

smddp_op_t operation(RedOp::RedOpType op) {
  switch (op) {
    case RedOp::SUM:
    case RedOp::PREMUL_SUM: return SMDDP_SUM;
    case RedOp::AVG: return SMDDP_AVG;
    case RedOp::PRODUCT: return SMDDP_PROD;
    case RedOp::MIN: return SMDDP_MIN;
    case RedOp::MAX: return SMDDP_MAX;
    case RedOp::BAND: return SMDDP_BAND;
    case RedOp::BOR: return SMDDP_BOR;
    case RedOp::BXOR: return SMDDP_BXOR;
    default: TORCH_CHECK_VALUE(false, "smddp: unknown ReduceOp ", static_cast<int>(op));
  }
}

at::Tensor premultiply(const at::Tensor &tensor, const c10d::ReduceOp &op) {
  if (op.op_ != RedOp::PREMUL_SUM) return tensor;
  TORCH_CHECK_VALUE(op.supplement_, "ReduceOp.PREMUL_SUM has no factor");
  const auto &factor = static_cast<const c10d::PreMulSumSupplement &>(*op.supplement_);
  RawCopies raw;
  at::Tensor scaled = factor.tensor_factor.defined() ? at::mul(tensor, factor.tensor_factor.to(tensor.scalar_type()))
                                                     : at::mul(tensor, factor.double_factor);
  return scaled.to(tensor.scalar_type());
}

void check_tensor(const at::Tensor &tensor, const char *call) {
  TORCH_CHECK_VALUE(tensor.defined(), call, ": the tensor is undefined");
  TORCH_CHECK_VALUE(tensor.layout() == at::kStrided, call, ": smddp takes dense tensors, this one is ", tensor.layout());
  TORCH_CHECK_WITH(DistBackendError, tensor.device().is_cpu(), call, ": smddp takes tensors in host memory, this one is on ", tensor.device(),
                   " (", smddp_status_string(SMDDP_ERR_UNSUPPORTED), ")");
}

void check_tensors(at::TensorList tensors, const char *call) {
  for (const at::Tensor &tensor : tensors) check_tensor(tensor, call);
}

void check_writable(const at::Tensor &tensor, const char *call) {
  TORCH_CHECK_VALUE(tensor.is_contiguous() || at::has_internal_overlap(tensor) != at::MemOverlap::Yes, call,
                    ": several elements of the output share memory (an expanded tensor?); pass a clone of it");
}

at::Tensor &only(std::vector<at::Tensor> &tensors, const char *call) {
  TORCH_CHECK_VALUE(tensors.size() == 1, call, ": smddp takes one tensor from each rank, got ", tensors.size());
  check_tensor(tensors[0], call);
  return tensors[0];
}

bool is_plain(const at::Tensor &tensor) { return tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg(); }

at::Tensor plain_input(const at::Tensor &tensor) {
  if (is_plain(tensor)) return tensor;
  RawCopies raw;
  return tensor.resolve_conj().resolve_neg().contiguous();
}

at::Tensor plain_output(const at::Tensor &tensor) {
  if (is_plain(tensor)) return tensor;
  return at::empty(tensor.sizes(), tensor.options().memory_format(at::MemoryFormat::Contiguous));
}

at::Tensor flatten(at::TensorList tensors) {
  RawCopies raw;
  std::vector<at::Tensor> flat;
  flat.reserve(tensors.size());
  for (const at::Tensor &tensor : tensors) flat.push_back(tensor.reshape({-1}));
  return at::cat(flat).resolve_conj().resolve_neg();
}

bool all_alike(at::TensorList tensors, const at::Tensor &like) {
  for (const at::Tensor &tensor : tensors) {
    if (tensor.numel() != like.numel() || tensor.scalar_type() != like.scalar_type()) return false;
  }
  return true;
}

}  // namespace torch_plugin
