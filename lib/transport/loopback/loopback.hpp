// Ranks as threads of one process: the transport of tests, with the faults of a Hub.
#pragma once

#include "transport/loopback/hub.hpp"
#include "transport/messages/message_transport.hpp"
#include "transport/rails/rail_wire.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace smddp::transport::loopback {

// One for each rank; each belongs to the thread that uses it. The hub lives as long as any of them.
std::unique_ptr<Transport> make(std::shared_ptr<Hub> hub, int rank, const MessageOptions& options = {});

// The same over several hubs as rails; each rank has all of them, except those for which `has` says no.
std::unique_ptr<Transport> make_rails(const std::vector<std::shared_ptr<Hub>>& hubs, int rank, const MessageOptions& options,
                                      const rails::RailOptions& rail_options, const std::function<bool(int rank, size_t hub)>& has = {});

}  // namespace smddp::transport::loopback
