// Where the ranks of a communicator are: the only thing beside rank and root that an algorithm sees of the world.
#pragma once

#include <string>
#include <vector>

namespace smddp::coll {

struct Place {
  int node = 0;   // index of the rank's node, in the order of the nodes' lowest ranks
  int local = 0;  // index among the node's ranks, in rank order
};

struct Shape {
  std::vector<Place> places;            // of each rank
  std::vector<std::vector<int>> nodes;  // ranks of each node, ascending
  int servers = 0;                      // processes beside the ranks that reduce for them; no ranks themselves

  int size() const { return static_cast<int>(places.size()); }
  int node_count() const { return static_cast<int>(nodes.size()); }
  const std::vector<int>& node_of(int rank) const { return nodes[static_cast<size_t>(places[static_cast<size_t>(rank)].node)]; }
  int local_of(int rank) const { return places[static_cast<size_t>(rank)].local; }

  // Ranks of the smallest node: so many ranks of every node can work on a share each.
  int lanes() const;

  // Some label of each rank's node, equal for ranks of one node.
  static Shape of_labels(const std::vector<int>& labels);
  static Shape flat(int ranks);                         // every rank on a node of its own
  static Shape of_sizes(const std::vector<int>& ranks);  // consecutive ranks fill node after node
};

// All ranks in order.
std::vector<int> all_ranks(const Shape& shape);

// "6 ranks on 3 nodes: 2+2+2", with servers "…, and 2 servers".
std::string describe(const Shape& shape);

}  // namespace smddp::coll
