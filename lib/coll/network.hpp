// What the choice of algorithms knows of the machines, the same on all ranks. LogGP-like: what one message, one byte and one step cost.
#pragma once

#include <array>
#include <string>

namespace smddp::coll {

// Microseconds; bytes in a microsecond. The values here are assumed where nothing was measured.
struct Network {
  double latency_us = 20;         // from send to receive, a short message
  double overhead_us = 0.7;       // to post one
  double bytes_per_us = 1000;     // a node's link, each direction
  double added_per_us = 5000;     // inputs of reductions
  double node_latency_us = 1;     // a node step
  double node_bytes_per_us = 5000;  // that a node step moves for a rank
  double overlap = 0;             // share of the time on the link in which the processors are free: 0 over sockets, 1 with a card that writes
};

// A figure by its name, and what it can be at all: a measurement beyond that was disturbed.
struct Figure {
  const char* name;
  double Network::*value;
  double least, most;
};
extern const std::array<Figure, 7> kFigures;

// Brings each figure into its range.
Network limited(Network network);

// "latency_us=20,overhead_us=0.7,…", all figures, exactly; and back. What the text does not give is assumed. Throws INVALID_ARGUMENT,
// naming the figures, for anything else and for values out of their range.
std::string text_of(const Network& network);
Network parse_network(const std::string& text);

}  // namespace smddp::coll
