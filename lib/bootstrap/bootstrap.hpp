// How ranks find each other: where to meet comes from explicit options, a unique id or the launcher's environment; rank 0 listens on
// TCP, every other rank says hello, and all leave with the same table. Invariant: a table is complete or the meeting fails on every
// rank that takes part, before the deadline; strangers on the port change nothing.
#pragma once

#include "base/unique_fd.hpp"

#include <smddp/smddp.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace smddp::bootstrap {

// Through what the launcher's processes can tell each other where rank 0 is.
enum class Exchange : uint8_t { kNone, kPmi, kPmix };

// Who this process is and where the ranks meet.
struct Placement {
  int rank = 0;      // of server s: size + s
  int size = 1;      // number of ranks
  int servers = 0;   // that meet with them
  Exchange exchange = Exchange::kNone;  // else address, port and listener come when the ranks meet
  std::string address;  // of rank 0; empty if size is 1
  int port = 0;         // first port to try
  int port_count = 1;   // rank 0 takes the first free one of port … port + port_count − 1; the others ask each
  std::string job_id;
  UniqueFd listener;    // of rank 0, inherited or made with the unique id; else it binds
  std::string origin;   // for messages and smddp-info: "options", "smddprun", "torchrun", "Open MPI", "PMI", "Slurm", "one process"
  std::vector<std::string> notes;  // one line for each variable that was read, "RANK=3"; warnings where launchers disagree

  int members() const { return size + servers; }
};

enum class Role : uint8_t { kRank, kServer };

// Reads and checks options (nullable) and environment. Throws INVALID_ARGUMENT naming the field or variable and its value, BOOTSTRAP.
// Order: options, SMDDP_* of smddprun, torchrun's RANK and WORLD_SIZE, OMPI_COMM_WORLD_*, PMI_*, SLURM_*, else one rank. Of a server, rank
// in the options is its number; else SMDDP_SERVER has that, and WORLD_SIZE the number of ranks.
Placement placement(const smddp_init_options_t* options, Role role = Role::kRank);

// What each rank and each server tells all others. Where this header says rank, it means servers as well; they come behind the ranks.
struct Member {
  std::string node;  // ranks with equal text share memory (base: SMDDP_NODE_ID or boot id and network namespace)
  std::string host;  // host name, for messages
  int64_t pid = 0;
  std::string cpus;  // allowed CPUs as topology::allowed_cpus gives them
};

// What all ranks share afterwards, and this rank's way to the others while they do not share more.
struct Meeting {
  std::array<uint8_t, 16> nonce{};  // random, the same on all ranks of this start and on no other
  std::vector<Member> members;      // by rank
  int servers = 0;                  // the last of them

  int ranks() const { return static_cast<int>(members.size()) - servers; }
  // rank 0: by rank, to every other (its own entry empty); others: [0] to rank 0. Silent unless a rank fails: its end is that rank's end.
  std::vector<UniqueFd> connections;
};

// All-gather of one text a rank over the connections of a meeting that is complete. Throws PEER_GONE (names who failed), TIMEOUT.
std::vector<std::string> gather_texts(const Meeting& meeting, int rank, const std::string& own, int64_t deadline);

// The numeric address at which other hosts reach this rank: its own end of a connection of the meeting with a rank of another node, or
// that of a rank of its own node; where there is only one node, its own end of any. Collective, as gather_texts.
std::string reachable_address(const Meeting& meeting, int rank, int64_t deadline);

// A connection with each of the peers (ranks, ascending; each of them names this one too), in their order. address: this rank's, as
// reachable_address gives it. Collective over all ranks, as gather_texts; also throws BOOTSTRAP, SYSTEM.
std::vector<UniqueFd> connect_peers(const Meeting& meeting, int rank, const std::vector<int>& peers, const std::string& address, int64_t deadline);

// Between meeting and sharing memory: one sentence to all connections, before they close.
void tell_failure(const Meeting& meeting, const std::string& sentence);

// Whether the rank at the other end has ended, or does within wait_ms: then its sentence, empty if it left none.
std::optional<std::string> heard_failure(int connection, int wait_ms);

// Meets. protocol: version of what follows (shared memory, wire), must be equal on all ranks; parameters: "NAME=value\n…", must be
// equal, the error names the first variable that differs with both values. Throws BOOTSTRAP, VERSION, TIMEOUT (names the ranks that did
// not come), SYSTEM, on every rank that takes part. Blocks until deadline (base/clock.hpp) at most. size 1 needs no network.
Meeting meet(Placement& placement, const Member& self, uint32_t protocol, const std::string& parameters, int64_t deadline);

// Listens on an address that others can reach and keeps the socket in this process for the rank 0 that will use the id.
smddp_unique_id_t create_unique_id();

// This process's node as Member::node wants it.
std::string node_id();

}  // namespace smddp::bootstrap
