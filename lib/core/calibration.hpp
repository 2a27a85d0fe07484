// The figures of the network by which algorithms are chosen: given, assumed, or measured once by two ranks and told to all.
#pragma once

#include "bootstrap/bootstrap.hpp"
#include "coll/network.hpp"
#include "transport/transport.hpp"

#include <optional>
#include <string>
#include <vector>

namespace smddp::core {

struct Calibration {
  coll::Network network;
  std::string origin = "no network";  // for people
};

// What SMDDP_CALIBRATION gives; nothing if it wants a measurement. Throws INVALID_ARGUMENT.
std::optional<Calibration> given_calibration();

// Collective over the job, whose ranks are on several nodes, once the transport is connected: the same on all ranks. Blocks for about
// 30 ms, and for some seconds where the rank that measures with rank 0 does not answer. nodes: of each rank. Throws as gather_texts.
Calibration calibrate(const bootstrap::Meeting& meeting, int rank, const std::vector<int>& nodes, transport::Transport& transport,
                      int64_t deadline);

}  // namespace smddp::core
