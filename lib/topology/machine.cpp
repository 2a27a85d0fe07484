// Loads a topology and reads counts, NUMA nodes, packages and distances from it.
#include "topology/machine.hpp"

#include "base/error.hpp"
#include "topology/isolate.hpp"
#include "topology/topology.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace smddp::topology {
namespace {

// Where the topology comes from if not from the kernel: a file or text, given or in the environment. hwloc trusts these too much: damaged
// XML can crash it.
std::optional<std::string> foreign_source(const char* source) {
  if (source) return source;
  for (const char* name : {"HWLOC_XMLFILE", "HWLOC_SYNTHETIC"}) {
    const char* value = std::getenv(name);
    if (value && *value) return std::string(name) + "=" + value;
  }
  return std::nullopt;
}

std::string quoted(const std::optional<std::string>& foreign) {
  if (!foreign) return "this machine";
  return "'" + (foreign->size() > 100 ? foreign->substr(0, 100) + "…" : *foreign) + "'";
}

int set_source(hwloc_topology_t topology, const char* source) {
  if (!source) return 0;
  return access(source, F_OK) == 0 ? hwloc_topology_set_xml(topology, source) : hwloc_topology_set_synthetic(topology, source);
}

// gl asks X servers; pci gives names where a data base of them is installed, but its library leaks at each load. Without it hwloc reads
// the devices from sysfs.
void leave_out_components(hwloc_topology_t topology) {
  for (const char* name : {"gl", "pci"}) hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, name);
}

Json numa_nodes(hwloc_topology_t topology) {
  Json nodes = Json::array();
  for (hwloc_obj_t node = nullptr; (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node));) {
    nodes.push_back({{"index", node->os_index},
                     {"memory_bytes", node->attr ? node->attr->numanode.local_memory : 0},
                     {"cpus", set_text(node->cpuset)}});
  }
  return nodes;
}

Json packages(hwloc_topology_t topology) {
  Json packages = Json::array();
  for (hwloc_obj_t package = nullptr; (package = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, package));) {
    const char* model = hwloc_obj_get_info_by_name(package, "CPUModel");
    packages.push_back({{"index", package->os_index},
                        {"model", model ? model : ""},
                        {"cores", hwloc_get_nbobjs_inside_cpuset_by_type(topology, package->cpuset, HWLOC_OBJ_CORE)},
                        {"cpus", set_text(package->cpuset)}});
  }
  return packages;
}

Json matrix(const hwloc_distances_s& distances, const char* name) {
  Json between = Json::array(), values = Json::array();
  for (unsigned i = 0; i < distances.nbobjs; ++i) {
    const hwloc_obj_t object = distances.objs[i];
    between.push_back(std::string(hwloc_obj_type_string(object->type)) + " " + std::to_string(object->os_index));
    Json row = Json::array();
    for (unsigned j = 0; j < distances.nbobjs; ++j) row.push_back(distances.values[i * distances.nbobjs + j]);
    values.push_back(row);
  }
  return {{"name", name ? name : "distances"}, {"between", between}, {"values", values}};
}

Json distances(hwloc_topology_t topology) {
  Json all = Json::array();
  unsigned count = 0;
  if (hwloc_distances_get(topology, &count, nullptr, 0, 0) != 0 || count == 0) return all;
  std::vector<hwloc_distances_s*> found(count);
  if (hwloc_distances_get(topology, &count, found.data(), 0, 0) != 0) return all;
  for (unsigned i = 0; i < count && i < found.size(); ++i) {
    all.push_back(matrix(*found[i], hwloc_distances_get_name(topology, found[i])));
    hwloc_distances_release(topology, found[i]);
  }
  return all;
}

int count_of(hwloc_topology_t topology, hwloc_obj_type_t type) {
  const int count = hwloc_get_nbobjs_by_type(topology, type);
  return count > 0 ? count : 0;
}

}  // namespace

Machine::Machine(const char* source) {
  const bool made = hwloc_topology_init(&topology_) == 0;
  if (made) leave_out_components(topology_);
  errno = 0;
  if (made && set_source(topology_, source) == 0 &&
      hwloc_topology_set_io_types_filter(topology_, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) == 0 &&
      hwloc_topology_set_flags(topology_, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) == 0 && hwloc_topology_load(topology_) == 0) {
    return;
  }
  const std::string why = errno ? std::strerror(errno) : "hwloc gives no reason";
  if (made) hwloc_topology_destroy(topology_);
  throw Error(SMDDP_ERR_SYSTEM, format("cannot load the topology of %s: %s (hwloc API %s)", quoted(foreign_source(source)).c_str(), why.c_str(),
                                       hwloc_api_version().c_str()));
}

std::string set_text(hwloc_const_bitmap_t set) {
  char* text = nullptr;
  if (!set || hwloc_bitmap_list_asprintf(&text, set) < 0) return "";
  const std::string result = text;
  free(text);
  return result;
}

Json machine_json(const Machine& machine, const char* source) {
  hwloc_topology_t topology = machine.get();
  const hwloc_obj_t root = hwloc_get_root_obj(topology);
  // hwloc knows cgroups; the affinity mask of this process is narrower still, and says nothing of another machine.
  const bool here = hwloc_topology_is_thissystem(topology);
  const std::string allowed = here ? allowed_cpus() : set_text(hwloc_topology_get_allowed_cpuset(topology));
  return {{"hwloc_api", hwloc_api_version()},
          {"source", foreign_source(source).value_or("this machine")},
          {"memory_bytes", root->total_memory},
          {"cores", count_of(topology, HWLOC_OBJ_CORE)},
          {"pus", count_of(topology, HWLOC_OBJ_PU)},
          {"allowed", {{"count", cpus_in({allowed}).size()}, {"cpus", allowed}}},
          {"numa_nodes", numa_nodes(topology)},
          {"packages", packages(topology)},
          {"gpus", gpus(topology)},
          {"nics", nics(topology)},
          {"distances", distances(topology)}};
}

std::string hwloc_api_version() {
  const unsigned version = hwloc_get_api_version();
  return format("%u.%u.%u", version >> 16, version >> 8 & 0xFF, version & 0xFF);
}

std::string describe(smddp_info_format_t format, const char* xml_or_synthetic) {
  const auto make = [=] {
    const Machine machine(xml_or_synthetic);
    const Json json = machine_json(machine, xml_or_synthetic);
    // Names come from firmware and files: bytes that are no UTF-8 are replaced.
    return format == SMDDP_FORMAT_JSON ? json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n" : machine_text(json);
  };
  const auto foreign = foreign_source(xml_or_synthetic);
  return foreign ? isolated("the topology of " + quoted(foreign), make) : make();
}

}  // namespace smddp::topology
