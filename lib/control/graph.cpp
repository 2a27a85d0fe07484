#include "control/graph.hpp"

#include <algorithm>

namespace smddp::control {

std::vector<int> neighbours(int rank, int size) {
  std::vector<int> all;
  for (int distance = 1; distance < size; distance *= 2) {
    all.push_back((rank + distance) % size);
    all.push_back((rank + size - distance) % size);
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::vector<int> cut_off(int rank, const std::vector<bool>& lost) {
  const int size = static_cast<int>(lost.size());
  std::vector<bool> reached(lost.size(), false);
  std::vector<int> front{rank};
  reached[static_cast<size_t>(rank)] = true;
  while (!front.empty()) {
    const int at = front.back();
    front.pop_back();
    for (const int next : neighbours(at, size)) {
      const auto i = static_cast<size_t>(next);
      if (reached[i] || lost[i]) continue;
      reached[i] = true;
      front.push_back(next);
    }
  }
  std::vector<int> out;
  for (int r = 0; r < size; ++r) {
    if (!reached[static_cast<size_t>(r)] && !lost[static_cast<size_t>(r)]) out.push_back(r);
  }
  return out;
}

}  // namespace smddp::control
