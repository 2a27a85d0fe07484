// The two TCP ports of a job. Invariant: from here to the end of the job nobody else can take either of them.
#pragma once

#include "fd.hpp"

#include <string>

namespace smddprun {

struct Ports {
  std::string address;     // "127.0.0.1", or "::1" where there is no IPv4 loopback; or where other hosts reach this one
  Fd listener;             // listens there, for other hosts on all addresses; for rank 0
  int bootstrap_port = 0;
  Fd reservation;          // bound and never listening, so that a socket with SO_REUSEADDR may bind and listen beside it
  int master_port = 0;
  bool reachable = true;   // false: no loopback interface is up, so that nobody can connect
};

// For ranks on this machine. Throws Failure.
Ports reserve_ports();

// For ranks on several hosts, of which this one is the first.
Ports reserve_ports_for_hosts();

}  // namespace smddprun
