// The binomial tree of gather and scatter. Places count from the root on; the subtree of a place is an interval of places, and its blocks
// travel together, in the order of places.
#pragma once

#include "coll/builder.hpp"
#include "coll/math.hpp"

#include <algorithm>

namespace smddp::coll {

class Tree {
 public:
  explicit Tree(const Position& position) : size_(position.shape.size()), root_(position.root), place_((position.rank - position.root + size_) % size_) {}

  int rank_at(int place) const { return (place + root_) % size_; }
  bool is_root() const { return place_ == 0; }
  int parent() const { return place_ - (place_ & -place_); }
  int place() const { return place_; }
  int places_from(int place) const { return std::min(place ? place & -place : size_, size_ - place); }  // of its subtree
  std::vector<int> children() const {  // the smallest subtree first
    std::vector<int> places;
    for (int distance = 1; distance < (place_ ? place_ & -place_ : size_); distance *= 2) {
      if (place_ + distance < size_) places.push_back(place_ + distance);
    }
    return places;
  }

 private:
  int size_, root_, place_;
};

// Most blocks that a rank other than the root passes on.
inline double largest_subtree(int size) {
  const int last = 1 << (ceil_log2(size) - 1);  // the highest child of the root; the one below it is whole
  return std::max(size - last, last / 2);
}

}  // namespace smddp::coll
