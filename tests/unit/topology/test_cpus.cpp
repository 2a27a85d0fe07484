// The allowed CPUs of this process and unions of lists.
#include "topology/topology.hpp"

#include <sched.h>

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <setjmp.h>
#include <string>
#include <vector>

extern "C" {
#include <cmocka.h>
}

namespace {

using smddp::topology::allowed_cpus;
using smddp::topology::cpus_in;

// Gives back the mask that the test started with.
class Mask {
 public:
  Mask() { assert_int_equal(sched_getaffinity(0, sizeof(set_), &set_), 0); }
  ~Mask() { sched_setaffinity(0, sizeof(set_), &set_); }
  std::vector<int> cpus() const {
    std::vector<int> list;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set_)) list.push_back(cpu);
    }
    return list;
  }

 private:
  cpu_set_t set_;
};

void as_many_as_the_kernel_says(void**) {
  const Mask mask;
  assert_int_equal(cpus_in({allowed_cpus()}).size(), static_cast<int>(mask.cpus().size()));
}

void follows_the_mask(void**) {
  const Mask mask;
  for (const int cpu : mask.cpus()) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_string_equal(allowed_cpus().c_str(), std::to_string(cpu).c_str());
  }
}

void every_second_cpu(void**) {
  const Mask mask;
  cpu_set_t some;
  CPU_ZERO(&some);
  std::string expected;
  const std::vector<int> cpus = mask.cpus();
  for (size_t i = 0; i < cpus.size(); i += 2) {
    // Numbers of one machine may have gaps of their own; only lone ones make the text predictable.
    if (i > 0 && cpus[i] - cpus[i - 2] < 2) continue;
    CPU_SET(cpus[i], &some);
    expected += (expected.empty() ? "" : ",") + std::to_string(cpus[i]);
  }
  assert_int_equal(sched_setaffinity(0, sizeof(some), &some), 0);
  assert_string_equal(allowed_cpus().c_str(), expected.c_str());
}

void unions(void**) {
  assert_int_equal(cpus_in({}).size(), 0);
  assert_int_equal(cpus_in({"0"}).size(), 1);
  assert_int_equal(cpus_in({"0-3", "2-5"}).size(), 6);
  assert_int_equal(cpus_in({"0-3,8", "8", "9"}).size(), 6);
  assert_int_equal(cpus_in({"1,3", "1,3"}).size(), 2);
  assert_int_equal(cpus_in({"0-1024"}).size(), 1025);
  assert_int_equal(cpus_in({"44-47", "46,60"}).size(), 5);
}

void texts_that_are_no_list(void**) {
  for (const char* text : {"", "-", "-1", "a", "1-", "3-1", "0,,1", "1,", "0x3", "1 2", " 1", "1-2-3", "0-4000000000", "99999999999999999999",
                           "1048576", "+1", "1.5"}) {
    const int count = cpus_in({text}).size();
    if (count != 0) fail_msg("'%s' counts as %d CPUs", text, count);
    assert_int_equal(cpus_in({text, "5-6"}).size(), 2);
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(as_many_as_the_kernel_says), cmocka_unit_test(follows_the_mask), cmocka_unit_test(every_second_cpu),
      cmocka_unit_test(unions),                     cmocka_unit_test(texts_that_are_no_list),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
