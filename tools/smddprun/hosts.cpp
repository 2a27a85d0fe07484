#include "hosts.hpp"

#include "exit_status.hpp"
#include "options.hpp"

#include <algorithm>
#include <charconv>

namespace smddprun {
namespace {

HostShare parse_host(const std::string& piece, const std::string& text) {
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
  if (error != std::errc() || stop != number.data() + number.size() || host.ranks < 1 || host.ranks > kMaximumRanks) {
    throw wrong("'" + number + "' in '" + piece + "' is not a number of ranks from 1 to " + std::to_string(kMaximumRanks));
  }
  return host;
}

}  // namespace

std::vector<HostShare> parse_hosts(const std::string& text, int ranks) {
  std::vector<HostShare> hosts;
  int total = 0;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    HostShare host = parse_host(text.substr(begin, end - begin), text);
    for (const HostShare& other : hosts) {
      if (other.name == host.name) throw Failure("--hosts '" + text + "': " + host.name + " stands twice");
    }
    host.first_rank = total;
    if (ranks > 0) host.ranks = std::min(host.ranks, ranks - total);
    total += host.ranks;
    if (host.ranks > 0) hosts.push_back(host);
    begin = end + 1;
  }
  if (total > kMaximumRanks) {
    throw Failure("--hosts '" + text + "': " + std::to_string(total) + " ranks, more than " + std::to_string(kMaximumRanks));
  }
  if (total < ranks) {
    throw Failure("-n " + std::to_string(ranks) + ": --hosts '" + text + "' takes " + std::to_string(total) + " ranks only");
  }
  return hosts;
}

const HostShare& host_of(const std::vector<HostShare>& hosts, int rank) {
  return *std::find_if(hosts.begin(), hosts.end(), [rank](const HostShare& host) { return rank < host.first_rank + host.ranks; });
}

}  // namespace smddprun
