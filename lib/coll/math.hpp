// Powers of two, which trees and butterflies are made of.
#pragma once

#include <bit>

namespace smddp::coll {

constexpr int floor_log2(int n) { return std::bit_width(static_cast<unsigned>(n)) - 1; }
constexpr int ceil_log2(int n) { return n > 1 ? floor_log2(n - 1) + 1 : 0; }
constexpr int floor_power(int n) { return 1 << floor_log2(n); }

// Messages in a row when what n ranks have spreads by doubling, and a last round takes no more than is missing: where that is at most half
// of a round's, it had all of it a round earlier.
constexpr int spread_rounds(int n) { return floor_log2(n) + (2 * n > 3 * floor_power(n)); }

}  // namespace smddp::coll
