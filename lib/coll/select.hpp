// Which algorithm runs a call, and in which segments: the cheapest by a model of the network. The answer depends only on what all ranks
// of a communicator share: the call, the shape, and a network measured by one rank and given to all.
#pragma once

#include "coll/network.hpp"
#include "coll/overrides.hpp"

#include <array>
#include <map>
#include <optional>

namespace smddp::coll {

struct Choice {
  const Algorithm* algorithm = nullptr;  // NULL: one node, whose node group does it all
  size_t segment_bytes = 0;              // 0: not cut
  double expected_us = 0;
};

// bytes: of count elements of the call. half: a 16-bit floating type is reduced; then algorithms that round often are left out.
Choice choose(Collective collective, size_t bytes, bool half, const Shape& shape, const Network& network);

// One line: what was chosen, what it is expected to take, and what would have been next.
std::string explain(Collective collective, size_t bytes, bool half, const Shape& shape, const Network& network);

// The choices of a communicator, a row for each power of two of bytes, which the sizes next to it share, filled in as they are asked for. One
// thread at a time.
class Selection {
 public:
  Selection(Shape shape, const Network& network, const Overrides& overrides = {}) : shape_(std::move(shape)), network_(network), overrides_(overrides) {}

  // named: the algorithm that the call wants, which fits the shape; NULL: that of the overrides, where it fits, else the cheapest.
  const Choice& of(Collective collective, size_t bytes, bool half, const Algorithm* named = nullptr);

 private:
  static constexpr size_t kSizes = 65;

  Choice make(Collective collective, size_t bytes, bool half, const Algorithm* named) const;

  Shape shape_;
  Network network_;
  Overrides overrides_;
  std::array<std::array<std::optional<Choice>, kSizes>, 2 * kCollectives> rows_;
  std::map<std::pair<const Algorithm*, size_t>, Choice> named_;
};

}  // namespace smddp::coll
