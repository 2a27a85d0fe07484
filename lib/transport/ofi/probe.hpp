// Measures the providers that capability alone does not tell apart, and chooses. A choice holds for all ranks: one rank makes it
// and tells the others.
#pragma once

#include "transport/ofi/ofi.hpp"

#include <string>
#include <vector>

namespace smddp::transport::ofi {

struct Measured {
  std::string provider, path;
  double small_us = 0, middle_us = 0;  // an exchange of 4 bytes and of 64 KiB between two endpoints of one thread
  bool wait_descriptor = false;        // it has one, and it told the truth
  std::string reason;                  // why it cannot be used; else empty
};

// The usable providers, best first, then the others. Providers of a lower tier than the best are listed without being measured. Blocks
// for at most half a second each. options.provider and options.source_address limit what is looked at.
std::vector<Measured> measure(const Options& options);

}  // namespace smddp::transport::ofi
