// getaddrinfo(3) has no timeout, so names are looked up by a thread that may outlive the call. Invariant: that thread touches nothing
// but its own request, whose last owner frees it.
#include "bootstrap/resolve.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/signal_block.hpp"

#include <netdb.h>
#include <pthread.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>

namespace smddp::bootstrap {
namespace {

struct Request {
  std::string name;
  std::mutex mutex;
  std::condition_variable ready;
  bool done = false;
  Resolution result;
};

Resolution look_up(const std::string& name, int flags) {
  Resolution result;
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  int code;
  do code = getaddrinfo(name.c_str(), nullptr, &hints, &list);
  while (code == EAI_SYSTEM && errno == EINTR);
  if (code != 0) {
    result.error = code == EAI_SYSTEM ? strerror(errno) : gai_strerror(code);
    result.temporary = code == EAI_AGAIN || code == EAI_SYSTEM;
    return result;
  }
  for (const addrinfo* entry = list; entry; entry = entry->ai_next) {
    if (entry->ai_family != AF_INET && entry->ai_family != AF_INET6) continue;
    Address& address = result.addresses.emplace_back();
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    address.length = entry->ai_addrlen;
  }
  freeaddrinfo(list);
  if (result.addresses.empty()) result.error = "no IPv4 or IPv6 address";
  return result;
}

void* run(void* argument) {
  const std::unique_ptr<std::shared_ptr<Request>> owner(static_cast<std::shared_ptr<Request>*>(argument));
  Request& request = **owner;
  Resolution result = look_up(request.name, 0);
  const std::lock_guard lock(request.mutex);
  request.result = std::move(result);
  request.done = true;
  request.ready.notify_one();
  return nullptr;
}

bool start(const std::shared_ptr<Request>& request) {
  auto owner = std::make_unique<std::shared_ptr<Request>>(request);
  const SignalBlock block;
  pthread_t thread;
  if (pthread_create(&thread, nullptr, run, owner.get()) != 0) return false;
  owner.release();
  pthread_detach(thread);
  return true;
}

}  // namespace

Resolution resolve(const std::string& text, int64_t deadline) {
  std::string name = text;
  if (name.size() > 2 && name.front() == '[' && name.back() == ']') name = name.substr(1, name.size() - 2);
  Resolution result = look_up(name, AI_NUMERICHOST);
  result.numeric = !result.addresses.empty();
  if (result.numeric) return result;
  if (name.find_first_of(":[]%/ ") != std::string::npos) {
    result.temporary = false;
    result.error = "neither an IPv4 or IPv6 address nor a host name (is its interface there?)";
    return result;
  }
  auto request = std::make_shared<Request>();
  request->name = name;
  if (!start(request)) return look_up(name, 0);
  std::unique_lock lock(request->mutex);
  while (!request->done) {
    const int left = remaining_ms(deadline);
    if (left == 0) {
      result.temporary = true;
      result.error = "the name service does not answer";
      return result;
    }
    request->ready.wait_for(lock, std::chrono::milliseconds(left < 0 ? 3600000 : left));
  }
  return std::move(request->result);
}

}  // namespace smddp::bootstrap
