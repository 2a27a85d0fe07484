// smddp_send and smddp_recv.
#include "api/check.hpp"
#include "api/guard.hpp"

namespace smddp::api {
namespace {

core::CallSettings checked_options(const smddp_call_options_t* options, const char* function) {
  const core::CallSettings settings = checked(options, function);
  if (options && options->algorithm) {
    throw Error(SMDDP_ERR_INVALID_ARGUMENT, format("%s: options->algorithm is '%s', but messages have no algorithms", function, options->algorithm));
  }
  return settings;
}

size_t checked_bytes(size_t count, smddp_dtype_t dtype, const void* buffer, const smddp_comm& comm, const char* function) {
  node::Call call;
  call.collective = Collective::kBroadcast;
  call.dtype = dtype;
  call.count = count;
  call.sendbuf = buffer;
  call.recvbuf = const_cast<void*>(buffer);
  call.root = comm.rank();
  check_call(comm, function, call, false);
  return count * dtype_bytes(dtype);
}

void check_peer(int peer, bool any, const char* what, const smddp_comm& comm, const char* function) {
  if ((any && peer == SMDDP_ANY_SOURCE) || (peer >= 0 && peer < comm.size())) return;
  throw Error(SMDDP_ERR_INVALID_ARGUMENT, format("%s: %s %d is not in 0 … %d of comm '%s'", function, what, peer, comm.size() - 1, comm.board->name.c_str()));
}

void check_tag(int tag, bool any, const char* function) {
  if (tag >= 0 || (any && tag == SMDDP_ANY_TAG)) return;
  throw Error(SMDDP_ERR_INVALID_ARGUMENT, format("%s: tag %d is negative", function, tag));
}

engine::Request* begin_send(const char* function, const void* buf, size_t count, smddp_dtype_t dtype, int dest, int tag, smddp_comm_t handle,
                            const smddp_call_options_t* options, bool background) {
  smddp_comm& comm = checked(handle, function);
  const core::CallSettings settings = checked_options(options, function);
  check_peer(dest, false, "dest", comm, function);
  check_tag(tag, false, function);
  const size_t bytes = checked_bytes(count, dtype, buf, comm, function);
  return core::start_send(comm, buf, bytes, dest, tag, settings, background);
}

engine::Request* begin_recv(const char* function, void* buf, size_t count, smddp_dtype_t dtype, int source, int tag, smddp_comm_t handle,
                            const smddp_call_options_t* options, bool background) {
  smddp_comm& comm = checked(handle, function);
  const core::CallSettings settings = checked_options(options, function);
  check_peer(source, true, "source", comm, function);
  check_tag(tag, true, function);
  node::Receive receive;
  receive.capacity = checked_bytes(count, dtype, buf, comm, function);
  receive.buffer = buf;
  receive.source = source;
  receive.tag = tag;
  return core::start_recv(comm, receive, settings, background);
}

void check_message(const smddp_message_t* message, const char* function) {
  if (message && message->struct_size < sizeof(smddp_message_t)) {
    throw Error(SMDDP_ERR_INVALID_ARGUMENT, format("%s: message->struct_size %zu is not sizeof(smddp_message_t), %zu", function,
                                                   message->struct_size, sizeof(smddp_message_t)));
  }
}

template <class Begin>
smddp_status_t begin_async(const char* function, smddp_request_t* request, Begin&& begin) {
  return guard([&] {
    if (!request) throw Error(SMDDP_ERR_INVALID_ARGUMENT, format("%s: request is NULL", function));
    *request = nullptr;
    *request = begin();
  });
}

}  // namespace
}  // namespace smddp::api

using namespace smddp;
using namespace smddp::api;

extern "C" {

smddp_status_t smddp_send(const void* buf, size_t count, smddp_dtype_t dtype, int dest, int tag, smddp_comm_t comm,
                          const smddp_call_options_t* options) {
  return guard([&]() -> Status { return core::finish(begin_send("smddp_send", buf, count, dtype, dest, tag, comm, options, false), nullptr); });
}

smddp_status_t smddp_send_async(const void* buf, size_t count, smddp_dtype_t dtype, int dest, int tag, smddp_comm_t comm,
                                const smddp_call_options_t* options, smddp_request_t* request) {
  return begin_async("smddp_send_async", request, [&] { return begin_send("smddp_send_async", buf, count, dtype, dest, tag, comm, options, true); });
}

smddp_status_t smddp_recv(void* buf, size_t count, smddp_dtype_t dtype, int source, int tag, smddp_comm_t comm,
                          const smddp_call_options_t* options, smddp_message_t* message) {
  return guard([&]() -> Status {
    check_message(message, "smddp_recv");
    return core::finish(begin_recv("smddp_recv", buf, count, dtype, source, tag, comm, options, false), message);
  });
}

smddp_status_t smddp_recv_async(void* buf, size_t count, smddp_dtype_t dtype, int source, int tag, smddp_comm_t comm,
                                const smddp_call_options_t* options, smddp_request_t* request) {
  return begin_async("smddp_recv_async", request, [&] { return begin_recv("smddp_recv_async", buf, count, dtype, source, tag, comm, options, true); });
}

smddp_status_t smddp_request_message(smddp_request_t request, smddp_message_t* message) {
  return guard([&] {
    const char* function = "smddp_request_message";
    smddp_request& r = checked(request, function);
    if (!message) throw Error(SMDDP_ERR_INVALID_ARGUMENT, format("%s: message is NULL", function));
    check_message(message, function);
    if (r.kind != engine::RequestKind::kRecv) throw Error(SMDDP_ERR_INVALID_USAGE, format("%s: the request is no receive", function));
    if (!r.done.load(std::memory_order_acquire)) throw Error(SMDDP_ERR_INVALID_USAGE, format("%s: the receive has not ended", function));
    message->source = r.receive.message_source;
    message->tag = r.receive.message_tag;
    message->bytes = r.receive.message_bytes;
  });
}

}  // extern "C"
