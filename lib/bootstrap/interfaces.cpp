// Invariant: an interface is judged by its flags and its name; what lies behind it is not asked.
#include "bootstrap/interfaces.hpp"

#include "base/error.hpp"
#include "base/parameters.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <cstring>
#include <memory>

namespace smddp::bootstrap {
namespace {

bool is_bridge_name(const std::string& name) {
  for (const char* prefix : {"docker", "br-", "virbr", "cni", "lxcbr", "lxdbr", "podman", "vmnet", "vboxnet"}) {
    if (name.rfind(prefix, 0) == 0) return true;
  }
  return false;
}

bool is_link_local(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    return ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 16 == 0xa9fe;
  }
  return IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

// Lower is better; −1 for an address that cannot be used.
int cost(const ifaddrs& entry, const std::string& wanted) {
  if (!entry.ifa_addr || !(entry.ifa_flags & IFF_UP)) return -1;
  const int family = entry.ifa_addr->sa_family;
  if ((family != AF_INET && family != AF_INET6) || is_link_local(entry.ifa_addr)) return -1;
  if (!wanted.empty() && wanted != entry.ifa_name) return -1;
  int cost = family == AF_INET6;
  if (is_bridge_name(entry.ifa_name) || !(entry.ifa_flags & IFF_RUNNING)) cost += 2;
  if (entry.ifa_flags & IFF_LOOPBACK) cost += 4;
  return cost;
}

Address copy_of(const sockaddr* from) {
  Address address;
  address.length = from->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  std::memcpy(&address.storage, from, address.length);
  return address.with_port(0);
}

}  // namespace

Address reachable_address() {
  const std::string wanted = parameter_text(parameter::kInterface);
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) list = nullptr;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, [](ifaddrs* first) {
    if (first) freeifaddrs(first);
  });
  const ifaddrs* best = nullptr;
  std::string names;
  for (const ifaddrs* entry = list; entry; entry = entry->ifa_next) {
    const std::string quoted = format("%s ", entry->ifa_name);
    if ((" " + names).find(" " + quoted) == std::string::npos) names += quoted;
    const int its_cost = cost(*entry, wanted);
    if (its_cost >= 0 && (!best || its_cost < cost(*best, wanted))) best = entry;
  }
  if (best) return copy_of(best->ifa_addr);
  if (!wanted.empty()) {
    throw Error(SMDDP_ERR_INVALID_ARGUMENT,
                format("SMDDP_BOOTSTRAP_INTERFACE='%s' is not an interface that is up and has an address; there are: %s", wanted.c_str(),
                       names.c_str()));
  }
  Address loopback = wildcard(AF_INET, 0);
  reinterpret_cast<sockaddr_in*>(&loopback.storage)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return loopback;
}

}  // namespace smddp::bootstrap
