// The command line. Invariant: whatever follows the program's name is the program's own, byte for byte.
#pragma once

#include "hosts.hpp"

#include <optional>
#include <string>
#include <vector>

namespace smddprun {

constexpr int kMaximumRanks = 4096, kMaximumServers = 1024;

struct Options {
  int ranks = 0;                     // 0: not given, and no hosts either
  int servers = 0;
  std::vector<HostShare> hosts;      // empty: all ranks run here
  std::vector<std::string> remote_command = {"ssh"};
  bool prefix = true;
  double grace_s = 5;
  double timeout_s = 0;              // 0: none
  std::vector<std::string> exports;  // NAME=VALUE
  char** program = nullptr;          // the tail of argv: the program, its arguments, NULL
};

// Returns the exit status where nothing is to be run (--help, --version, a bad command line, about which it has written a sentence).
std::optional<int> parse_options(int argc, char** argv, Options& options);

}  // namespace smddprun
