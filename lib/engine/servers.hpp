// How servers learn of calls: rank 0 tells each of them of every collective that it takes part in, and where in the communicator's
// history that stands, so that what the server sends and receives carries the ranks' notes. What ranks call differently they find among
// themselves; a server never judges.
#pragma once

#include "engine/queue.hpp"

namespace smddp::engine {

struct ServerCall {
  uint64_t count = 0, segment_elements = 0;
  uint32_t sequence = 0;
  uint32_t history = 0;  // of all calls before
  uint16_t dtype = 0, op = 0;
  uint8_t algorithm = 0, named = 0;  // coll::number_of; named by the user, 0: none was
  uint8_t reserved[2] = {};
};

// On rank 0, whose request has just begun. Under the engine's lock.
void tell_servers(Queue& queue, const Request& request, uint32_t history);

// On a server, between calls: the arguments of the next one, as which its queue will then count.
node::Call expect(const ServerCall& told, Route& route);

}  // namespace smddp::engine
