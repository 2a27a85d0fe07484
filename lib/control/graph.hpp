// Who of the ranks of a job keeps a connection with whom: each with the ranks 1, 2, 4, … further on around a circle, and back. Invariant:
// the graph is a function of the size alone, and no rank has more than 2 × log2(size) neighbours, rounded up.
//
// Up to 5 ranks that is everybody with everybody. Beyond, what one rank tells its neighbours reaches all in log2(size) hops, and ranks that
// die or stop hardly ever part the others: of a run of ranks, as a host has them, both ends are bridged at every distance.
#pragma once

#include <vector>

namespace smddp::control {

// In ascending order.
std::vector<int> neighbours(int rank, int size);

// Whom `rank` cannot reach, by way of ranks that are not lost; the lost themselves are not among them.
std::vector<int> cut_off(int rank, const std::vector<bool>& lost);

}  // namespace smddp::control
