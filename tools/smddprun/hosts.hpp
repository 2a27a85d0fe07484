// The hosts of a job, as --hosts names them, and its processes: ranks and the servers beside them. Invariant: ranks, servers and all
// processes together are numbered host by host, in the order of the list; on a host the ranks come before the servers.
#pragma once

#include <string>
#include <vector>

namespace smddprun {

struct HostShare {
  std::string name;
  int first_rank = 0;
  int ranks = 1;
  int first_server = 0;
  int servers = 0;

  int first_process() const { return first_rank + first_server; }
  int processes() const { return ranks + servers; }
};

struct Process {
  bool serves = false;
  int number = 0;  // of the ranks, or of the servers
  std::string name() const { return (serves ? "server " : "rank ") + std::to_string(number); }
};

// "a:2,b" and "[fd00::1]:2". ranks: how many in all, 0 for as many as the hosts take; then the last hosts may get none and are left out.
// servers: in turn on the hosts with no ranks, "c:0", or where there is none on all. Throws Failure, which names the piece that is wrong.
std::vector<HostShare> parse_hosts(const std::string& text, int ranks, int servers);

const HostShare& host_of(const std::vector<HostShare>& hosts, int process);
Process process_of(const HostShare& host, int process);

}  // namespace smddprun
