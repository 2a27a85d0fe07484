// TIMEOUT 300
// Ordinary and odd machines, as synthetic descriptions and XML, and texts that are neither: a description or an Error, never a crash.
#include "base/error.hpp"
#include "topology/topology.hpp"
#include "unit/topology/xml_file.hpp"

#include <nlohmann/json.hpp>

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <setjmp.h>
#include <string>

extern "C" {
#include <cmocka.h>
}

namespace {

using nlohmann::json;
using smddp::topology::describe;
using unit::topology::exported;
using unit::topology::XmlFile;

json described(const char* source) {
  try {
    const std::string text = describe(SMDDP_FORMAT_TEXT, source);
    assert_non_null(std::strstr(text.c_str(), "Allowed CPUs: "));
    return json::parse(describe(SMDDP_FORMAT_JSON, source));
  } catch (const smddp::Error& error) {
    fail_msg("%s", error.what());
    return {};
  }
}

json described_xml(const std::string& xml) { return described(XmlFile(xml).path()); }

bool fails(const char* source) {
  try {
    describe(SMDDP_FORMAT_TEXT, source);
    return false;
  } catch (const smddp::Error& error) {
    return error.code() == SMDDP_ERR_SYSTEM && *error.what();
  }
}

void this_machine(void**) {
  const json machine = described(nullptr);
  assert_string_equal(machine["source"].get<std::string>().c_str(), "this machine");
  assert_int_equal(machine["allowed"]["count"], smddp::topology::cpus_in({smddp::topology::allowed_cpus()}).size());
  assert_true(machine["pus"] >= 1);
  assert_true(machine["memory_bytes"] > 0);
}

void two_packages(void**) {
  const json machine = described("Package:2 [NUMANode(memory=1GB)] Core:3 PU:2");
  assert_int_equal(machine["pus"], 12);
  assert_int_equal(machine["cores"], 6);
  assert_int_equal(machine["allowed"]["count"], 12);
  assert_int_equal(machine["packages"].size(), 2);
  assert_int_equal(machine["packages"][1]["cores"], 3);
  assert_string_equal(machine["numa_nodes"][1]["cpus"].get<std::string>().c_str(), "6-11");
}

void one_pu_and_1025_pus(void**) {
  assert_int_equal(described("PU:1")["allowed"]["count"], 1);
  const json machine = described("PU:1025");
  assert_int_equal(machine["pus"], 1025);
  assert_string_equal(machine["allowed"]["cpus"].get<std::string>().c_str(), "0-1024");
}

void cpu_0_missing(void**) {
  const json machine = described_xml(exported("Package:1 Core:4 PU:1", "1-3"));
  assert_int_equal(machine["pus"], 3);
  assert_string_equal(machine["allowed"]["cpus"].get<std::string>().c_str(), "1-3");
}

void a_few_of_64(void**) {
  const json machine = described_xml(exported("NUMANode:4 Core:16 PU:1", "44-47"));
  assert_int_equal(machine["allowed"]["count"], 4);
  assert_string_equal(machine["allowed"]["cpus"].get<std::string>().c_str(), "44-47");
}

void gap_in_node_numbers(void**) {
  const json machine = described_xml(exported("NUMANode:3 Core:2 PU:1", "", "0,2"));
  assert_int_equal(machine["numa_nodes"].size(), 2);
  assert_int_equal(machine["numa_nodes"][1]["index"], 2);
}

void node_without_memory(void**) {
  const json machine = described("Package:2 [NUMANode(memory=0)] Core:2 PU:1");
  assert_int_equal(machine["numa_nodes"][0]["memory_bytes"], 0);
  assert_int_equal(machine["pus"], 4);
}

// Two cores, a node that covers one of them, a GPU and a NIC below a PCI bridge, distances between nodes that do not all exist.
const char* const kOdd = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x00000006" complete_cpuset="0x00000006" allowed_cpuset="0x00000006" nodeset="0x00000004"
          complete_nodeset="0x00000004" allowed_nodeset="0x00000004" gp_index="1">
    <object type="Core" os_index="1" cpuset="0x00000002" complete_cpuset="0x00000002" nodeset="0x00000004" complete_nodeset="0x00000004"
            gp_index="2">
      <object type="NUMANode" os_index="2" cpuset="0x00000002" complete_cpuset="0x00000002" nodeset="0x00000004"
              complete_nodeset="0x00000004" gp_index="3" local_memory="4096"/>
      <object type="PU" os_index="1" cpuset="0x00000002" complete_cpuset="0x00000002" nodeset="0x00000004"
              complete_nodeset="0x00000004" gp_index="4"/>
    </object>
    <object type="Core" os_index="2" cpuset="0x00000004" complete_cpuset="0x00000004" nodeset="0x0" complete_nodeset="0x0" gp_index="5">
      <object type="PU" os_index="2" cpuset="0x00000004" complete_cpuset="0x00000004" nodeset="0x0" complete_nodeset="0x0"
              gp_index="6"/>
    </object>
    <object type="Bridge" gp_index="7" bridge_type="0-1" depth="0" bridge_pci="0000:[00-08]">
      <object type="PCIDev" gp_index="8" pci_busid="0000:01:00.0" pci_type="0302 [10de:2335] [10de:18be] a1" pci_link_speed="0.0">
        <info name="PCIVendor" value="Vendor &#x00e9;"/>
        <object type="OSDev" gp_index="9" name="cuda0" osdev_type="5" subtype="CUDA">
          <info name="GPUModel" value="Example 200"/>
        </object>
      </object>
      <object type="PCIDev" gp_index="10" pci_busid="0000:02:00.0" pci_type="0200 [1d0f:efa2] [1d0f:efa2] 00" pci_link_speed="0.0">
        <object type="OSDev" gp_index="11" name="rdmap2s0" osdev_type="3"/>
        <object type="OSDev" gp_index="12" name="eth1" osdev_type="2">
          <info name="Address" value="02:00:00:00:00:01"/>
        </object>
      </object>
    </object>
  </object>
</topology>
)";

void devices_and_a_core_outside_any_node(void**) {
  const json machine = described_xml(kOdd);
  assert_int_equal(machine["pus"], 2);
  assert_int_equal(machine["gpus"].size(), 1);
  assert_string_equal(machine["gpus"][0]["names"][0].get<std::string>().c_str(), "cuda0");
  assert_string_equal(machine["gpus"][0]["model"].get<std::string>().c_str(), "Example 200");
  assert_string_equal(machine["gpus"][0]["numa_nodes"].get<std::string>().c_str(), "2");
  assert_int_equal(machine["nics"].size(), 1);
  assert_int_equal(machine["nics"][0]["names"].size(), 2);
  assert_string_equal(machine["nics"][0]["vendor"].get<std::string>().c_str(), "Amazon");
  assert_string_equal(machine["nics"][0]["address"].get<std::string>().c_str(), "02:00:00:00:00:01");
}

void texts_that_are_no_machine(void**) {
  for (const char* text : {"", "garbage", "PU:0", "PU:-1", "NUMANode:2 PU:", "/", "/dev/null", "/nonexistent/file.xml"}) {
    if (!fails(text)) fail_msg("'%s' is described as a machine", text);
  }
  const std::string xml = exported("Package:2 Core:2 PU:2");
  const XmlFile cut(xml.substr(0, xml.size() / 2)), random("\x7f" "ELF\x01\x02<<<>>>"), other("<html><body>404</body></html>");
  assert_true(fails(cut.path()));
  assert_true(fails(random.path()));
  assert_true(fails(other.path()));
}

// Bytes changed at random: whatever hwloc makes of them, a crash included, the answer is a description or an Error.
void damaged_xml(void**) {
  const std::string originals[] = {exported("Package:2 [NUMANode(memory=1MB)] Core:2 PU:2"), kOdd};
  std::mt19937 random(62);
  int described = 0, refused = 0;
  for (int round = 0; round < 400; ++round) {
    std::string xml = originals[round % 2];
    for (unsigned change = random() % 4; change < 4; ++change) {
      const size_t at = random() % xml.size();
      switch (random() % 3) {
        case 0: xml[at] = static_cast<char>(random()); break;
        case 1: xml.erase(at, random() % 20); break;
        default: xml[at] = "0123456789fF-\"<>"[random() % 16]; break;
      }
    }
    const XmlFile file(xml);
    try {
      describe(round % 3 ? SMDDP_FORMAT_JSON : SMDDP_FORMAT_TEXT, file.path());
      ++described;
    } catch (const smddp::Error&) {
      ++refused;
    }
  }
  assert_true(described > 10 && refused > 10);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(this_machine),        cmocka_unit_test(two_packages),
      cmocka_unit_test(one_pu_and_1025_pus), cmocka_unit_test(cpu_0_missing),
      cmocka_unit_test(a_few_of_64),         cmocka_unit_test(gap_in_node_numbers),
      cmocka_unit_test(node_without_memory), cmocka_unit_test(devices_and_a_core_outside_any_node),
      cmocka_unit_test(texts_that_are_no_machine), cmocka_unit_test(damaged_xml),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
