// Which stores pay between two CPUs: an answer for any pair, in bounded time, and the same again.
#include "node/stores.hpp"

#include "base/clock.hpp"
#include "topology/topology.hpp"

#include <sched.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

using smddp::node::kNeverStream;
using smddp::node::measured_stream_bytes;

namespace {

void one_cpu_needs_no_measurement(void**) {
  assert_true(measured_stream_bytes({}) == kNeverStream);
  assert_true(measured_stream_bytes({0}) == kNeverStream);
}

void cpus_that_cannot_be_used(void**) {
  const int64_t start = smddp::now_ns();
  assert_true(measured_stream_bytes({100000, 100001}) == kNeverStream);
  assert_true(smddp::now_ns() - start < 2'000'000'000);
}

void this_machine(void**) {
  cpu_set_t before, after;
  assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
  const std::vector<int> cpus = smddp::topology::cpus_in({smddp::topology::allowed_cpus()});
  const uint64_t bytes = measured_stream_bytes(cpus);
  assert_true(bytes == 4096 || bytes == 32768 || bytes == 524288 || bytes == kNeverStream);
  assert_true(measured_stream_bytes(cpus) == bytes);
  assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
  assert_true(CPU_EQUAL(&before, &after));
  print_message("past the caches from %lld bytes\n", static_cast<long long>(bytes));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(one_cpu_needs_no_measurement), cmocka_unit_test(cpus_that_cannot_be_used),
                              cmocka_unit_test(this_machine)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
