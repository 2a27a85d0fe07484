// All-to-all, send, receive and the monitored barrier of ProcessGroupSmddp.
#include "call.hpp"

#include <ATen/MemoryOverlap.h>
#include <torch/csrc/distributed/c10d/Utils.hpp>

namespace torch_plugin {
namespace {

using c10d::OpType;
using Tensors = std::vector<at::Tensor>;

constexpr Call::What kAlltoallBase{"all_to_all_single", "smddp:all_to_all", OpType::ALLTOALL_BASE};
constexpr Call::What kAlltoall{"all_to_all", "smddp:all_to_all", OpType::ALLTOALL};
constexpr Call::What kSend{"send", "smddp:send", OpType::SEND};
constexpr Call::What kRecv{"recv", "smddp:recv", OpType::RECV};
constexpr Call::What kRecvAny{"recv", "smddp:recvAnySource", OpType::RECVANYSOURCE};

// Messages between all pairs: to[r] goes to rank r, from[r] comes from it. All are contiguous.
void post_exchange(Call &call, const Tensors &to, const Tensors &from, int rank, int tag) {
  const int size = static_cast<int>(to.size());
  std::vector<int> sources;
  for (int i = 1; i < size; ++i) {
    const int peer = (rank - i + size) % size;
    call.post([&](const smddp_call_options_t *options, smddp_request_t *request) {
      return smddp_recv_async(from[peer].data_ptr(), from[peer].nbytes(), SMDDP_UINT8, peer, tag, call.comm(), options, request);
    });
    sources.push_back(peer);
  }
  for (int i = 1; i < size; ++i) {
    const int peer = (rank + i) % size;
    call.post([&](const smddp_call_options_t *options, smddp_request_t *request) {
      return smddp_send_async(to[peer].const_data_ptr(), to[peer].nbytes(), SMDDP_UINT8, peer, tag, call.comm(), options, request);
    });
  }
  for (const at::Tensor &tensor : to) call.hold(tensor);
  const smddp_comm_t comm = call.comm();
  call.after([from, sources, comm](SmddpWork &work) {
    for (size_t i = 0; i < sources.size(); ++i) {
      const size_t got = work.message(i).bytes, expected = from[sources[i]].nbytes();
      if (got == expected) continue;
      const std::string text = c10::str("rank ", sources[i], " sent ", got, " bytes, rank ", work.place().rank, " expects ", expected);
      smddp_comm_abort(comm, text.c_str());  // the sender has left its call and learns of it by the next one
      throw_error(work.place(), SMDDP_ERR_MISMATCH, text.c_str());
    }
  });
  const at::Tensor mine_to = to[rank], mine_from = from[rank];
  TORCH_CHECK_VALUE(mine_to.numel() == mine_from.numel(), "all_to_all: rank ", rank, " sends ", mine_to.numel(),
                    " elements to itself and expects ", mine_from.numel());
  RawCopies raw;
  at::Tensor(mine_from).copy_(mine_to.view(mine_from.sizes()));
}

// The input, or a copy of it where an output lies in the same memory: messages arrive while others are still to be sent.
at::Tensor apart(const at::Tensor &input, const Tensors &outputs) {
  for (const at::Tensor &output : outputs) {
    if (at::get_overlap_status(input, output) != at::MemOverlapStatus::No) return input.clone();
  }
  return input;
}

// The parts of a contiguous tensor along its first dimension, as vectors.
Tensors cut(const at::Tensor &tensor, const std::vector<int64_t> &splits, int size) {
  std::vector<size_t> lengths(size), offsets(size);
  c10d::computeLengthsAndOffsets(splits, tensor, &lengths, &offsets);
  const at::Tensor flat = tensor.view({-1});
  Tensors parts;
  for (int i = 0; i < size; ++i) parts.push_back(flat.narrow(0, static_cast<int64_t>(offsets[i]), static_cast<int64_t>(lengths[i])));
  return parts;
}

}  // namespace

ProcessGroupSmddp::WorkPtr ProcessGroupSmddp::alltoall_base(at::Tensor &output, at::Tensor &input, std::vector<int64_t> &output_splits,
                                                            std::vector<int64_t> &input_splits, const c10d::AllToAllOptions &options) {
  const char *name = kAlltoallBase.name;
  check_tensor(output, name);
  check_tensor(input, name);
  check_writable(output, name);
  TORCH_CHECK_VALUE(output.scalar_type() == input.scalar_type(), name, ": input is ", input.scalar_type(), ", output ", output.scalar_type());
  c10d::checkSplitSizes(input_splits, input, size_);
  c10d::checkSplitSizes(output_splits, output, size_);
  // Ranks with splits talk in messages, ranks without call one collective: either all give splits or none does.
  const bool even = input_splits.empty() && output_splits.empty();
  if (even) {
    TORCH_CHECK_VALUE(output.numel() == input.numel(), name, ": input has ", input.numel(), " elements, output ", output.numel());
  }
  Call call(*this, kAlltoallBase, {input}, {output}, options.timeout, options.asyncOp, even ? Call::kOrdered : Call::kUnordered);
  const at::Tensor to = plain_output(output);
  const at::Tensor from = even ? plain_input(input) : apart(plain_input(input), {to});
  call.hold(from);
  if (even) {
    const Elements all = elements_to_move(from);
    const size_t count = all.count / static_cast<size_t>(size_);
    call.issue([&](const smddp_call_options_t *opts, smddp_request_t *request) {
      return request ? smddp_alltoall_async(from.const_data_ptr(), to.data_ptr(), count, all.dtype, comm_, opts, request)
                     : smddp_alltoall(from.const_data_ptr(), to.data_ptr(), count, all.dtype, comm_, opts);
    });
  } else {
    post_exchange(call, cut(from, input_splits, size_), cut(to, output_splits, size_), rank_, next_tag());
  }
  call.copy_back(output, to);
  return call.launch();
}

ProcessGroupSmddp::WorkPtr ProcessGroupSmddp::alltoall(Tensors &outputs, Tensors &inputs, const c10d::AllToAllOptions &options) {
  const char *name = kAlltoall.name;
  check_list(outputs.size(), "outputs", name);
  check_list(inputs.size(), "inputs", name);
  check_tensors(outputs, name);
  check_tensors(inputs, name);
  for (const at::Tensor &output : outputs) check_writable(output, name);
  Call call(*this, kAlltoall, inputs, outputs, options.timeout, options.asyncOp, Call::kUnordered);
  Tensors from, to;
  for (const at::Tensor &output : outputs) to.push_back(plain_output(output));
  for (const at::Tensor &input : inputs) from.push_back(apart(plain_input(input), to));
  post_exchange(call, from, to, rank_, next_tag());
  for (size_t i = 0; i < outputs.size(); ++i) call.copy_back(outputs[i], to[i]);
  return call.launch();
}

ProcessGroupSmddp::WorkPtr ProcessGroupSmddp::send(Tensors &tensors, int dest, int tag) {
  const at::Tensor &tensor = only(tensors, kSend.name);
  TORCH_CHECK_VALUE(tag >= 0 && tag < kFirstOwnTag, "send: the tag must lie between 0 and ", kFirstOwnTag - 1, ", got ", tag);
  Call call(*this, kSend, tensors, {}, c10d::kUnsetTimeout, true, Call::kUnordered);
  const at::Tensor from = plain_input(tensor);
  call.hold(from);
  call.post([&](const smddp_call_options_t *options, smddp_request_t *request) {
    return smddp_send_async(from.const_data_ptr(), from.nbytes(), SMDDP_UINT8, dest, tag, comm_, options, request);
  });
  return call.launch();
}

ProcessGroupSmddp::WorkPtr ProcessGroupSmddp::recv(Tensors &tensors, int source, int tag) {
  const bool any = source == SMDDP_ANY_SOURCE;
  const at::Tensor &tensor = only(tensors, kRecv.name);
  TORCH_CHECK_VALUE(tag >= 0 && tag < kFirstOwnTag, "recv: the tag must lie between 0 and ", kFirstOwnTag - 1, ", got ", tag);
  check_writable(tensor, kRecv.name);
  Call call(*this, any ? kRecvAny : kRecv, tensors, tensors, c10d::kUnsetTimeout, true, Call::kUnordered);
  const at::Tensor to = plain_output(tensor);
  call.post([&](const smddp_call_options_t *options, smddp_request_t *request) {
    return smddp_recv_async(to.data_ptr(), to.nbytes(), SMDDP_UINT8, source, tag, comm_, options, request);
  });
  call.after([expected = to.nbytes()](SmddpWork &work) {
    const smddp_message_t message = work.message(0);
    work.set_source(message.source);
    if (message.bytes == expected) return;
    const std::string text = c10::str("rank ", message.source, " sent ", message.bytes, " bytes, the tensor has ", expected);
    throw_error(work.place(), SMDDP_ERR_MISMATCH, text.c_str());
  });
  call.copy_back(tensor, to);
  return call.launch();
}

ProcessGroupSmddp::WorkPtr ProcessGroupSmddp::recvAnysource(Tensors &tensors, int tag) { return recv(tensors, SMDDP_ANY_SOURCE, tag); }

void ProcessGroupSmddp::monitoredBarrier(const c10d::BarrierOptions &options, bool wait_all_ranks) {
  const Entry entry(*this, "monitored_barrier");
  const auto timeout = options.timeout.count() > 0 ? options.timeout : options_->timeout;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const int tag = next_tag();
  char token = 0;
  smddp_call_options_t call = SMDDP_INIT_STRUCT(call);
  const auto set_time = [&] {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    call.timeout_ms = std::max<int64_t>(1, left.count());
  };
  if (rank_ != 0) {
    set_time();
    smddp_status_t status = smddp_send(&token, 1, SMDDP_UINT8, 0, tag, comm_, &call);
    if (status == SMDDP_SUCCESS) status = smddp_recv(&token, 1, SMDDP_UINT8, 0, tag, comm_, &call, nullptr);
    TORCH_CHECK_WITH(DistBackendError, status == SMDDP_SUCCESS, "[Rank ", rank_, "]: Rank ", rank_,
                     " reached monitoredBarrier, but rank 0 did not answer in ", timeout.count(), " ms: ", smddp_last_error());
    return;
  }
  std::vector<int> missing;
  for (int peer = 1; peer < size_; ++peer) {
    set_time();
    if (smddp_recv(&token, 1, SMDDP_UINT8, peer, tag, comm_, &call, nullptr) == SMDDP_SUCCESS) continue;
    missing.push_back(peer);
    if (!wait_all_ranks) break;
  }
  TORCH_CHECK_WITH(DistBackendError, missing.empty(), "[Rank 0]: Rank", missing.size() > 1 ? "s " : " ", c10::Join(", ", missing),
                   " failed to pass monitoredBarrier in ", timeout.count(), " ms", rank_names_);
  for (int peer = 1; peer < size_; ++peer) {
    const smddp_status_t status = smddp_send(&token, 1, SMDDP_UINT8, peer, tag, comm_, nullptr);
    if (status != SMDDP_SUCCESS) throw_error(place("monitored_barrier"), status, smddp_last_error());
  }
}

}  // namespace torch_plugin
