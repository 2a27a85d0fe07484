// Which algorithm runs a call, and in which segments: the cheapest by a model of the network. The answer depends only on what all ranks
// of a communicator share: the call, the shape, and a network measured by one rank and given to all.
#pragma once

#include "coll/algorithms.hpp"

#include <array>
#include <optional>

namespace smddp::coll {

// LogGP-like: what one message, one byte and one step cost. Microseconds, bytes in a microsecond.
struct Network {
  double latency_us = 20;         // from send to receive, a short message
  double overhead_us = 0.7;       // to post one
  double bytes_per_us = 1000;     // a node's link, each direction
  double added_per_us = 5000;     // inputs of reductions
  double node_latency_us = 1;     // a node step
  double node_bytes_per_us = 5000;  // that a node step moves for a rank
};

struct Choice {
  const Algorithm* algorithm = nullptr;  // NULL: one node, whose node group does it all
  size_t segment_bytes = 0;              // 0: not cut
  double expected_us = 0;
};

// bytes: of count elements of the call. half: a 16-bit floating type is reduced; then algorithms that round often are left out.
Choice choose(Collective collective, size_t bytes, bool half, const Shape& shape, const Network& network);

// The same for an algorithm by its name. Throws INVALID_ARGUMENT, naming the algorithms, if there is none or it does not fit the shape.
Choice choose_named(Collective collective, const std::string& name, size_t bytes, const Shape& shape, const Network& network);

// One line: what was chosen, what it is expected to take, and what would have been next.
std::string explain(Collective collective, size_t bytes, bool half, const Shape& shape, const Network& network);

// The choices of a communicator, a row for each power of two of bytes, filled in as they are asked for. One thread at a time.
class Selection {
 public:
  Selection(Shape shape, const Network& network) : shape_(std::move(shape)), network_(network) {}

  // From now on this algorithm for this collective. Throws as choose_named.
  void fix(Collective collective, const std::string& name);

  const Choice& of(Collective collective, size_t bytes, bool half);

 private:
  static constexpr size_t kCollectives = 10, kSizes = 65;

  Shape shape_;
  Network network_;
  std::array<std::string, kCollectives> fixed_;
  std::array<std::array<std::optional<Choice>, kSizes>, 2 * kCollectives> rows_;
};

}  // namespace smddp::coll
