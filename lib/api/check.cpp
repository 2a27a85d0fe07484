#include "api/check.hpp"

#include "node/shape.hpp"
#include "reduce/reduce.hpp"

namespace smddp::api {
namespace {

[[noreturn]] void invalid(const std::string& text) { throw Error(SMDDP_ERR_INVALID_ARGUMENT, text); }

void check_dtype(smddp_dtype_t dtype, const char* function) {
  if (dtype_bytes(dtype)) return;
  if (dtype_is_reserved(dtype)) throw Error(SMDDP_ERR_UNSUPPORTED, format("%s: dtype %s is reserved and not supported yet", function, dtype_name(dtype)));
  invalid(format("%s: %d is no dtype", function, static_cast<int>(dtype)));
}

void check_op(smddp_op_t op, smddp_dtype_t dtype, const char* function) {
  if (op_is_reserved(op)) throw Error(SMDDP_ERR_UNSUPPORTED, format("%s: op %s is reserved and not supported yet", function, op_name(op)));
  if (op < 0 || op >= kOpEnd) invalid(format("%s: %d is no op", function, static_cast<int>(op)));
  if (!reduce::kernel(dtype, op)) invalid(format("%s: op %s is not defined for %s", function, op_name(op), dtype_name(dtype)));
}

// Whether [a, a + a_bytes) and [b, b + b_bytes) have a byte in common.
bool overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes) {
  const auto x = reinterpret_cast<uintptr_t>(a), y = reinterpret_cast<uintptr_t>(b);
  return a_bytes && b_bytes && x < y + b_bytes && y < x + a_bytes;
}

}  // namespace

smddp_comm& checked(smddp_comm_t comm, const char* function) {
  if (!comm) invalid(format("%s: comm is NULL", function));
  const uint64_t magic = comm->magic.load(std::memory_order_acquire);
  if (magic == smddp_comm::kFinalized) throw Error(SMDDP_ERR_INVALID_USAGE, format("%s: comm belongs to a context that was finalized", function));
  if (magic != smddp_comm::kMagic) invalid(format("%s: comm is not a communicator, or was freed", function));
  if (!comm->context->usable()) throw Error(SMDDP_ERR_INVALID_USAGE, format("%s: %s", function, comm->context->unusable_reason().c_str()));
  return *comm;
}

smddp_request& checked(smddp_request_t request, const char* function) {
  if (!request) invalid(format("%s: request is NULL", function));
  if (request->magic.load(std::memory_order_acquire) != smddp_request::kMagic) invalid(format("%s: request is not a request, or was freed", function));
  return *request;
}

int64_t checked_timeout(int64_t timeout_ms, const char* function) {
  if (timeout_ms < 0) invalid(format("%s: timeout_ms %lld is negative; SMDDP_TIMEOUT_INFINITE waits without limit", function, static_cast<long long>(timeout_ms)));
  return timeout_ms;
}

int checked_thread_mode(int mode, const char* function) {
  if (mode < SMDDP_THREAD_DEFAULT || mode > SMDDP_THREAD_ORDERED) invalid(format("%s: %d is no thread_mode", function, mode));
  return mode;
}

core::CallSettings checked(const smddp_call_options_t* options, const char* function) {
  core::CallSettings settings;
  if (!options) return settings;
  if (options->struct_size < sizeof(smddp_call_options_t)) {
    invalid(format("%s: options->struct_size %zu is not sizeof(smddp_call_options_t), %zu", function, options->struct_size, sizeof(smddp_call_options_t)));
  }
  settings.timeout_ms = checked_timeout(options->timeout_ms, function);
  const char* reserved = options->stream ? "stream" : options->wire_dtype != SMDDP_DTYPE_NONE ? "wire_dtype" : options->scale != 0 ? "scale" : nullptr;
  if (reserved) throw Error(SMDDP_ERR_UNSUPPORTED, format("%s: options->%s is reserved and not supported yet", function, reserved));
  return settings;
}

uint8_t checked_algorithm(const smddp_comm& comm, const smddp_call_options_t* options, const char* function, Collective collective) {
  if (!options || !options->algorithm) return 0;
  try {
    return coll::number_of(coll::algorithm_named(collective, options->algorithm, comm.shape));
  } catch (const Error& error) {
    throw Error(error.code(), format("%s: options->algorithm: %s", function, error.what()));
  }
}

void check_call(const smddp_comm& comm, const char* function, node::Call& call, bool has_op) {
  const size_t size = static_cast<size_t>(comm.size());
  if (call.collective == Collective::kBarrier) return;
  check_dtype(unchecked(call.dtype), function);
  if (has_op) check_op(unchecked(call.op), call.dtype, function);
  if (call.root < 0 || call.root >= comm.size()) invalid(format("%s: root %d is not in 0 … %d of comm '%s'", function, call.root, comm.size() - 1, comm.board->name.c_str()));
  if (call.count > SIZE_MAX / 2 / size / dtype_bytes(call.dtype)) invalid(format("%s: count %zu is too large", function, call.count));
  call.divisor = call.op == SMDDP_AVG ? comm.size() : 1;
  if (call.count == 0) return;

  const bool sends = node::contributes(call, comm.rank());
  const bool receives = call.collective == Collective::kBroadcast || !node::has_root_target(call.collective) || comm.rank() == call.root;
  if (sends && !call.sendbuf) invalid(format("%s: sendbuf is NULL and count is %zu", function, call.count));
  if (receives && !call.recvbuf) invalid(format("%s: recvbuf is NULL and count is %zu", function, call.count));
  if (!sends || !receives || call.collective == Collective::kBroadcast) return;

  const size_t block = call.count * dtype_bytes(call.dtype);
  const bool blocks_in = node::sends_blocks(call.collective);
  const bool blocks_out = call.collective == Collective::kAllgather || call.collective == Collective::kGather || call.collective == Collective::kAlltoall;
  const auto* send = static_cast<const char*>(call.sendbuf);
  const auto* recv = static_cast<const char*>(call.recvbuf);
  const size_t mine = static_cast<size_t>(comm.rank()) * block;
  const bool in_place = blocks_in == blocks_out ? send == recv : blocks_in ? recv == send + mine : send == recv + mine;
  if (!in_place && overlap(send, blocks_in ? size * block : block, recv, blocks_out ? size * block : block)) {
    invalid(format("%s: sendbuf and recvbuf overlap, but not in the way that is in place", function));
  }
}

}  // namespace smddp::api
