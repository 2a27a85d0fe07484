// The machine for people: a line a thing.
#include "base/error.hpp"
#include "base/units.hpp"
#include "topology/machine.hpp"

namespace smddp::topology {
namespace {

std::string text_of(const Json& json, const char* key) { return json.at(key).get<std::string>(); }

std::string memory_of(const Json& json) { return bytes_text(json.at("memory_bytes").get<uint64_t>()); }

std::string cpus_of(const Json& json) {
  const std::string cpus = text_of(json, "cpus");
  return cpus.empty() ? "no CPUs" : "CPUs " + cpus;
}

std::string near(const Json& device) {
  const std::string nodes = text_of(device, "numa_nodes");
  std::string text = nodes.empty() ? "" : "NUMA node " + nodes;
  if (!device.at("package").is_null()) {
    text += (text.empty() ? "package " : ", package ") + std::to_string(device.at("package").get<unsigned>());
  }
  return text;
}

std::string device_text(const Json& device) {
  std::string names;
  for (const Json& name : device.at("names")) names += (names.empty() ? "" : " ") + name.get<std::string>();
  std::string text = "  " + (names.empty() ? "(no driver)" : names);
  for (const char* key : {"pci", "vendor", "model", "address"}) {
    if (device.contains(key) && !text_of(device, key).empty()) text += "  " + text_of(device, key);
  }
  const std::string place = near(device);
  return text + (place.empty() ? "\n" : "  (" + place + ")\n");
}

std::string device_list(const char* title, const Json& list) {
  std::string text = std::string(title) + (list.empty() ? ": none\n" : ":\n");
  for (const Json& device : list) text += device_text(device);
  return text;
}

std::string matrix_text(const Json& matrix) {
  std::string text = "Distances, " + text_of(matrix, "name") + ":\n";
  const Json& between = matrix.at("between");
  for (size_t i = 0; i < between.size(); ++i) {
    text += format("  %-14s", between[i].get<std::string>().c_str());
    for (const Json& value : matrix.at("values")[i]) text += format(" %6llu", static_cast<unsigned long long>(value.get<uint64_t>()));
    text += "\n";
  }
  return text;
}

}  // namespace

std::string machine_text(const Json& machine) {
  const Json& allowed = machine.at("allowed");
  std::string text = "Topology of " + text_of(machine, "source") + " (hwloc API " + text_of(machine, "hwloc_api") + ")\n";
  text += "Memory: " + memory_of(machine) + "\n";
  text += format("CPUs: %d, cores: %d\n", machine.at("pus").get<int>(), machine.at("cores").get<int>());
  text += format("Allowed CPUs: %d (%s)\n", allowed.at("count").get<int>(), text_of(allowed, "cpus").c_str());
  text += machine.at("numa_nodes").empty() ? "NUMA nodes: none\n" : "NUMA nodes:\n";
  for (const Json& node : machine.at("numa_nodes")) {
    text += format("  %u  %s  %s\n", node.at("index").get<unsigned>(), memory_of(node).c_str(), cpus_of(node).c_str());
  }
  text += machine.at("packages").empty() ? "Packages: none\n" : "Packages:\n";
  for (const Json& package : machine.at("packages")) {
    const std::string model = text_of(package, "model");
    const int cores = package.at("cores").get<int>();
    text += format("  %u  %s%s%d core%s  %s\n", package.at("index").get<unsigned>(), model.c_str(), model.empty() ? "" : "  ", cores,
                   cores == 1 ? "" : "s", cpus_of(package).c_str());
  }
  text += device_list("GPUs", machine.at("gpus"));
  text += device_list("NICs", machine.at("nics"));
  for (const Json& matrix : machine.at("distances")) text += matrix_text(matrix);
  return text;
}

}  // namespace smddp::topology
