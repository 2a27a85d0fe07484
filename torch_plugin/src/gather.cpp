// All-gather, gather and scatter of ProcessGroupSmddp.
#include "call.hpp"

namespace torch_plugin {
namespace {

using c10d::OpType;
using Tensors = std::vector<at::Tensor>;

constexpr Call::What kAllgather{"all_gather", "smddp:all_gather", OpType::ALLGATHER};
constexpr Call::What kAllgatherBase{"all_gather_into_tensor", "smddp:_all_gather_base", OpType::_ALLGATHER_BASE};
constexpr Call::What kAllgatherCoalesced{"all_gather_coalesced", "smddp:all_gather_coalesced", OpType::ALLGATHER_COALESCED};
constexpr Call::What kGather{"gather", "smddp:gather", OpType::GATHER};
constexpr Call::What kScatter{"scatter", "smddp:scatter", OpType::SCATTER};

// A tensor for the blocks of all ranks, in rank order.
at::Tensor blocks_like(const at::Tensor &block, int size) { return at::empty({size, block.numel()}, block.options()); }

void copy_out(Call &call, const at::Tensor &blocks, const Tensors &outputs) {
  call.after([blocks, outputs](SmddpWork &) {
    for (size_t i = 0; i < outputs.size(); ++i) at::Tensor(outputs[i]).copy_(blocks[static_cast<int64_t>(i)].view(outputs[i].sizes()));
  });
}

void issue_allgather(Call &call, const at::Tensor &output, const at::Tensor &input) {
  const at::Tensor from = plain_input(input);
  const at::Tensor to = plain_output(output);
  const Elements block = elements_to_move(from);
  call.hold(from);
  call.issue([&](const smddp_call_options_t *options, smddp_request_t *request) {
    return request ? smddp_allgather_async(from.const_data_ptr(), to.data_ptr(), block.count, block.dtype, call.comm(), options, request)
                   : smddp_allgather(from.const_data_ptr(), to.data_ptr(), block.count, block.dtype, call.comm(), options);
  });
  call.copy_back(output, to);
}

// Blocks of different lengths: one broadcast from each rank.
void issue_uneven_allgather(Call &call, const Tensors &outputs, const at::Tensor &input, int rank) {
  for (int root = 0; root < static_cast<int>(outputs.size()); ++root) {
    const at::Tensor plain = root == rank ? plain_input(input) : plain_output(outputs[root]);
    const Elements elements = elements_to_move(plain);
    call.hold(plain);
    call.issue([&](const smddp_call_options_t *options, smddp_request_t *request) {
      return request ? smddp_broadcast_async(plain.data_ptr(), elements.count, elements.dtype, root, call.comm(), options, request)
                     : smddp_broadcast(plain.data_ptr(), elements.count, elements.dtype, root, call.comm(), options);
    });
    call.copy_back(outputs[root], plain);
  }
}

void check_blocks(const at::Tensor &output, const at::Tensor &input, int size, const char *call) {
  check_tensor(output, call);
  check_tensor(input, call);
  TORCH_CHECK_VALUE(input.scalar_type() == output.scalar_type(), call, ": input is ", input.scalar_type(), ", output ",
                    output.scalar_type());
  TORCH_CHECK_VALUE(output.numel() == input.numel() * size, call, ": output must have ", size, " times the ", input.numel(),
                    " elements of the input, it has ", output.numel());
  check_writable(output, call);
}

// The outputs of one rank's call; each must fit the block of its rank.
void check_outputs(const Tensors &outputs, const at::Tensor &input, int rank, const char *call) {
  check_tensors(outputs, call);
  for (const at::Tensor &output : outputs) {
    TORCH_CHECK_VALUE(output.scalar_type() == input.scalar_type(), call, ": input is ", input.scalar_type(), ", an output ",
                      output.scalar_type());
    check_writable(output, call);
  }
  TORCH_CHECK_VALUE(outputs[rank].numel() == input.numel(), call, ": output ", rank, " has ", outputs[rank].numel(),
                    " elements, the input of this rank ", input.numel());
}

}  // namespace

ProcessGroupSmddp::WorkPtr ProcessGroupSmddp::allgather(TensorLists &outputs, Tensors &inputs, const c10d::AllgatherOptions &options) {
  const at::Tensor &input = only(inputs, kAllgather.name);
  TORCH_CHECK_VALUE(outputs.size() == 1, kAllgather.name, ": smddp takes one list of outputs from each rank, got ", outputs.size());
  check_list(outputs[0].size(), "outputs", kAllgather.name);
  check_outputs(outputs[0], input, rank_, kAllgather.name);
  Call call(*this, kAllgather, inputs, outputs[0], options.timeout, options.asyncOp);
  if (all_alike(outputs[0], input)) {
    const at::Tensor blocks = blocks_like(input, size_);
    issue_allgather(call, blocks, input);
    copy_out(call, blocks, outputs[0]);
  } else {
    issue_uneven_allgather(call, outputs[0], input, rank_);
  }
  return call.launch();
}

ProcessGroupSmddp::WorkPtr ProcessGroupSmddp::allgather_coalesced(TensorLists &outputs, Tensors &inputs,
                                                                  const c10d::AllgatherOptions &options) {
  const char *name = kAllgatherCoalesced.name;
  check_list(outputs.size(), "output lists", name);
  check_tensors(inputs, name);
  std::vector<Tensors> of_input(inputs.size());
  Tensors all;
  for (const Tensors &of_rank : outputs) {
    TORCH_CHECK_VALUE(of_rank.size() == inputs.size(), name, ": a list of ", of_rank.size(), " outputs for ", inputs.size(), " inputs");
    for (size_t i = 0; i < inputs.size(); ++i) of_input[i].push_back(of_rank[i]);
    all.insert(all.end(), of_rank.begin(), of_rank.end());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_outputs(of_input[i], inputs[i], rank_, name);
    TORCH_CHECK_VALUE(all_alike(of_input[i], inputs[i]), name, ": outputs must have the ", inputs[i].numel(), " elements of the input");
  }
  Call call(*this, kAllgatherCoalesced, inputs, all, options.timeout, options.asyncOp);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const at::Tensor blocks = blocks_like(inputs[i], size_);
    issue_allgather(call, blocks, inputs[i]);
    copy_out(call, blocks, of_input[i]);
  }
  return call.launch();
}

ProcessGroupSmddp::WorkPtr ProcessGroupSmddp::_allgather_base(at::Tensor &output, at::Tensor &input,
                                                              const c10d::AllgatherOptions &options) {
  check_blocks(output, input, size_, kAllgatherBase.name);
  Call call(*this, kAllgatherBase, {input}, {output}, options.timeout, options.asyncOp);
  issue_allgather(call, output, input);
  return call.launch();
}

ProcessGroupSmddp::WorkPtr ProcessGroupSmddp::allgather_into_tensor_coalesced(Tensors &outputs, Tensors &inputs,
                                                                              const c10d::AllgatherOptions &options) {
  const char *name = kAllgatherCoalesced.name;
  TORCH_CHECK_VALUE(outputs.size() == inputs.size(), name, ": ", outputs.size(), " outputs for ", inputs.size(), " inputs");
  for (size_t i = 0; i < outputs.size(); ++i) check_blocks(outputs[i], inputs[i], size_, name);
  Call call(*this, kAllgatherCoalesced, inputs, outputs, options.timeout, options.asyncOp);
  for (size_t i = 0; i < outputs.size(); ++i) issue_allgather(call, outputs[i], inputs[i]);
  return call.launch();
}

ProcessGroupSmddp::WorkPtr ProcessGroupSmddp::gather(TensorLists &outputs, Tensors &inputs, const c10d::GatherOptions &options) {
  const char *name = kGather.name;
  const at::Tensor &input = only(inputs, name);
  check_root(options.rootRank, name);
  const int root = static_cast<int>(options.rootRank);
  const bool is_root = root == rank_;
  TORCH_CHECK_VALUE(outputs.size() == (is_root ? 1u : 0u), name, ": ", outputs.size(), " lists of outputs on rank ", rank_,
                    ", root is rank ", root);
  if (is_root) {
    check_list(outputs[0].size(), "outputs", name);
    check_outputs(outputs[0], input, rank_, name);
    TORCH_CHECK_VALUE(all_alike(outputs[0], input), name, ": every output must have the ", input.numel(), " elements of the input");
  }
  const Elements block = elements_to_move(input);
  Call call(*this, kGather, inputs, is_root ? outputs[0] : Tensors{}, options.timeout, options.asyncOp);
  const at::Tensor from = plain_input(input);
  const at::Tensor blocks = is_root ? blocks_like(input, size_) : at::Tensor();
  call.hold(from);
  call.issue([&](const smddp_call_options_t *opts, smddp_request_t *request) {
    void *recvbuf = is_root ? blocks.data_ptr() : nullptr;
    return request ? smddp_gather_async(from.const_data_ptr(), recvbuf, block.count, block.dtype, root, comm_, opts, request)
                   : smddp_gather(from.const_data_ptr(), recvbuf, block.count, block.dtype, root, comm_, opts);
  });
  if (is_root) copy_out(call, blocks, outputs[0]);
  return call.launch();
}

ProcessGroupSmddp::WorkPtr ProcessGroupSmddp::scatter(Tensors &outputs, TensorLists &inputs, const c10d::ScatterOptions &options) {
  const char *name = kScatter.name;
  const at::Tensor &output = only(outputs, name);
  check_root(options.rootRank, name);
  const int root = static_cast<int>(options.rootRank);
  const bool is_root = root == rank_;
  check_writable(output, name);
  TORCH_CHECK_VALUE(inputs.size() == (is_root ? 1u : 0u), name, ": ", inputs.size(), " lists of inputs on rank ", rank_, ", root is rank ",
                    root);
  if (is_root) {
    check_list(inputs[0].size(), "inputs", name);
    check_tensors(inputs[0], name);
    TORCH_CHECK_VALUE(all_alike(inputs[0], output), name, ": every input must have the ", output.numel(),
                      " elements and the dtype of the output");
  }
  const Elements block = elements_to_move(output);
  Call call(*this, kScatter, is_root ? inputs[0] : Tensors{}, outputs, options.timeout, options.asyncOp);
  const at::Tensor from = is_root ? flatten(inputs[0]) : at::Tensor();
  const at::Tensor to = plain_output(output);
  if (is_root) call.hold(from);
  call.issue([&](const smddp_call_options_t *opts, smddp_request_t *request) {
    const void *sendbuf = is_root ? from.const_data_ptr() : nullptr;
    return request ? smddp_scatter_async(sendbuf, to.data_ptr(), block.count, block.dtype, root, comm_, opts, request)
                   : smddp_scatter(sendbuf, to.data_ptr(), block.count, block.dtype, root, comm_, opts);
  });
  call.copy_back(output, to);
  return call.launch();
}

}  // namespace torch_plugin
