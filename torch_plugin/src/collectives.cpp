// Reductions, broadcast and barrier of ProcessGroupSmddp.
#include "call.hpp"

namespace torch_plugin {
namespace {

using c10d::OpType;

constexpr Call::What kAllreduce{"all_reduce", "smddp:all_reduce", OpType::ALLREDUCE};
constexpr Call::What kAllreduceCoalesced{"all_reduce_coalesced", "smddp:all_reduce", OpType::ALLREDUCE_COALESCED};
constexpr Call::What kBroadcast{"broadcast", "smddp:broadcast", OpType::BROADCAST};
constexpr Call::What kReduce{"reduce", "smddp:reduce", OpType::REDUCE};
constexpr Call::What kReduceScatter{"reduce_scatter", "smddp:reduce_scatter", OpType::REDUCE_SCATTER};
constexpr Call::What kReduceScatterBase{"reduce_scatter_tensor", "smddp:_reduce_scatter_base", OpType::_REDUCE_SCATTER_BASE};
constexpr Call::What kReduceScatterCoalesced{"reduce_scatter_tensor_coalesced", "smddp:reduce_scatter_tensor_coalesced",
                                             OpType::REDUCE_SCATTER_TENSOR_COALESCED};
constexpr Call::What kBarrier{"barrier", "smddp:barrier", OpType::BARRIER};

void issue_allreduce(Call &call, const at::Tensor &tensor, const Elements &elements, const c10d::ReduceOp &op) {
  const at::Tensor input = plain_input(premultiply(tensor, op));
  const at::Tensor output = input.is_same(tensor) ? input : plain_output(tensor);
  const smddp_op_t operator_code = operation(op.op_);
  call.hold(input);
  call.issue([&](const smddp_call_options_t *options, smddp_request_t *request) {
    const void *sendbuf = input.const_data_ptr();
    void *recvbuf = output.data_ptr();
    return request ? smddp_allreduce_async(sendbuf, recvbuf, elements.count, elements.dtype, operator_code, call.comm(), options, request)
                   : smddp_allreduce(sendbuf, recvbuf, elements.count, elements.dtype, operator_code, call.comm(), options);
  });
  call.copy_back(tensor, output);
}

// output: one rank's share; input: the shares of all, contiguous.
void issue_reduce_scatter(Call &call, const at::Tensor &output, const at::Tensor &input, const Elements &share, const c10d::ReduceOp &op) {
  const at::Tensor from = plain_input(premultiply(input, op));
  const at::Tensor to = plain_output(output);
  const smddp_op_t operator_code = operation(op.op_);
  call.hold(from);
  call.issue([&](const smddp_call_options_t *options, smddp_request_t *request) {
    const void *sendbuf = from.const_data_ptr();
    void *recvbuf = to.data_ptr();
    return request ? smddp_reduce_scatter_async(sendbuf, recvbuf, share.count, share.dtype, operator_code, call.comm(), options, request)
                   : smddp_reduce_scatter(sendbuf, recvbuf, share.count, share.dtype, operator_code, call.comm(), options);
  });
  call.copy_back(output, to);
}

void issue_reduce(Call &call, const at::Tensor &input, const at::Tensor *output, const Elements &elements, const c10d::ReduceOp &op,
                  int root) {
  const at::Tensor from = plain_input(premultiply(input, op));
  const at::Tensor to = output ? (from.is_same(*output) ? from : plain_output(*output)) : at::Tensor();
  const smddp_op_t operator_code = operation(op.op_);
  call.hold(from);
  call.issue([&](const smddp_call_options_t *options, smddp_request_t *request) {
    const void *sendbuf = from.const_data_ptr();
    void *recvbuf = output ? to.data_ptr() : nullptr;
    return request
               ? smddp_reduce_async(sendbuf, recvbuf, elements.count, elements.dtype, operator_code, root, call.comm(), options, request)
               : smddp_reduce(sendbuf, recvbuf, elements.count, elements.dtype, operator_code, root, call.comm(), options);
  });
  if (output) call.copy_back(*output, to);
}

void check_share(const at::Tensor &output, const at::Tensor &input, int size, const char *call) {
  check_tensor(output, call);
  check_tensor(input, call);
  TORCH_CHECK_VALUE(input.scalar_type() == output.scalar_type(), call, ": input is ", input.scalar_type(), ", output ",
                    output.scalar_type());
  TORCH_CHECK_VALUE(input.numel() == output.numel() * size, call, ": input must have ", size, " times the ", output.numel(),
                    " elements of the output, it has ", input.numel());
  check_writable(output, call);
}

}  // namespace

ProcessGroupSmddp::WorkPtr ProcessGroupSmddp::allreduce(Tensors &tensors, const c10d::AllreduceOptions &options) {
  const at::Tensor &tensor = only(tensors, kAllreduce.name);
  const Elements elements = elements_to_reduce(tensor, options.reduceOp.op_, kAllreduce.name);
  check_writable(tensor, kAllreduce.name);
  Call call(*this, kAllreduce, tensors, tensors, options.timeout, options.asyncOp);
  issue_allreduce(call, tensor, elements, options.reduceOp);
  return call.launch();
}

ProcessGroupSmddp::WorkPtr ProcessGroupSmddp::allreduce_coalesced(Tensors &tensors, const c10d::AllreduceCoalescedOptions &options) {
  check_tensors(tensors, kAllreduceCoalesced.name);
  std::vector<Elements> elements;
  for (const at::Tensor &tensor : tensors) {
    elements.push_back(elements_to_reduce(tensor, options.reduceOp.op_, kAllreduceCoalesced.name));
    check_writable(tensor, kAllreduceCoalesced.name);
  }
  Call call(*this, kAllreduceCoalesced, tensors, tensors, options.timeout, options.asyncOp);
  for (size_t i = 0; i < tensors.size(); ++i) issue_allreduce(call, tensors[i], elements[i], options.reduceOp);
  return call.launch();
}

ProcessGroupSmddp::WorkPtr ProcessGroupSmddp::broadcast(Tensors &tensors, const c10d::BroadcastOptions &options) {
  const at::Tensor &tensor = only(tensors, kBroadcast.name);
  check_root(options.rootRank, kBroadcast.name);
  const int root = static_cast<int>(options.rootRank);
  const bool is_root = root == rank_;
  if (!is_root) check_writable(tensor, kBroadcast.name);
  const Elements elements = elements_to_move(tensor);
  Call call(*this, kBroadcast, tensors, tensors, options.timeout, options.asyncOp);
  const at::Tensor plain = is_root ? plain_input(tensor) : plain_output(tensor);
  call.issue([&](const smddp_call_options_t *opts, smddp_request_t *request) {
    void *buffer = plain.data_ptr();
    return request ? smddp_broadcast_async(buffer, elements.count, elements.dtype, root, comm_, opts, request)
                   : smddp_broadcast(buffer, elements.count, elements.dtype, root, comm_, opts);
  });
  if (is_root) {
    call.hold(plain);
  } else {
    call.copy_back(tensor, plain);
  }
  return call.launch();
}

ProcessGroupSmddp::WorkPtr ProcessGroupSmddp::reduce(Tensors &tensors, const c10d::ReduceOptions &options) {
  const at::Tensor &tensor = only(tensors, kReduce.name);
  check_root(options.rootRank, kReduce.name);
  const int root = static_cast<int>(options.rootRank);
  const Elements elements = elements_to_reduce(tensor, options.reduceOp.op_, kReduce.name);
  if (root == rank_) check_writable(tensor, kReduce.name);
  Call call(*this, kReduce, tensors, tensors, options.timeout, options.asyncOp);
  issue_reduce(call, tensor, root == rank_ ? &tensor : nullptr, elements, options.reduceOp, root);
  return call.launch();
}

ProcessGroupSmddp::WorkPtr ProcessGroupSmddp::reduce_scatter(Tensors &outputs, TensorLists &inputs,
                                                             const c10d::ReduceScatterOptions &options) {
  const char *name = kReduceScatter.name;
  const at::Tensor &output = only(outputs, name);
  TORCH_CHECK_VALUE(inputs.size() == 1, name, ": smddp takes one list of tensors from each rank, got ", inputs.size());
  const Tensors &shares = inputs[0];
  check_list(shares.size(), "inputs", name);
  check_tensors(shares, name);
  for (const at::Tensor &share : shares) {
    TORCH_CHECK_VALUE(share.scalar_type() == output.scalar_type(), name, ": inputs and output must have one dtype");
  }
  TORCH_CHECK_VALUE(shares[rank_].numel() == output.numel(), name, ": input ", rank_, " has ", shares[rank_].numel(),
                    " elements, the output ", output.numel());
  check_writable(output, name);
  const Elements mine = elements_to_reduce(output, options.reduceOp.op_, name);
  Call call(*this, kReduceScatter, shares, outputs, options.timeout, options.asyncOp);
  if (all_alike(shares, output)) {
    issue_reduce_scatter(call, output, flatten(shares), mine, options.reduceOp);
    return call.launch();
  }
  for (int root = 0; root < size_; ++root) {
    const Elements elements = elements_to_reduce(shares[root], options.reduceOp.op_, name);
    issue_reduce(call, shares[root], root == rank_ ? &output : nullptr, elements, options.reduceOp, root);
  }
  return call.launch();
}

ProcessGroupSmddp::WorkPtr ProcessGroupSmddp::_reduce_scatter_base(at::Tensor &output, at::Tensor &input,
                                                                   const c10d::ReduceScatterOptions &options) {
  check_share(output, input, size_, kReduceScatterBase.name);
  const Elements share = elements_to_reduce(output, options.reduceOp.op_, kReduceScatterBase.name);
  Call call(*this, kReduceScatterBase, {input}, {output}, options.timeout, options.asyncOp);
  issue_reduce_scatter(call, output, input, share, options.reduceOp);
  return call.launch();
}

ProcessGroupSmddp::WorkPtr ProcessGroupSmddp::reduce_scatter_tensor_coalesced(Tensors &outputs, Tensors &inputs,
                                                                              const c10d::ReduceScatterOptions &options) {
  const char *name = kReduceScatterCoalesced.name;
  TORCH_CHECK_VALUE(outputs.size() == inputs.size(), name, ": ", outputs.size(), " outputs for ", inputs.size(), " inputs");
  std::vector<Elements> shares;
  for (size_t i = 0; i < outputs.size(); ++i) {
    check_share(outputs[i], inputs[i], size_, name);
    shares.push_back(elements_to_reduce(outputs[i], options.reduceOp.op_, name));
  }
  Call call(*this, kReduceScatterCoalesced, inputs, outputs, options.timeout, options.asyncOp);
  for (size_t i = 0; i < outputs.size(); ++i) issue_reduce_scatter(call, outputs[i], inputs[i], shares[i], options.reduceOp);
  return call.launch();
}

ProcessGroupSmddp::WorkPtr ProcessGroupSmddp::barrier(const c10d::BarrierOptions &options) {
  Call call(*this, kBarrier, {}, {}, options.timeout, options.asyncOp);
  call.issue([&](const smddp_call_options_t *opts, smddp_request_t *request) {
    return request ? smddp_barrier_async(comm_, opts, request) : smddp_barrier(comm_, opts);
  });
  return call.launch();
}

}  // namespace torch_plugin
