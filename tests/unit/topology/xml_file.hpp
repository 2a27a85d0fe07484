// hwloc XML for tests: exported from synthetic machines that are then cut down, or written by hand.
#pragma once

#include <hwloc.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>

namespace unit::topology {

// A file with this content while the object lives.
class XmlFile {
 public:
  explicit XmlFile(const std::string& text) {
    char path[] = "/tmp/smddp_topology_XXXXXX";
    const int fd = mkstemp(path);
    if (fd < 0) throw std::runtime_error("mkstemp failed");
    close(fd);
    path_ = path;
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~XmlFile() { unlink(path_.c_str()); }
  const char* path() const { return path_.c_str(); }

 private:
  std::string path_;
};

// XML of a synthetic machine with only these CPUs, or with only these NUMA nodes. "" keeps all.
inline std::string exported(const char* synthetic, const char* cpus = "", const char* nodes = "") {
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) || hwloc_topology_set_synthetic(topology, synthetic) || hwloc_topology_load(topology)) {
    throw std::runtime_error("the test's own topology does not load");
  }
  hwloc_bitmap_t set = hwloc_bitmap_alloc();
  int bad = 0;
  if (*cpus) {
    hwloc_bitmap_list_sscanf(set, cpus);
    bad = hwloc_topology_restrict(topology, set, HWLOC_RESTRICT_FLAG_REMOVE_CPULESS);
  }
  if (*nodes) {
    hwloc_bitmap_list_sscanf(set, nodes);
    bad |= hwloc_topology_restrict(topology, set, HWLOC_RESTRICT_FLAG_BYNODESET | HWLOC_RESTRICT_FLAG_REMOVE_MEMLESS);
  }
  char* text = nullptr;
  int length = 0;
  bad |= hwloc_topology_export_xmlbuffer(topology, &text, &length, 0);
  const std::string xml = bad ? "" : text;
  if (!bad) hwloc_free_xmlbuffer(topology, text);
  hwloc_bitmap_free(set);
  hwloc_topology_destroy(topology);
  if (bad) throw std::runtime_error("the test's own topology cannot be cut or exported");
  return xml;
}

}  // namespace unit::topology
