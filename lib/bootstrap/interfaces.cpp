// Invariant: an interface is judged by its flags and its name; what lies behind it is not asked.
#include "bootstrap/interfaces.hpp"

#include "base/error.hpp"
#include "base/parameters.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

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

// SMDDP_BOOTSTRAP_INTERFACE.
class Wanted {
 public:
  explicit Wanted(const std::string& text) : excludes_(text[0] == '^') {
    for (size_t begin = excludes_; begin < text.size();) {
      const size_t end = std::min(text.find(',', begin), text.size());
      if (end > begin) words_.push_back({text.substr(begin, end - begin), false});
      begin = end + 1;
    }
  }

  bool is_anything() const { return words_.empty(); }

  // A word that is a name stands for this one alone: eth1 is not eth10 where both are there.
  void look_at(const std::string& name) {
    for (Word& word : words_) word.is_name |= word.text == name;
  }

  bool allows(const std::string& name) const {
    const bool found = std::any_of(words_.begin(), words_.end(), [&](const Word& word) {
      return word.is_name ? name == word.text : name.rfind(word.text, 0) == 0;
    });
    return is_anything() || found != excludes_;
  }

 private:
  struct Word {
    std::string text;
    bool is_name;
  };
  bool excludes_;
  std::vector<Word> words_;
};

// Lower is better; −1 for an address that cannot be used.
int cost(const ifaddrs& entry, const Wanted& wanted) {
  if (!entry.ifa_addr || !(entry.ifa_flags & IFF_UP)) return -1;
  const int family = entry.ifa_addr->sa_family;
  if ((family != AF_INET && family != AF_INET6) || is_link_local(entry.ifa_addr)) return -1;
  if (!wanted.allows(entry.ifa_name)) return -1;
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
  const std::string text = parameter_text(parameter::kInterface);
  Wanted wanted(text);
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) list = nullptr;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, [](ifaddrs* first) {
    if (first) freeifaddrs(first);
  });
  for (const ifaddrs* entry = list; entry; entry = entry->ifa_next) wanted.look_at(entry->ifa_name);
  const ifaddrs* best = nullptr;
  std::string names;
  for (const ifaddrs* entry = list; entry; entry = entry->ifa_next) {
    const std::string quoted = format("%s ", entry->ifa_name);
    if ((" " + names).find(" " + quoted) == std::string::npos) names += quoted;
    const int its_cost = cost(*entry, wanted);
    if (its_cost >= 0 && (!best || its_cost < cost(*best, wanted))) best = entry;
  }
  if (best) return copy_of(best->ifa_addr);
  if (!wanted.is_anything()) {
    throw Error(SMDDP_ERR_INVALID_ARGUMENT,
                format("SMDDP_BOOTSTRAP_INTERFACE='%s' allows no interface that is up and has an address; there are: %s", text.c_str(),
                       names.c_str()));
  }
  Address loopback = wildcard(AF_INET, 0);
  reinterpret_cast<sockaddr_in*>(&loopback.storage)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return loopback;
}

}  // namespace smddp::bootstrap
