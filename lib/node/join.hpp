// How the ranks of one node come to share an arena: the first of them makes it and hands it out, with everybody's doorbell, over an
// abstract AF_UNIX socket whose name nobody can guess. The connections stay open: their end is a rank's death.
#pragma once

#include "base/unique_fd.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace smddp::node {

struct Joined {
  UniqueFd arena;
  std::vector<UniqueFd> doorbells;    // eventfds by local rank
  std::vector<UniqueFd> connections;  // local rank 0: to every other (its own entry empty); others: [0] to local rank 0
  std::vector<int64_t> pids;          // of the peers that this process can see, by local rank; 0 otherwise
  bool fences_all = false;            // whether all of them accept the sleeper's fence (node/sleeper_fence.hpp)
};

// How this rank learns that another one fails before it has joined.
struct Witnesses {
  std::vector<int> sockets;  // local rank 0: by local rank; others: [0] of local rank 0; -1: none. Readable when the other side has failed
  std::function<std::optional<std::string>(int socket, int wait_ms)> heard;  // its sentence, empty if it left none; nullopt: it lives
};

// nonce and node name the meeting place; global_ranks: by local rank, for messages. Throws PEER_GONE (names who failed, and why if it said
// so), TIMEOUT (names who did not come), SYSTEM, RESOURCE. Blocks until deadline at most.
Joined join(const std::array<uint8_t, 16>& nonce, const Witnesses& witnesses, const std::string& node, const std::vector<int>& global_ranks, int local_rank,
            uint64_t heap_bytes, int64_t deadline);

}  // namespace smddp::node
