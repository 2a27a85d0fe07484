// Tensors in memory that peers on this node read in place. They may outlive their process group.
#include "call.hpp"

namespace torch_plugin {

at::Tensor ProcessGroupSmddp::allocateTensor(long size, at::TensorOptions options) {
  constexpr const char *kCall = "allocate_tensor";
  TORCH_CHECK_VALUE(size >= 0, kCall, ": size is ", size);
  TORCH_CHECK_VALUE(options.layout() == at::kStrided, kCall, ": smddp has dense tensors only, asked for ", options.layout());
  TORCH_CHECK_VALUE(options.device().is_cpu(), kCall, ": smddp gives host memory only, asked for device ", options.device());
  const Entry entry(*this, kCall);
  const size_t bytes = static_cast<size_t>(size) * options.dtype().itemsize();
  void *memory = nullptr;
  const smddp_status_t status = smddp_alloc(comm_, bytes, &memory);
  if (status != SMDDP_SUCCESS) {
    TORCH_WARN_ONCE("smddp: rank ", rank_, ": ", kCall, ": ", smddp_last_error(), "; such tensors take private memory, which costs a copy");
  }
  if (!memory) return at::empty({size}, options);
  return at::from_blob(memory, {size}, [](void *pointer) { smddp_free(pointer); }, options);
}

}  // namespace torch_plugin
