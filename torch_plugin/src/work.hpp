// One call on the backend as PyTorch's Work. Invariant: until its operations have ended it holds a reference to itself, and with it the
// tensors that the library reads and writes, whatever the program drops.
#pragma once
#include "errors.hpp"

#include <c10/util/SmallVector.h>
#include <smddp/smddp.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

namespace torch_plugin {

class SmddpWork final : public c10d::Work {
 public:
  // title: for the profiler, static. inputs: shown there; outputs: result() and the value of the future.
  SmddpWork(Place place, c10d::OpType type, const char *title, const std::vector<at::Tensor> &inputs, std::vector<at::Tensor> outputs,
            uint64_t sequence);
  ~SmddpWork() override;

  // While the call is built.
  void add(smddp_request_t request) { requests_.push_back(request); }
  void hold(at::Tensor tensor) { held_.push_back(std::move(tensor)); }
  void after(std::function<void(SmddpWork &)> step) { steps_.push_back(std::move(step)); }

  // The call is built: ends it now if all operations have ended, else sees to it that they end it later.
  void launch();

  // Ends the work after all its operations have ended: copies results out, keeps the error. Idempotent; any thread but the library's.
  void end();
  // Completes the future, if one was asked for, on the calling thread. Idempotent.
  void complete_future();

  // For steps: what the n-th request received.
  smddp_message_t message(size_t n) const;
  const Place &place() const { return place_; }
  void set_source(int rank) { source_ = rank; }

  bool isCompleted() override;
  int sourceRank() const override { return source_; }
  std::vector<at::Tensor> result() override { return outputs_; }
  bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;
  void synchronize() override {}
  void blockCurrentStream() override { wait(); }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFutureResult() override;
  uint64_t getSequencenumber() const override { return sequence_; }

 private:
  static void on_request_end(void *arg, smddp_status_t status);
  void wait_for_requests(std::chrono::milliseconds timeout);

  Place place_;
  const uint64_t sequence_;
  std::vector<at::Tensor> outputs_;
  std::vector<at::Tensor> held_;
  std::vector<std::function<void(SmddpWork &)>> steps_;
  c10::SmallVector<smddp_request_t, 2> requests_;
  std::atomic<int> pending_{0};
  std::atomic<bool> ended_{false};
  std::mutex ending_;
  smddp_status_t status_ = SMDDP_SUCCESS;
  int source_ = -1;
  // Guarded by the base's mutex_. Each future is completed by whoever takes it out of its pending slot.
  c10::intrusive_ptr<c10::ivalue::Future> future_, pending_future_, result_future_, pending_result_future_;
};

}  // namespace torch_plugin
