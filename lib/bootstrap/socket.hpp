// TCP sockets and their addresses. Invariant: every socket is close-on-exec and non-blocking, and every wait ends at its deadline.
#pragma once

#include "base/unique_fd.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

namespace smddp::bootstrap {

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;

  int family() const { return storage.ss_family; }
  int port() const;
  bool is_loopback() const;
  std::string host() const;  // numeric, with %scope where there is one
  std::string text() const;  // "10.0.0.1 port 29500"
  sockaddr* raw() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&storage); }
  Address with_port(int port) const;
};

// All addresses of a family: AF_INET6 (with dual stack) or AF_INET.
Address wildcard(int family, int port);
Address local_address(int fd);

// Listens. On failure the result is empty and errno says why; EADDRINUSE may come from bind or from listen.
UniqueFd listen_at(const Address& address);
// As listen_at on all addresses of both families, or of IPv4 where there is no IPv6.
UniqueFd listen_everywhere(int port);

// Whether fd is a TCP socket that listens.
bool is_listener(int fd);

// Whether the kernel has a way to the address; sends nothing.
bool has_route(const Address& address);

void set_nonblocking(int fd);

// Connects until the deadline. On failure the result is empty and errno says why, ETIMEDOUT at the deadline.
UniqueFd connect_to(const Address& address, int64_t deadline);

// Options of both ends: no delay, and probes that find a vanished host within half a minute.
void set_stream_options(int fd);

// Waits for events of poll(2) on fd (−1: only for the deadline); false when the deadline passed.
bool wait_for(int fd, short events, int64_t deadline);

}  // namespace smddp::bootstrap
