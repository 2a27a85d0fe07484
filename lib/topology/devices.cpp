// GPUs and NICs: what hwloc lists as PCI devices and as devices of the operating system, joined where both are one piece of hardware.
#include "base/error.hpp"
#include "topology/machine.hpp"

namespace smddp::topology {
namespace {

constexpr unsigned kNetwork = 0x02, kDisplay = 0x03, kAccelerator = 0x12;  // PCI base classes

unsigned base_class(hwloc_obj_t pci) { return pci->attr->pcidev.class_id >> 8; }

bool is_gpu(hwloc_obj_t object) {
  if (object->type == HWLOC_OBJ_PCI_DEVICE) return base_class(object) == kDisplay || base_class(object) == kAccelerator;
  return object->attr->osdev.type == HWLOC_OBJ_OSDEV_GPU || object->attr->osdev.type == HWLOC_OBJ_OSDEV_COPROC;
}

bool is_nic(hwloc_obj_t object) {
  if (object->type == HWLOC_OBJ_PCI_DEVICE) return base_class(object) == kNetwork;
  return object->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK || object->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS;
}

// The PCI device that an operating system device belongs to; itself if there is none.
hwloc_obj_t hardware_of(hwloc_obj_t object) {
  for (hwloc_obj_t parent = object; parent; parent = parent->parent) {
    if (parent->type == HWLOC_OBJ_PCI_DEVICE) return parent;
  }
  return object;
}

std::string info(hwloc_obj_t object, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* value = hwloc_obj_get_info_by_name(object, name);
    if (value && *value) return value;
  }
  return "";
}

// The makers one meets in such machines; others by number, with the device.
std::string vendor_name(unsigned id) {
  switch (id) {
    case 0x1002: return "AMD";
    case 0x10DE: return "NVIDIA";
    case 0x14E4: return "Broadcom";
    case 0x15B3: return "Mellanox";
    case 0x1AF4: return "virtio";
    case 0x1D0F: return "Amazon";
    case 0x8086: return "Intel";
    default: return "";
  }
}

Json entry(hwloc_topology_t topology, hwloc_obj_t hardware) {
  Json json = {{"names", Json::array()}, {"pci", ""}, {"vendor", info(hardware, {"PCIVendor"})}, {"model", info(hardware, {"PCIDevice"})}};
  if (hardware->type == HWLOC_OBJ_PCI_DEVICE) {
    const auto& pci = hardware->attr->pcidev;
    json["pci"] = format("%04x:%02x:%02x.%01x", pci.domain, pci.bus, pci.dev, pci.func);
    if (json["vendor"] == "") json["vendor"] = vendor_name(pci.vendor_id);
    if (json["model"] == "") json["model"] = format("%04x:%04x", pci.vendor_id, pci.device_id);
  }
  const hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology, hardware);
  json["numa_nodes"] = near ? set_text(near->nodeset) : "";
  hwloc_obj_t package = near;
  while (package && package->type != HWLOC_OBJ_PACKAGE) package = package->parent;
  json["package"] = package ? Json(package->os_index) : Json(nullptr);
  return json;
}

class Devices {
 public:
  explicit Devices(hwloc_topology_t topology) : topology_(topology) {}

  void add(hwloc_obj_t object) {
    const hwloc_obj_t hardware = hardware_of(object);
    size_t at = 0;
    while (at < hardware_.size() && hardware_[at] != hardware) ++at;
    if (at == hardware_.size()) {
      hardware_.push_back(hardware);
      list_.push_back(entry(topology_, hardware));
    }
    if (object->type != HWLOC_OBJ_OS_DEVICE) return;
    Json& json = list_[at];
    if (object->name) json["names"].push_back(object->name);
    const std::string vendor = info(object, {"GPUVendor"}), model = info(object, {"GPUModel"}), address = info(object, {"Address"});
    if (!vendor.empty()) json["vendor"] = vendor;
    if (!model.empty()) json["model"] = model;
    if (!address.empty()) json["address"] = address;
  }

  Json list() const { return list_; }

 private:
  hwloc_topology_t topology_;
  std::vector<hwloc_obj_t> hardware_;
  Json list_ = Json::array();
};

template <class Wanted>
Json devices(hwloc_topology_t topology, Wanted wanted) {
  Devices found(topology);
  for (hwloc_obj_t pci = nullptr; (pci = hwloc_get_next_pcidev(topology, pci));) {
    if (pci->attr && wanted(pci)) found.add(pci);
  }
  for (hwloc_obj_t device = nullptr; (device = hwloc_get_next_osdev(topology, device));) {
    if (device->attr && wanted(device)) found.add(device);
  }
  return found.list();
}

}  // namespace

Json gpus(hwloc_topology_t topology) { return devices(topology, is_gpu); }

Json nics(hwloc_topology_t topology) { return devices(topology, is_nic); }

}  // namespace smddp::topology
