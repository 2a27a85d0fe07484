// Lists of hosts as Slurm writes them, and the ports of jobs and steps.
#include "bootstrap/slurm.hpp"
#include "unit/bootstrap/ranks.hpp"

#include <set>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
extern "C" {
#include <cmocka.h>
}

using namespace smddp;
using namespace smddp::bootstrap;
using namespace smddp::bootstrap::test;

static void first_hosts(void**) {
  const std::pair<const char*, const char*> cases[] = {
      {"linux[1,3-5]", "linux1"}, {"a[01-03]b,c", "a01b"}, {"c,a[01-03]b", "c"}, {"one", "one"},           {"n[009-011]", "n009"},
      {"r[1-2]n[3-4],x", "r1n3"}, {"a-b[7]-c", "a-b7-c"},  {"[5-9]", "5"},       {"head.site,n1", "head.site"}, {"n[1,2]s,n3", "n1s"}};
  for (const auto& [list, host] : cases) assert_string_equal(first_host("L", list).c_str(), host);
}

static void wrong_lists(void**) {
  const std::pair<const char*, const char*> cases[] = {{"", "no host"},   {",a", "no host"},        {"n[1", "'[' without ']'"}, {"n1]", "']' without '['"},
                                                       {"n[]", "number"}, {"n[a-b]", "no number"}, {"n[-3]", "no number"}};
  for (const auto& [list, words] : cases) {
    Outcome outcome;
    try {
      first_host("SLURM_NODELIST", list);
    } catch (const Error& error) {
      outcome.code = error.code();
      outcome.text = error.what();
    }
    assert_code(outcome, SMDDP_ERR_INVALID_ARGUMENT);
    assert_contains(outcome.text, format("SLURM_NODELIST='%s'", list).c_str());
    assert_contains(outcome.text, words);
  }
}

// Neighbours share no port, and all lie below those that connections get.
static void ports(void**) {
  std::set<int> seen;
  for (int64_t job = 1000; job < 1010; ++job) {
    for (int64_t step = 0; step < 16; ++step) {
      const int port = slurm_port(job, step);
      assert_true(port >= 20000 && port + kPortsToTry <= 32768);
      for (int i = 0; i < kPortsToTry; ++i) assert_true(seen.insert(port + i).second);
    }
  }
  assert_true(slurm_port(4294967295, 4294967280) < 32768);
}

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(first_hosts), cmocka_unit_test(wrong_lists), cmocka_unit_test(ports)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
