#include "coll/select.hpp"

#include "base/error.hpp"
#include "coll/node_blocks.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace smddp::coll {
namespace {

constexpr size_t kLeastSegment = 16 * 1024, kMostSegments = 65536;
constexpr size_t kMostWhole = size_t{64} << 20;
constexpr size_t kMostWholeAlone = size_t{1} << 20;  // of a node's only rank: more would leave its processor's cache on the way
constexpr double kAlike = 1.05;  // the model is no better than that
constexpr double kWaitUs = 10;   // what a message in a row may cost more than the model says

// Of what a rank sends to all others alike, the part that leaves its node.
double remote_part(const Shape& shape) {
  return static_cast<double>(shape.size() - largest_node(shape)) / std::max(1, shape.size() - 1);
}

struct Model {
  Model(const Algorithm& algorithm, const Shape& shape, const Network& network) : cost(algorithm.cost(shape)), network(network) {
    talkers = cost.talkers > 0 ? cost.talkers : std::max(1.0, largest_node(shape) * remote_part(shape));
    segmented = !(algorithm.traits & kWhole);
    most_whole = largest_node(shape) == 1 ? kMostWholeAlone : kMostWhole;
  }

  // Of a segment of so many bytes, and of what follows it in the pipeline, where one segment's time on the link hides the others' work.
  struct Time {
    double first, each;
  };
  Time time(double bytes) const {
    const double link = talkers * std::max(cost.sent, cost.received) * bytes / network.bytes_per_us;
    const double work = cost.messages * network.overhead_us + cost.added * bytes / network.added_per_us +
                        cost.node_steps * network.node_latency_us + cost.node_moved * bytes / network.node_bytes_per_us;
    return {cost.rounds * network.latency_us + (cost.one_way ? 2 : 1) * link + work, std::max(link, work + (1 - network.overlap) * link)};
  }

  // Where nothing overlaps, segments gain nothing by the model, but they bound what an operation has under way beside its buffers.
  Choice best(const Algorithm& algorithm, size_t bytes) const {
    Choice choice{&algorithm, 0, time(static_cast<double>(bytes)).first};
    bool bounded = bytes <= most_whole;
    const double worth = cost.one_way ? kAlike : 1;  // of segments that only fill both directions, a few do nearly all that many can
    for (size_t segments = 2; segmented && segments <= kMostSegments && bytes / segments >= kLeastSegment; segments *= 2) {
      const size_t segment = (bytes / segments + 4095) / 4096 * 4096;
      const Time part = time(static_cast<double>(segment));
      const double total = part.first + (std::ceil(static_cast<double>(bytes) / static_cast<double>(segment)) - 1) * part.each;
      if (bounded && worth * total >= choice.expected_us) break;
      choice = {&algorithm, segment, total};
      bounded = segment <= most_whole;
    }
    return choice;
  }

  Cost cost;
  const Network& network;
  double talkers;
  bool segmented;
  size_t most_whole;
};

// All that could run the call, the cheapest first; among those that are nearly as cheap, the one with fewest messages in a row.
std::vector<Choice> candidates(Collective collective, size_t bytes, bool half, const Shape& shape, const Network& network) {
  std::vector<Choice> all;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.collective != collective || (half && algorithm.traits & kRoundsOften) || (algorithm.fits && !algorithm.fits(shape))) continue;
    all.push_back(Model(algorithm, shape, network).best(algorithm, bytes));
  }
  std::stable_sort(all.begin(), all.end(), [](const Choice& a, const Choice& b) { return a.expected_us < b.expected_us; });
  // What the model does not see is that ranks wait for each other once more with each message in a row: some time, however long the call takes.
  const auto rounds = [&](const Choice& choice) { return choice.algorithm->cost(shape).rounds; };
  auto first = all.begin();
  for (auto one = all.begin(); one != all.end() && one->expected_us <= kAlike * all.front().expected_us; ++one) {
    const double waits_us = kWaitUs * (rounds(all.front()) - rounds(*one));
    if (rounds(*one) < rounds(*first) && one->expected_us <= all.front().expected_us + waits_us) first = one;
  }
  std::rotate(all.begin(), first, first == all.end() ? first : first + 1);
  return all;
}

std::string text_of(const Choice& choice) {
  const std::string segments = choice.segment_bytes ? format(" in segments of %zu bytes", choice.segment_bytes) : "";
  return choice.algorithm->name + segments + format(", %.*f us", choice.expected_us < 100 ? 1 : 0, choice.expected_us);
}

}  // namespace

Choice choose(Collective collective, size_t bytes, bool half, const Shape& shape, const Network& network) {
  if (shape.node_count() == 1) return {};
  return candidates(collective, bytes, half, shape, network).at(0);
}

std::string explain(Collective collective, size_t bytes, bool half, const Shape& shape, const Network& network) {
  const std::string call = format("%s of %zu bytes, ", collective_name(collective), bytes) + describe(shape) + ": ";
  if (shape.node_count() == 1) return call + "by the node group, all ranks being on one node";
  const std::vector<Choice> all = candidates(collective, bytes, half, shape, network);
  return call + text_of(all[0]) + (all.size() > 1 ? "; next " + text_of(all[1]) : "");
}

Choice Selection::make(Collective collective, size_t bytes, bool half, const Algorithm* named) const {
  const Algorithm* wanted = named ? named : overrides_[static_cast<size_t>(collective)];
  const bool obeyed = wanted && (!wanted->fits || wanted->fits(shape_));
  return obeyed ? Model(*wanted, shape_, network_).best(*wanted, bytes) : choose(collective, bytes, half, shape_, network_);
}

const Choice& Selection::of(Collective collective, size_t bytes, bool half, const Algorithm* named) {
  const size_t near = bytes > SIZE_MAX / 2 ? std::bit_floor(bytes) : std::bit_floor(bytes + bytes / 5 * 2);  // the nearest by ratio
  const auto size = static_cast<size_t>(std::bit_width(near));
  if (named) {
    const auto [row, added] = named_.try_emplace({named, size});
    if (added) row->second = make(collective, near, half, named);
    return row->second;
  }
  std::optional<Choice>& row = rows_[2 * static_cast<size_t>(collective) + half][size];
  if (!row) row = make(collective, near, half, nullptr);
  return *row;
}

}  // namespace smddp::coll
