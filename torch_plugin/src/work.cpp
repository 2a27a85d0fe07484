#include "work.hpp"

#include "completion.hpp"
#include "tensors.hpp"

#include <ATen/core/jit_type.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/utils/pybind.h>

namespace torch_plugin {
namespace {

using Clock = std::chrono::steady_clock;

// A Python communication hook of DDP runs inside the backward pass and hangs callbacks on the future that may call collectives. They
// must run at the same point of the program on every rank; on another thread they would race with the next bucket's call.
bool in_python_hook() { return torch::autograd::get_current_graph_task_id() != -1 && PyGILState_Check(); }

c10d::WorkResult result_of(smddp_status_t status) {
  if (status == SMDDP_SUCCESS) return c10d::WorkResult::SUCCESS;
  return status == SMDDP_ERR_TIMEOUT ? c10d::WorkResult::TIMEOUT : c10d::WorkResult::COMM_ERROR;
}

}  // namespace

SmddpWork::SmddpWork(Place place, c10d::OpType type, const char *title, const std::vector<at::Tensor> &inputs,
                     std::vector<at::Tensor> outputs, uint64_t sequence)
    : Work(place.rank, type, title, inputs), place_(std::move(place)), sequence_(sequence), outputs_(std::move(outputs)) {}

SmddpWork::~SmddpWork() {
  for (smddp_request_t request : requests_) smddp_request_free(request);
}

void SmddpWork::launch() {
  bool all_ended = true;
  for (smddp_request_t request : requests_) {
    int done = 0;
    const smddp_status_t status = smddp_test(request, &done);
    all_ended = all_ended && (done || status != SMDDP_SUCCESS);
  }
  if (all_ended) return end();
  completion::start();
  pending_.store(static_cast<int>(requests_.size()));
  auto self = c10::intrusive_ptr<SmddpWork>::reclaim_copy(this);
  const size_t count = requests_.size();
  self.release();  // taken over by the last request to end
  for (size_t i = 0; i < count; ++i) smddp_request_set_callback(requests_[i], on_request_end, this);
}

void SmddpWork::on_request_end(void *arg, smddp_status_t) {
  auto *work = static_cast<SmddpWork *>(arg);
  if (work->pending_.fetch_sub(1) == 1) completion::push(c10::intrusive_ptr<SmddpWork>::reclaim(work));
}

void SmddpWork::end() {
  std::lock_guard lock(ending_);
  if (ended_.load(std::memory_order_acquire)) return;
  std::exception_ptr error;
  for (smddp_request_t request : requests_) {
    const smddp_status_t status = smddp_wait(request, 0);
    if (status != SMDDP_SUCCESS && !error) {
      status_ = status;
      error = make_error(place_, status, smddp_request_error(request));
    }
  }
  if (!error) {
    try {
      RawCopies raw;
      for (const auto &step : steps_) step(*this);
    } catch (...) {
      status_ = SMDDP_ERR_INTERNAL;
      error = std::current_exception();
    }
  }
  steps_.clear();
  held_.clear();
  finish(error);
  ended_.store(true, std::memory_order_release);
}

void SmddpWork::complete_future() {
  c10::intrusive_ptr<c10::ivalue::Future> future, result_future;
  std::exception_ptr error;
  {
    std::lock_guard lock(mutex_);
    future = std::move(pending_future_);
    result_future = std::move(pending_result_future_);
    pending_future_.reset();
    pending_result_future_.reset();
    error = exception_;
  }
  if (result_future) result_future->markCompleted(c10::IValue(static_cast<int64_t>(result_of(status_))));
  if (!future) return;
  if (error) {
    future->setError(error);
  } else {
    future->markCompleted(c10::IValue(outputs_));
  }
}

smddp_message_t SmddpWork::message(size_t n) const {
  smddp_message_t message = SMDDP_INIT_STRUCT(message);
  const smddp_status_t status = smddp_request_message(requests_[n], &message);
  if (status != SMDDP_SUCCESS) throw_error(place_, status, smddp_last_error());
  return message;
}

bool SmddpWork::isCompleted() {
  if (ended_.load(std::memory_order_acquire)) return true;
  for (smddp_request_t request : requests_) {
    int done = 0;
    if (smddp_test(request, &done) == SMDDP_SUCCESS && !done) return false;
  }
  end();
  complete_future();
  return true;
}

void SmddpWork::wait_for_requests(std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  for (smddp_request_t request : requests_) {
    int64_t left = 0;
    if (timeout > kNoTimeout) {
      left = std::max<int64_t>(1, std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count());
    }
    if (smddp_wait(request, left) != SMDDP_ERR_TIMEOUT || left == 0) continue;
    int done = 0;
    if (smddp_test(request, &done) == SMDDP_SUCCESS && !done) {
      const std::string text = c10::str("wait() ran out after ", timeout.count(), " ms; the operation goes on");
      throw_error(place_, SMDDP_ERR_TIMEOUT, text.c_str());
    }
  }
}

bool SmddpWork::wait(std::chrono::milliseconds timeout) {
  if (!ended_.load(std::memory_order_acquire)) {
    wait_for_requests(timeout);
    end();
  }
  complete_future();
  c10::intrusive_ptr<c10::ivalue::Future> future;
  std::exception_ptr error;
  {
    std::lock_guard lock(mutex_);
    future = future_;
    error = exception_;
  }
  // Another thread may be just completing it; who waited for the work must find its future complete.
  if (future && !completion::on_thread()) future->wait();
  if (error) std::rethrow_exception(error);
  return true;
}

c10::intrusive_ptr<c10::ivalue::Future> SmddpWork::getFuture() {
  if (!ended_.load(std::memory_order_acquire) && in_python_hook()) {
    pybind11::gil_scoped_release release;
    wait_for_requests(kNoTimeout);
    end();
  }
  c10::intrusive_ptr<c10::ivalue::Future> future;
  {
    std::lock_guard lock(mutex_);
    if (!future_) {
      future_ = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::ofTensors());
      pending_future_ = future_;
    }
    future = future_;
    if (!completed_) return future;
  }
  complete_future();
  return future;
}

c10::intrusive_ptr<c10::ivalue::Future> SmddpWork::getFutureResult() {
  c10::intrusive_ptr<c10::ivalue::Future> future;
  {
    std::lock_guard lock(mutex_);
    if (!result_future_) {
      result_future_ = c10::make_intrusive<c10::ivalue::Future>(c10::AnyEnumType::get());
      pending_result_future_ = result_future_;
    }
    future = result_future_;
    if (!completed_) return future;
  }
  complete_future();
  return future;
}

}  // namespace torch_plugin
