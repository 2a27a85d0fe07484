// A loaded hwloc topology and what it says, as data from which the text is made too.
#pragma once

#include <hwloc.h>
#include <nlohmann/json.hpp>

#include <string>

namespace smddp::topology {

using Json = nlohmann::ordered_json;

class Machine {
 public:
  // Throws SYSTEM. source: nullptr for this machine, else a path of an XML file or a synthetic description.
  explicit Machine(const char* source);
  ~Machine() { hwloc_topology_destroy(topology_); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  hwloc_topology_t get() const { return topology_; }

 private:
  hwloc_topology_t topology_ = nullptr;
};

// CPUs or nodes as "0-3,8"; "" for an empty or missing set.
std::string set_text(hwloc_const_bitmap_t set);

// GPUs and other accelerators; network devices. Arrays of objects.
Json gpus(hwloc_topology_t topology);
Json nics(hwloc_topology_t topology);

// All of it. source as above, for the head line.
Json machine_json(const Machine& machine, const char* source);

// The same for people.
std::string machine_text(const Json& machine);

}  // namespace smddp::topology
