// The machine as hwloc sees it: allowed CPUs, NUMA nodes, cores, GPUs and NICs. The only layer that knows hwloc.
#pragma once

#include <smddp/smddp.h>

#include <string>
#include <vector>

namespace smddp::topology {

// CPUs that this process may use (affinity and cgroup), as a list "0-3,8". Never empty. Does not load the topology.
std::string allowed_cpus();

// The CPUs in any of such lists, in order. Text that is no list counts as nothing.
std::vector<int> cpus_in(const std::vector<std::string>& lists);

// The topology for people or as a JSON object. xml: nullable path of an hwloc XML file, or a synthetic description, instead of this
// machine (tests). Throws SYSTEM if it cannot be loaded.
std::string describe(smddp_info_format_t format, const char* xml_or_synthetic = nullptr);

// API version of the hwloc library that is linked, such as "2.8.0".
std::string hwloc_api_version();

}  // namespace smddp::topology
