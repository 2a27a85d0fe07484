#include "coll/shape.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace smddp::coll {

int Shape::lanes() const {
  size_t least = places.size();
  for (const auto& ranks : nodes) least = std::min(least, ranks.size());
  return static_cast<int>(least);
}

Shape Shape::of_labels(const std::vector<int>& labels) {
  Shape shape;
  std::map<int, int> index;
  for (size_t rank = 0; rank < labels.size(); ++rank) {
    const int node = index.emplace(labels[rank], static_cast<int>(index.size())).first->second;
    if (node == shape.node_count()) shape.nodes.emplace_back();
    auto& ranks = shape.nodes[static_cast<size_t>(node)];
    shape.places.push_back({node, static_cast<int>(ranks.size())});
    ranks.push_back(static_cast<int>(rank));
  }
  return shape;
}

Shape Shape::flat(int ranks) { return of_sizes(std::vector<int>(static_cast<size_t>(ranks), 1)); }

Shape Shape::of_sizes(const std::vector<int>& ranks) {
  std::vector<int> labels;
  for (size_t node = 0; node < ranks.size(); ++node) labels.insert(labels.end(), static_cast<size_t>(ranks[node]), static_cast<int>(node));
  return of_labels(labels);
}

std::vector<int> all_ranks(const Shape& shape) {
  std::vector<int> ranks(shape.places.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::string describe(const Shape& shape) {
  std::string text = format("%d rank%s on %d node%s: ", shape.size(), shape.size() == 1 ? "" : "s", shape.node_count(),
                            shape.node_count() == 1 ? "" : "s");
  for (size_t node = 0; node < shape.nodes.size(); ++node) text += format("%s%zu", node ? "+" : "", shape.nodes[node].size());
  if (shape.servers) text += format(", and %d server%s", shape.servers, shape.servers == 1 ? "" : "s");
  return text;
}

}  // namespace smddp::coll
