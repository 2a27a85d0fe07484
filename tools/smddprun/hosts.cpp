#include "hosts.hpp"

#include "exit_status.hpp"
#include "options.hpp"

#include <algorithm>
#include <charconv>

namespace smddprun {
namespace {

HostShare parse_host(const std::string& piece, const std::string& text, int least) {
  const auto wrong = [&](const std::string& why) { return Failure("--hosts '" + text + "': " + why); };
  if (piece.empty()) throw wrong("a host is empty");
  size_t end = piece.find(':');
  HostShare host;
  if (piece[0] == '[') {
    const size_t close = piece.find(']');
    if (close == std::string::npos) throw wrong("'[' without ']' in '" + piece + "'");
    host.name = piece.substr(1, close - 1);
    end = close + 1;
    if (end < piece.size() && piece[end] != ':') throw wrong("'" + piece + "' is not [ADDRESS]:N");
  } else {
    host.name = piece.substr(0, end);
    if (end != std::string::npos && piece.find(':', end + 1) != std::string::npos) {
      throw wrong("'" + piece + "' has two colons; an IPv6 address stands in brackets");
    }
  }
  // The remote command would take the first as its option, and its shell would read the others.
  if (host.name.empty() || host.name[0] == '-') throw wrong("'" + piece + "' has no host before ':' or begins with '-'");
  if (host.name.find_first_of(" \t\n'\"\\$`;&|<>()*?") != std::string::npos) throw wrong("'" + host.name + "' is not the name of a host");
  if (end == std::string::npos || end == piece.size()) return host;
  const std::string number = piece.substr(end + 1);
  const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), host.ranks);
  if (error != std::errc() || stop != number.data() + number.size() || host.ranks < least || host.ranks > kMaximumRanks) {
    throw wrong("'" + number + "' in '" + piece + "' is not a number of ranks from " + std::to_string(least) + " to " + std::to_string(kMaximumRanks));
  }
  return host;
}

void place_servers(std::vector<HostShare>& hosts, int servers) {
  const bool own_hosts = std::any_of(hosts.begin(), hosts.end(), [](const HostShare& host) { return host.ranks == 0; });
  while (servers > 0) {
    for (HostShare& host : hosts) {
      if (servers == 0 || (own_hosts && host.ranks > 0)) continue;
      ++host.servers;
      --servers;
    }
  }
  int first = 0;
  for (HostShare& host : hosts) {
    host.first_server = first;
    first += host.servers;
  }
}

}  // namespace

std::vector<HostShare> parse_hosts(const std::string& text, int ranks, int servers) {
  std::vector<HostShare> hosts;
  int total = 0;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    HostShare host = parse_host(text.substr(begin, end - begin), text, servers > 0 && begin > 0 ? 0 : 1);  // the first host has rank 0
    const bool for_servers = host.ranks == 0;
    for (const HostShare& other : hosts) {
      if (other.name == host.name) throw Failure("--hosts '" + text + "': " + host.name + " stands twice");
    }
    host.first_rank = total;
    if (ranks > 0) host.ranks = std::min(host.ranks, ranks - total);
    total += host.ranks;
    if (host.ranks > 0 || for_servers) hosts.push_back(host);
    begin = end + 1;
  }
  if (total > kMaximumRanks) {
    throw Failure("--hosts '" + text + "': " + std::to_string(total) + " ranks, more than " + std::to_string(kMaximumRanks));
  }
  if (total < ranks) {
    throw Failure("-n " + std::to_string(ranks) + ": --hosts '" + text + "' takes " + std::to_string(total) + " ranks only");
  }
  place_servers(hosts, servers);
  std::erase_if(hosts, [](const HostShare& host) { return host.processes() == 0; });
  return hosts;
}

const HostShare& host_of(const std::vector<HostShare>& hosts, int process) {
  return *std::find_if(hosts.begin(), hosts.end(), [process](const HostShare& host) { return process < host.first_process() + host.processes(); });
}

Process process_of(const HostShare& host, int process) {
  const int place = process - host.first_process();
  return place < host.ranks ? Process{false, host.first_rank + place} : Process{true, host.first_server + place - host.ranks};
}

}  // namespace smddprun
