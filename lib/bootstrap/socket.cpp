// Invariant: errno after a failed call is that of the system call that decided.
#include "bootstrap/socket.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <cerrno>
#include <cstring>

namespace smddp::bootstrap {
namespace {

constexpr int kBacklog = 65535;  // the kernel takes its own limit instead if that is lower

void set_option(int fd, int level, int name, int value) { setsockopt(fd, level, name, &value, sizeof(value)); }

UniqueFd failed(int error) {
  errno = error;
  return UniqueFd();
}

UniqueFd listen_with(const Address& address, bool both_families) {
  UniqueFd fd(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  if (!fd) return fd;
  set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.family() == AF_INET6) set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, both_families ? 0 : 1);
  if (::bind(fd.get(), address.raw(), address.length) != 0) return failed(errno);
  if (::listen(fd.get(), kBacklog) != 0) return failed(errno);
  return fd;
}

}  // namespace

int Address::port() const {
  if (family() == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
}

Address Address::with_port(int port) const {
  Address copy = *this;
  const auto network = htons(static_cast<uint16_t>(port));
  if (family() == AF_INET6) reinterpret_cast<sockaddr_in6*>(&copy.storage)->sin6_port = network;
  else reinterpret_cast<sockaddr_in*>(&copy.storage)->sin_port = network;
  return copy;
}

bool Address::is_loopback() const {
  if (family() == AF_INET6) return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_addr);
  return (ntohl(reinterpret_cast<const sockaddr_in*>(&storage)->sin_addr.s_addr) >> 24) == 127;
}

std::string Address::host() const {
  const auto* six = reinterpret_cast<const sockaddr_in6*>(&storage);
  char name[NI_MAXHOST];
  // A socket of both families has its IPv4 peers in the words of IPv6.
  if (family() == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) return inet_ntop(AF_INET, &six->sin6_addr.s6_addr[12], name, sizeof(name));
  return getnameinfo(raw(), length, name, sizeof(name), nullptr, 0, NI_NUMERICHOST) == 0 ? name : "unknown address";
}

std::string Address::text() const { return format("%s port %d", host().c_str(), port()); }

Address wildcard(int family, int port) {
  Address address;
  address.storage.ss_family = static_cast<sa_family_t>(family);
  address.length = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  return address.with_port(port);
}

Address local_address(int fd) {
  Address address;
  address.length = sizeof(address.storage);
  if (getsockname(fd, address.raw(), &address.length) != 0) address = Address();
  return address;
}

UniqueFd listen_at(const Address& address) { return listen_with(address, false); }

UniqueFd listen_everywhere(int port) {
  UniqueFd fd = listen_with(wildcard(AF_INET6, port), true);
  if (fd || errno == EADDRINUSE || errno == EACCES || errno == EMFILE || errno == ENFILE) return fd;
  return listen_with(wildcard(AF_INET, port), false);
}

bool is_listener(int fd) {
  int listens = 0;
  socklen_t length = sizeof(listens);
  if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0 || !listens) return false;
  const int family = local_address(fd).family();
  return family == AF_INET || family == AF_INET6;
}

bool has_route(const Address& address) {
  const UniqueFd fd(::socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const Address to = address.with_port(9);
  return fd && ::connect(fd.get(), to.raw(), to.length) == 0;
}

void set_nonblocking(int fd) {
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

void set_stream_options(int fd) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
}

bool wait_for(int fd, short events, int64_t deadline) {
  for (;;) {
    pollfd entry{fd, events, 0};
    const int ready = ::poll(&entry, 1, remaining_ms(deadline));
    if (ready > 0) return true;
    if (deadline != kNever && now_ns() >= deadline) return false;
  }
}

UniqueFd connect_to(const Address& address, int64_t deadline) {
  UniqueFd fd(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  if (!fd) return fd;
  set_stream_options(fd.get());
  // After EINTR the connection goes on being made, as after EINPROGRESS.
  if (::connect(fd.get(), address.raw(), address.length) != 0 && errno != EINPROGRESS && errno != EINTR) return failed(errno);
  if (!wait_for(fd.get(), POLLOUT, deadline)) return failed(ETIMEDOUT);
  int error = 0;
  socklen_t length = sizeof(error);
  if (getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  if (error) return failed(error);
  // Where nobody listens on a port of the ephemeral range, the kernel may connect a socket to itself.
  const Address own = local_address(fd.get());
  if (own.port() == address.port() && own.host() == address.host()) return failed(ECONNREFUSED);
  return fd;
}

}  // namespace smddp::bootstrap
