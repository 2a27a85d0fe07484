// How to write what another core reads next: through the caches, or past them (non-temporal stores). Which is faster is a property of the
// machine: on some a line that one core has changed comes to another one several times as slowly as from memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace smddp::node {

constexpr uint64_t kNeverStream = ~uint64_t{0};

// The smallest piece that is moved faster past the caches, by a few exchanges between the first and the last of these CPUs, in some
// milliseconds; kNeverStream if none is, or where the CPUs cannot be used. The first answer for a pair of CPUs stays.
uint64_t measured_stream_bytes(const std::vector<int>& cpus);

}  // namespace smddp::node
