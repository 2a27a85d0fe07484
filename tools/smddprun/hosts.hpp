// The hosts of a job, as --hosts names them. Invariant: ranks are numbered host by host, in the order of the list.
#pragma once

#include <string>
#include <vector>

namespace smddprun {

struct HostShare {
  std::string name;
  int first_rank = 0;
  int ranks = 1;
};

// "a:2,b" and "[fd00::1]:2". ranks: how many in all, 0 for as many as the hosts take; then the last hosts may get none and are left out.
// Throws Failure, which names the piece that is wrong.
std::vector<HostShare> parse_hosts(const std::string& text, int ranks);

const HostShare& host_of(const std::vector<HostShare>& hosts, int rank);

}  // namespace smddprun
