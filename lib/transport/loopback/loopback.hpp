// Ranks as threads of one process: the transport of tests, with the faults of a Hub.
#pragma once

#include "transport/loopback/hub.hpp"
#include "transport/messages/message_transport.hpp"

#include <memory>

namespace smddp::transport::loopback {

// One for each rank; each belongs to the thread that uses it. The hub lives as long as any of them.
std::unique_ptr<Transport> make(std::shared_ptr<Hub> hub, int rank, const MessageOptions& options = {});

}  // namespace smddp::transport::loopback
