// Backend "smddp" of torch.distributed: one context of the library for each process group. Invariant: calls reach the communicator one
// at a time, in the order of the program; point-to-point calls, which have no order, pass beside them.
#pragma once
#include "errors.hpp"

#include <smddp/smddp.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <atomic>
#include <mutex>

namespace torch_plugin {

class ProcessGroupSmddp final : public c10d::Backend {
 public:
  struct Options : c10d::Backend::Options {
    explicit Options(std::chrono::milliseconds timeout = kBackendDefaultTimeout) : c10d::Backend::Options("smddp", timeout) {}
  };
  using WorkPtr = c10::intrusive_ptr<c10d::Work>;
  using Tensors = std::vector<at::Tensor>;
  using TensorLists = std::vector<std::vector<at::Tensor>>;

  // Collective over the group: rank 0 makes the id, the store carries it. Blocks until all members have come or the timeout passes.
  ProcessGroupSmddp(const c10::intrusive_ptr<c10d::Store> &store, int rank, int size, c10::intrusive_ptr<Options> options);
  ~ProcessGroupSmddp() override;

  static c10::intrusive_ptr<ProcessGroupSmddp> create(const c10d::DistributedBackendOptions &group, c10::intrusive_ptr<Options> options);
  // Ends all groups of this process; for the end of the interpreter.
  static void shutdown_all();
  // Around fork: the list of groups is whole in the child, and there it is given up, for contexts of the parent are not the child's.
  static void before_fork();
  static void after_fork_in_parent();
  static void after_fork_in_child();

  const std::string getBackendName() const override { return "smddp"; }
  c10::intrusive_ptr<c10d::Backend::Options> getBackendOptions() override { return options_; }
  c10::intrusive_ptr<Options> options() const { return options_; }
  bool supportsSplitting() const override { return true; }
  c10::intrusive_ptr<c10d::Backend> split(const c10::intrusive_ptr<c10d::Store> &store, const std::vector<int> &ranks,
                                          const c10::intrusive_ptr<c10d::Backend::Options> &options) override;
  uint64_t splits() const { return splits_.load(); }
  void setTimeout(std::chrono::milliseconds timeout) override;
  void setSequenceNumberForGroup() override {}
  uint64_t getSequenceNumberForGroup() override { return sequence_.load(); }
  void enableCollectivesTiming() override {}
  c10d::ErrorType getError() override;
  void abort() override;
  void shutdown() override;
  uint64_t counter(const std::string &name);
  // Tensors that peers on this node read in place: DistributedDataParallel takes its buckets from here. allocation.cpp
  bool supportsTensorAlloc(c10::DeviceIndex device) override { return device < 0; }
  at::Tensor allocateTensor(long size, at::TensorOptions options) override;

  // Reductions and one-to-all: collectives.cpp
  WorkPtr allreduce(Tensors &tensors, const c10d::AllreduceOptions &options) override;
  WorkPtr allreduce_coalesced(Tensors &tensors, const c10d::AllreduceCoalescedOptions &options) override;
  WorkPtr broadcast(Tensors &tensors, const c10d::BroadcastOptions &options) override;
  WorkPtr reduce(Tensors &tensors, const c10d::ReduceOptions &options) override;
  WorkPtr reduce_scatter(Tensors &outputs, TensorLists &inputs, const c10d::ReduceScatterOptions &options) override;
  WorkPtr _reduce_scatter_base(at::Tensor &output, at::Tensor &input, const c10d::ReduceScatterOptions &options) override;
  WorkPtr reduce_scatter_tensor_coalesced(Tensors &outputs, Tensors &inputs, const c10d::ReduceScatterOptions &options) override;
  WorkPtr barrier(const c10d::BarrierOptions &options) override;

  // Gathering and scattering: gather.cpp
  WorkPtr allgather(TensorLists &outputs, Tensors &inputs, const c10d::AllgatherOptions &options) override;
  WorkPtr _allgather_base(at::Tensor &output, at::Tensor &input, const c10d::AllgatherOptions &options) override;
  WorkPtr allgather_coalesced(TensorLists &outputs, Tensors &inputs, const c10d::AllgatherOptions &options) override;
  WorkPtr allgather_into_tensor_coalesced(Tensors &outputs, Tensors &inputs, const c10d::AllgatherOptions &options) override;
  WorkPtr gather(TensorLists &outputs, Tensors &inputs, const c10d::GatherOptions &options) override;
  WorkPtr scatter(Tensors &outputs, TensorLists &inputs, const c10d::ScatterOptions &options) override;

  // Pairs of ranks: exchange.cpp
  WorkPtr alltoall_base(at::Tensor &output, at::Tensor &input, std::vector<int64_t> &output_splits, std::vector<int64_t> &input_splits,
                        const c10d::AllToAllOptions &options) override;
  WorkPtr alltoall(Tensors &outputs, Tensors &inputs, const c10d::AllToAllOptions &options) override;
  WorkPtr send(Tensors &tensors, int dest, int tag) override;
  WorkPtr recv(Tensors &tensors, int source, int tag) override;
  WorkPtr recvAnysource(Tensors &tensors, int tag) override;
  void monitoredBarrier(const c10d::BarrierOptions &options, bool wait_all_ranks) override;

 private:
  friend class Call;
  class Entry;

  void start(const smddp_unique_id_t &id);
  void check_root(int64_t root, const char *call) const;
  void check_list(size_t length, const char *what, const char *call) const;
  Place place(const char *call) const { return {rank_, call, rank_names_}; }
  // Tags of the plugin's own messages lie above those of the program.
  int next_tag() { return kFirstOwnTag + static_cast<int>(exchanges_.fetch_add(1) % kOwnTags); }

  static constexpr int kFirstOwnTag = 1 << 30;
  static constexpr int kOwnTags = 1 << 24;

  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<Options> options_;
  std::string rank_names_;  // for messages: ranks of the whole job, in a sub-group
  smddp_comm_t comm_ = nullptr;
  std::mutex order_;  // held from a call on the communicator to its return
  std::mutex ending_;
  std::atomic<int> entries_{0};
  std::atomic<bool> closed_{false};
  std::atomic<uint64_t> sequence_{0};
  std::atomic<uint64_t> exchanges_{0};
  std::atomic<uint64_t> splits_{0};
};

}  // namespace torch_plugin
