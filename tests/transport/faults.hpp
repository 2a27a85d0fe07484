// The faults that tests over loopback draw from a seed.
#pragma once

#include "transport/loopback/hub.hpp"

#include <cstdint>

namespace test {

// Few, for traffic that is to be over soon.
inline smddp::transport::loopback::Faults few_faults(uint64_t seed) {
  smddp::transport::loopback::Faults faults;
  faults.seed = seed;
  faults.delay = 0.1;
  faults.reorder = true;
  faults.duplicate = 0.05;
  faults.again = 0.1;
  return faults;
}

inline smddp::transport::loopback::Faults packet_faults(uint64_t seed) {
  smddp::transport::loopback::Faults faults;
  faults.seed = seed;
  faults.delay = 0.2;
  faults.reorder = true;
  faults.duplicate = 0.1;
  faults.again = 0.1;
  faults.queue_items = 300;
  faults.packet_bytes = seed % 2 ? 8900 : 16384 + 64;
  return faults;
}

}  // namespace test
