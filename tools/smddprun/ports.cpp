#include "ports.hpp"

#include "exit_status.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <smddp/smddp.h>
#include <sys/socket.h>

#include <cerrno>

namespace smddprun {
namespace {

union Address {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

// Bound to a port that the kernel chooses; invalid if this address does not exist here, with errno.
Fd bind_any_port(int family, bool loopback) {
  Fd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return fd;
  Address address{};
  address.any.sa_family = static_cast<sa_family_t>(family);
  socklen_t length = sizeof address.v4;
  if (family == AF_INET) {
    address.v4.sin_addr.s_addr = htonl(loopback ? INADDR_LOOPBACK : INADDR_ANY);
  } else {
    const int v6_only = loopback;
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof v6_only);
    address.v6.sin6_addr = loopback ? in6addr_loopback : in6addr_any;
    length = sizeof address.v6;
  }
  if (bind(fd.get(), &address.any, length) != 0) return Fd();
  return fd;
}

// A loopback address can be bound even while the interface is down and nobody can connect to it.
bool has_loopback() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return true;
  bool found = false;
  for (const ifaddrs* entry = list; entry; entry = entry->ifa_next) {
    found |= (entry->ifa_flags & IFF_LOOPBACK) && (entry->ifa_flags & IFF_UP);
  }
  freeifaddrs(list);
  return found;
}

int port_of(const Fd& fd) {
  Address address{};
  socklen_t length = sizeof address;
  if (getsockname(fd.get(), &address.any, &length) != 0) throw Failure(with_errno("getsockname", errno));
  return ntohs(address.any.sa_family == AF_INET ? address.v4.sin_port : address.v6.sin6_port);
}

void listen_on(Ports& ports) {
  if (!ports.listener) throw Failure(with_errno("cannot bind a TCP port on this machine", errno));
  if (listen(ports.listener.get(), SOMAXCONN) != 0) throw Failure(with_errno("listen", errno));
  ports.bootstrap_port = port_of(ports.listener);
}

void reserve_master_port(Ports& ports) {
  ports.reservation = bind_any_port(AF_INET6, false);
  if (!ports.reservation) ports.reservation = bind_any_port(AF_INET, false);
  if (!ports.reservation) throw Failure(with_errno("cannot reserve a TCP port on this machine", errno));
  // Only now: with SO_REUSEADDR set earlier the kernel might choose a port that another launcher has reserved in the same way.
  const int yes = 1;
  setsockopt(ports.reservation.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  ports.master_port = port_of(ports.reservation);
}

// As the library finds it.
std::string reachable_address() {
  size_t length = 0;
  if (smddp_info(SMDDP_INFO_LAUNCHER, SMDDP_FORMAT_JSON, nullptr, 0, &length)) throw Failure(smddp_last_error());
  std::string text(length + 1, '\0');
  if (smddp_info(SMDDP_INFO_LAUNCHER, SMDDP_FORMAT_JSON, text.data(), text.size(), &length)) throw Failure(smddp_last_error());
  const auto launcher = nlohmann::json::parse(text.c_str());
  if (!launcher.at("reachable_address").is_string()) throw Failure(launcher.at("reachable_error").get<std::string>());
  return launcher.at("reachable_address").get<std::string>();
}

}  // namespace

Ports reserve_ports_for_hosts() {
  Ports ports;
  ports.address = reachable_address();
  ports.listener = bind_any_port(AF_INET6, false);
  if (!ports.listener) ports.listener = bind_any_port(AF_INET, false);
  listen_on(ports);
  reserve_master_port(ports);
  return ports;
}

Ports reserve_ports() {
  Ports ports;
  ports.reachable = has_loopback();
  ports.address = "127.0.0.1";
  ports.listener = bind_any_port(AF_INET, true);
  if (!ports.listener) {
    ports.listener = bind_any_port(AF_INET6, true);
    if (ports.listener) ports.address = "::1";
  }
  if (!ports.listener) ports.listener = bind_any_port(AF_INET, false);
  if (!ports.listener) ports.listener = bind_any_port(AF_INET6, false);
  listen_on(ports);
  reserve_master_port(ports);
  return ports;
}

}  // namespace smddprun
