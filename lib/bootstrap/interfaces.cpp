#include "bootstrap/interfaces.hpp"

#include "base/error.hpp"
#include "bootstrap/interface_filter.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <bit>
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

Address copy_of(const sockaddr* from) {
  Address address;
  address.length = from->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  std::memcpy(&address.storage, from, address.length);
  return address.with_port(0);
}

// The bytes of an address itself.
uint8_t* bytes_of(sockaddr* address, size_t& count) {
  const bool six = address->sa_family == AF_INET6;
  count = six ? 16 : 4;
  return six ? reinterpret_cast<sockaddr_in6*>(address)->sin6_addr.s6_addr : reinterpret_cast<uint8_t*>(&reinterpret_cast<sockaddr_in*>(address)->sin_addr);
}

std::string network_of(const ifaddrs& entry) {
  Address network = copy_of(entry.ifa_addr);
  if (!entry.ifa_netmask) return network.host();
  size_t count, its_count;
  uint8_t* bytes = bytes_of(network.raw(), count);
  const uint8_t* mask = bytes_of(entry.ifa_netmask, its_count);
  int bits = 0;
  for (size_t i = 0; i < count && i < its_count; ++i) {
    bytes[i] &= mask[i];
    bits += std::popcount(mask[i]);
  }
  return format("%s/%d", network.host().c_str(), bits);
}

bool is_usable(const ifaddrs& entry) {
  if (!entry.ifa_addr || !(entry.ifa_flags & IFF_UP)) return false;
  const int family = entry.ifa_addr->sa_family;
  return (family == AF_INET || family == AF_INET6) && !is_link_local(entry.ifa_addr);
}

// Lower is better.
int cost(const Interface& one) {
  int cost = one.address.family() == AF_INET6;
  if (one.bridge || !(one.flags & IFF_RUNNING)) cost += 2;
  if (one.flags & IFF_LOOPBACK) cost += 4;
  return cost;
}

}  // namespace

std::vector<Interface> interfaces(parameter::Id filter) {
  const std::string text = parameter_text(filter);
  InterfaceFilter wanted(text);
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) list = nullptr;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, [](ifaddrs* first) {
    if (first) freeifaddrs(first);
  });
  for (const ifaddrs* entry = list; entry; entry = entry->ifa_next) wanted.look_at(entry->ifa_name);
  std::vector<Interface> all;
  std::string names;
  for (const ifaddrs* entry = list; entry; entry = entry->ifa_next) {
    const std::string quoted = format("%s ", entry->ifa_name);
    if ((" " + names).find(" " + quoted) == std::string::npos) names += quoted;
    if (!is_usable(*entry) || !wanted.allows(entry->ifa_name)) continue;
    all.push_back({entry->ifa_name, entry->ifa_flags, is_bridge_name(entry->ifa_name), copy_of(entry->ifa_addr), network_of(*entry)});
  }
  if (all.empty() && !wanted.is_anything()) {
    throw Error(SMDDP_ERR_INVALID_ARGUMENT, format("%s='%s' allows no interface that is up and has an address; there are: %s",
                                                   parameter_at(filter).name, text.c_str(), names.c_str()));
  }
  return all;
}

Address reachable_address() {
  const std::vector<Interface> all = interfaces(parameter::kInterface);
  const Interface* best = nullptr;
  for (const Interface& one : all) {
    if (!best || cost(one) < cost(*best)) best = &one;
  }
  if (best) return best->address;
  Address loopback = wildcard(AF_INET, 0);
  reinterpret_cast<sockaddr_in*>(&loopback.storage)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return loopback;
}

}  // namespace smddp::bootstrap
