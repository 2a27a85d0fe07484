// The suite that every transport has to pass. Each function says what is wrong on this network, "" if nothing is.
#pragma once

#include "transport/world.hpp"

#include <initializer_list>

namespace test {

struct Requirement {
  const char* name;
  std::string (*check)(const Network&);
};

extern const Requirement kMessages[];  // ends with a null name: what arrives, and how
extern const Requirement kEndings[];   // cancelled, failed, discarded

// Runs them as one CMocka group; its number of failures.
int run_suite(const Network& network);
int run_requirements(const Network& network, std::initializer_list<const Requirement*> lists);

}  // namespace test
