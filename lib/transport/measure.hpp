// What the way between two ranks does, measured by both of them over the transport that they will use.
#pragma once

#include "transport/transport.hpp"

#include <optional>

namespace smddp::transport {

// Of the rank that leads: what was undisturbed, the least times and the highest rate that were seen.
struct LinkFigures {
  double latency_us = 0;    // from send to receive, a short message, without
  double overhead_us = 0;   // what each message costs the two processors
  double bytes_per_us = 0;  // each direction, both at the same time
  double share = 0;         // of a processor, that the busier of the two machines gave; far below 1 the rest is of no use
};

// Both ranks call it, one of them with `leads`. Takes about 30 ms from when both are there, more on a busy machine. False: the other one did not come or went
// before the deadline (base/clock.hpp). In either case no event is pending afterwards. id: of the first message in both directions; a few
// hundred ids from there on must not be in use.
bool measure_link(Transport& transport, int peer, bool leads, uint64_t id, int64_t deadline, LinkFigures& figures);

}  // namespace smddp::transport
