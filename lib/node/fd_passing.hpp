// Messages of fixed size with file descriptors over AF_UNIX sequenced-packet sockets. A message arrives whole or not at all.
#pragma once

#include "base/unique_fd.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace smddp::node {

// Abstract socket: no file, gone with its last descriptor. Throws SYSTEM.
UniqueFd listen_abstract(const std::string& name, int backlog);

// Connected socket; empty if nobody listens there yet. Throws SYSTEM for any other failure.
UniqueFd connect_abstract(const std::string& name);

// Sends data with descriptors (at most 253). Throws SYSTEM; PEER_GONE if the other side has gone.
void send_message(int socket, const void* data, size_t bytes, const int* fds, size_t fd_count);

// Waits until deadline for one message of exactly bytes with fd_count descriptors. False at the end of the connection, on a message of
// another shape, and at the deadline.
bool receive_message(int socket, void* data, size_t bytes, std::vector<UniqueFd>& fds, size_t fd_count, int64_t deadline);

}  // namespace smddp::node
