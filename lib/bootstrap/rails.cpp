#include "bootstrap/rails.hpp"

#include "base/error.hpp"
#include "bootstrap/bytes.hpp"
#include "bootstrap/interfaces.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

namespace smddp::bootstrap {
namespace {

// Its hardware type and, as far as its driver tells, its speed.
struct Kind {
  unsigned type = 0, speed = 0;
  bool operator==(const Kind&) const = default;
};

Kind kind_of(const std::string& name) {
  Kind kind;
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strncpy(request.ifr_name, name.c_str(), sizeof(request.ifr_name) - 1);
  if (ioctl(socket.get(), SIOCGIFHWADDR, &request) == 0) kind.type = request.ifr_hwaddr.sa_family;
  ethtool_cmd settings{};
  settings.cmd = ETHTOOL_GSET;
  request.ifr_data = reinterpret_cast<char*>(&settings);
  if (ioctl(socket.get(), SIOCETHTOOL, &request) == 0) kind.speed = ethtool_cmd_speed(&settings);
  return kind;
}

bool resembles(const Interface& one, const Interface& first) {
  return one.address.family() == first.address.family() && !one.bridge && (one.flags & (IFF_LOOPBACK | IFF_RUNNING)) == IFF_RUNNING &&
         kind_of(one.name) == kind_of(first.name);
}

RailPlace place_of(const Interface& one) { return {one.name, one.network, one.address.host()}; }

}  // namespace

std::vector<RailPlace> own_rails(const std::string& reachable_address) {
  const auto most = static_cast<size_t>(parameter_number(parameter::kOfiRails));
  const std::string filter = parameter_text(parameter::kOfiInterfaces);
  const bool named = !filter.empty() && filter[0] != '^';
  const std::vector<Interface> all = interfaces(parameter::kOfiInterfaces);
  auto first = std::find_if(all.begin(), all.end(), [&](const Interface& one) { return one.address.host() == reachable_address; });
  if (first == all.end() && !filter.empty()) {
    first = std::find_if(all.begin(), all.end(), [&](const Interface& one) { return named || (!one.bridge && !(one.flags & IFF_LOOPBACK)); });
  }
  if (first == all.end()) return {{"", reachable_address, reachable_address}};
  std::vector<RailPlace> rails{place_of(*first)};
  for (const Interface& one : all) {
    const bool known = std::any_of(rails.begin(), rails.end(), [&](const RailPlace& rail) { return rail.name == one.name || rail.network == one.network; });
    const bool wanted = named ? !(one.flags & IFF_LOOPBACK) : resembles(one, *first);
    if (rails.size() < most && !known && wanted) rails.push_back(place_of(one));
  }
  return rails;
}

std::vector<RailPlace> shared_rails(const std::vector<RankNetworks>& ranks, const std::vector<RailPlace>& own) {
  std::map<std::string, std::set<std::string>> nodes;  // by network
  for (const RankNetworks& rank : ranks) {
    for (const std::string& network : rank.networks) nodes[network].insert(rank.node);
  }
  const auto is_shared = [&](const std::string& network) { return nodes[network].size() > 1; };
  const bool several = std::any_of(ranks.begin(), ranks.end(), [&](const RankNetworks& rank) {
    return rank.networks.size() > 1 && std::any_of(rank.networks.begin() + 1, rank.networks.end(), is_shared);
  });
  std::vector<RailPlace> rails;
  for (size_t i = 0; several && i < own.size(); ++i) {
    if (i == 0 || is_shared(own[i].network)) rails.push_back(own[i]);
  }
  return rails;
}

std::vector<RailPlace> shared_rails(const Meeting& meeting, int rank, const std::vector<RailPlace>& own, int64_t deadline) {
  ByteWriter writer;
  for (const RailPlace& place : own) writer.text(place.network);
  const std::vector<std::string> texts = gather_texts(meeting, rank, writer.take(), deadline);
  std::vector<RankNetworks> ranks;
  for (size_t r = 0; r < texts.size(); ++r) {
    ranks.push_back({meeting.members[r].node, {}});
    ByteReader reader(texts[r]);
    while (!reader.complete() && !reader.failed()) ranks.back().networks.push_back(reader.text(256));
    if (reader.failed()) throw Error(SMDDP_ERR_INTERNAL, format("rank %d cannot read the networks of rank %zu (smddp_init)", rank, r));
  }
  return shared_rails(ranks, own);
}

}  // namespace smddp::bootstrap
