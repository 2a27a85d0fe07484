// One call of the backend while it is built. Invariant: the communicator cannot be finalized while a Call exists, and a call that the
// program waits for at once anyway (async_op=False) runs to its end on the caller's thread, without request or hand-over.
#pragma once
#include "completion.hpp"
#include "process_group.hpp"
#include "tensors.hpp"
#include "work.hpp"

namespace torch_plugin {

// Counts a caller in; shutdown finalizes after the last one has left.
class ProcessGroupSmddp::Entry {
 public:
  Entry(ProcessGroupSmddp &group, const char *call) : group_(group) {
    group_.entries_.fetch_add(1);
    if (group_.closed_.load()) [[unlikely]] {
      group_.entries_.fetch_sub(1);
      throw_error(group_.place(call), SMDDP_ERR_INVALID_USAGE,
                  "the process group is closed: it was destroyed or aborted, or this is a forked child");
    }
  }
  ~Entry() { group_.entries_.fetch_sub(1); }
  Entry(const Entry &) = delete;
  Entry &operator=(const Entry &) = delete;

 private:
  ProcessGroupSmddp &group_;
};

class Call {
 public:
  struct What {
    const char *name;   // for messages
    const char *title;  // for the profiler
    c10d::OpType type;
  };
  enum Order { kOrdered, kUnordered };

  Call(ProcessGroupSmddp &group, const What &what, const std::vector<at::Tensor> &inputs, std::vector<at::Tensor> outputs,
       std::chrono::milliseconds timeout, bool async, Order order = kOrdered)
      : entry_(group, what.name), group_(group), order_(group.order_, std::defer_lock), at_once_(!async || completion::on_thread()) {
    if (order == kOrdered) order_.lock();
    if (timeout.count() > 0) options_.timeout_ms = timeout.count();
    work_ = c10::make_intrusive<SmddpWork>(group.place(what.name), what.type, what.title, inputs, std::move(outputs),
                                           group.sequence_.fetch_add(1, std::memory_order_relaxed));
  }

  smddp_comm_t comm() const { return group_.comm_; }
  void hold(at::Tensor tensor) { work_->hold(std::move(tensor)); }
  // What follows when all operations have ended well, on the thread that finds it out.
  void after(std::function<void(SmddpWork &)> step) { work_->after(std::move(step)); }
  // Copies a stand-in of plain_output() back.
  void copy_back(const at::Tensor &output, const at::Tensor &plain) {
    if (!plain.is_same(output)) after([output, plain](SmddpWork &) { at::Tensor(output).copy_(plain); });
    else hold(output);
  }

  // operation(options, request): the blocking function where request is null, the asynchronous one otherwise.
  template <typename Operation>
  void issue(Operation &&operation) {
    smddp_request_t request = nullptr;
    const smddp_status_t status = operation(&options_, at_once_ ? nullptr : &request);
    if (status != SMDDP_SUCCESS) [[unlikely]] fail(status);
    if (request) work_->add(request);
  }

  // As issue, for one of several operations that end in any order: always asynchronous.
  template <typename Operation>
  void post(Operation &&operation) {
    smddp_request_t request = nullptr;
    const smddp_status_t status = operation(&options_, &request);
    if (status != SMDDP_SUCCESS) [[unlikely]] fail(status);
    work_->add(request);
  }

  c10::intrusive_ptr<c10d::Work> launch() {
    if (order_.owns_lock()) order_.unlock();
    work_->launch();
    if (at_once_) work_->wait();
    return std::move(work_);
  }

 private:
  [[noreturn]] void fail(smddp_status_t status) {
    const std::string sentence = smddp_last_error();
    work_->launch();  // what was issued before needs its buffers until it ends
    throw_error(work_->place(), status, sentence.c_str());
  }

  ProcessGroupSmddp::Entry entry_;
  ProcessGroupSmddp &group_;
  std::unique_lock<std::mutex> order_;
  const bool at_once_;
  smddp_call_options_t options_ = SMDDP_INIT_STRUCT(options_);
  c10::intrusive_ptr<SmddpWork> work_;
};

}  // namespace torch_plugin
