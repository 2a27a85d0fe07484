// Tensors as the library takes them: a pointer, a type and a count. Invariant: what goes to the library is contiguous and in the
// order of the tensor's indices, because that order is the only one that all ranks are known to share.
#pragma once
#include <ATen/ATen.h>
#include <smddp/smddp.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

namespace torch_plugin {

struct Elements {
  smddp_dtype_t dtype;
  size_t count;
};

// Type and count for a reduction; complex numbers become pairs of real ones. Throws ValueError or TypeError, with the dtype and the
// operation, for what cannot be reduced.
Elements elements_to_reduce(const at::Tensor &tensor, c10d::ReduceOp::RedOpType op, const char *call);

// Type and count for moving data; types that the library does not know travel as bytes.
Elements elements_to_move(const at::Tensor &tensor);

// The library's operation; PREMUL_SUM is SUM, its factor is applied before (premultiply).
smddp_op_t operation(c10d::ReduceOp::RedOpType op);

// The factor of PREMUL_SUM times the tensor, or the tensor itself for any other operation.
at::Tensor premultiply(const at::Tensor &tensor, const c10d::ReduceOp &op);

// Throws unless the tensor is a dense one in host memory.
void check_tensor(const at::Tensor &tensor, const char *call);
void check_tensors(at::TensorList tensors, const char *call);

// Throws if several elements of a tensor that is to be written share memory, as after expand().
void check_writable(const at::Tensor &tensor, const char *call);

// The only tensor of a list; more than one a rank is an error.
at::Tensor &only(std::vector<at::Tensor> &tensors, const char *call);

// Whether its memory can go to the library as it is.
bool is_plain(const at::Tensor &tensor);

// The tensor itself if it is plain, else a contiguous copy.
at::Tensor plain_input(const at::Tensor &tensor);

// The tensor itself if it is plain, else new contiguous memory; copied back with RawCopies in force.
at::Tensor plain_output(const at::Tensor &tensor);

// One contiguous tensor with the elements of all, in order.
at::Tensor flatten(at::TensorList tensors);

// Whether all tensors have this count of elements and this dtype.
bool all_alike(at::TensorList tensors, const at::Tensor &like);

// Keeps autograd out of the plugin's copies: without it a copy into a view that autograd tracks throws.
struct RawCopies {
  at::NoGradGuard no_grad;
  at::AutoDispatchBelowADInplaceOrView below;
};

}  // namespace torch_plugin
