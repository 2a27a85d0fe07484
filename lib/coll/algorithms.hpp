// The table of all algorithms.
#pragma once

#include "coll/builder.hpp"
#include "coll/cost.hpp"

namespace smddp::coll {

enum Trait : uint8_t {
  kWhole = 1,        // its blocks are not cut into segments
  kRoundsOften = 2,  // it rounds partial sums of 16-bit types in every round, not once or twice
};

struct Algorithm {
  Collective collective;
  const char* name;
  Schedule (*schedule)(const Position& position);
  Cost (*cost)(const Shape& shape);
  uint8_t traits = 0;
  bool (*fits)(const Shape& shape) = nullptr;  // NULL: every shape
};

const std::vector<Algorithm>& algorithms();

// Its place in the table, from 1 on, as calls and messages carry it; and back. 0, as any number that is none of these: NULL.
uint8_t number_of(const Algorithm& algorithm);
const Algorithm* algorithm_of(uint8_t number);

// NULL if there is none of this name.
const Algorithm* find_algorithm(Collective collective, const std::string& name);

// "sharded, hierarchical, …"
std::string algorithm_names(Collective collective);

// "allreduce has no algorithm 'rung'; it has sharded, hierarchical, …"
std::string no_algorithm(Collective collective, const std::string& name);

// By its name. Throws INVALID_ARGUMENT, naming the algorithms, if there is none, or if it is not for the shape; on one node, where none
// of them runs, all are for it.
const Algorithm& algorithm_named(Collective collective, const std::string& name, const Shape& shape);

}  // namespace smddp::coll
