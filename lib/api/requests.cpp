// Waiting for requests.
#include "api/check.hpp"
#include "api/guard.hpp"
#include "base/clock.hpp"
#include "node/operation.hpp"

using namespace smddp;
using namespace smddp::api;

namespace {

// Waits until limit; the operation's outcome, or TIMEOUT of the wait alone.
Status wait_until(const char* function, smddp_request& request, int64_t limit, int64_t timeout_ms) {
  if (request.done.load(std::memory_order_acquire) || request.engine->wait(request, limit)) return request.status;
  const std::string what = request.kind == engine::RequestKind::kCollective ? node::call_text(request.call) : "the message";
  return {SMDDP_ERR_TIMEOUT, format("%s: timed out after %lld ms in %s, which goes on", function, static_cast<long long>(timeout_ms), what.c_str())};
}

int64_t limit_of(int64_t timeout_ms, const char* function) {
  return checked_timeout(timeout_ms, function) ? deadline_after_ms(timeout_ms) : kNever;
}

}  // namespace

extern "C" {

smddp_status_t smddp_test(smddp_request_t request, int* done) {
  return guard([&]() -> Status {
    smddp_request& r = checked(request, "smddp_test");
    if (!done) throw Error(SMDDP_ERR_INVALID_ARGUMENT, "smddp_test: done is NULL");
    *done = r.done.load(std::memory_order_acquire) || r.engine->test(r);
    return *done ? r.status : Status{};
  });
}

smddp_status_t smddp_wait(smddp_request_t request, int64_t timeout_ms) {
  return guard([&]() -> Status {
    smddp_request& r = checked(request, "smddp_wait");
    return wait_until("smddp_wait", r, limit_of(timeout_ms, "smddp_wait"), timeout_ms);
  });
}

smddp_status_t smddp_wait_all(size_t count, const smddp_request_t* requests, int64_t timeout_ms) {
  return guard([&]() -> Status {
    if (count && !requests) throw Error(SMDDP_ERR_INVALID_ARGUMENT, "smddp_wait_all: requests is NULL");
    const int64_t limit = limit_of(timeout_ms, "smddp_wait_all");
    for (size_t i = 0; i < count; ++i) {
      if (requests[i]) checked(requests[i], "smddp_wait_all");
    }
    Status first;
    for (size_t i = 0; i < count; ++i) {
      if (!requests[i]) continue;
      Status status = wait_until("smddp_wait_all", *requests[i], limit, timeout_ms);
      if (first.ok() && !status.ok()) first = std::move(status);
    }
    return first;
  });
}

smddp_status_t smddp_request_free(smddp_request_t request) {
  return guard([&] {
    if (!request) return;
    smddp_request& r = checked(request, "smddp_request_free");
    r.magic.store(0, std::memory_order_release);
    engine::release_request(&r);
  });
}

smddp_status_t smddp_request_set_callback(smddp_request_t request, smddp_callback_t callback, void* arg) {
  return guard([&] {
    smddp_request& r = checked(request, "smddp_request_set_callback");
    if (!callback) throw Error(SMDDP_ERR_INVALID_ARGUMENT, "smddp_request_set_callback: callback is NULL");
    if (r.callback) throw Error(SMDDP_ERR_INVALID_USAGE, "smddp_request_set_callback: the request has a callback already");
    r.callback = callback;
    r.callback_arg = arg;
    auto none = smddp_request::Callback::kNone;
    if (!r.callback_state.compare_exchange_strong(none, smddp_request::Callback::kSet, std::memory_order_acq_rel)) callback(arg, r.status.code);
  });
}

const char* smddp_request_error(smddp_request_t request) {
  if (!request || request->magic.load(std::memory_order_acquire) != smddp_request::kMagic) return "";
  return request->done.load(std::memory_order_acquire) ? request->status.text.c_str() : "";
}

}  // extern "C"
