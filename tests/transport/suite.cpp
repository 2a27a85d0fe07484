#include "transport/conformance.hpp"

#include <cstdio>
#include <vector>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

namespace test {
namespace {

struct Case {
  const Network* network;
  const Requirement* requirement;
};

void hold(void** state) {
  const Case& one = *static_cast<Case*>(*state);
  const int64_t start = now_ns();
  const std::string wrong = one.requirement->check(*one.network);
  std::printf("%s: %s: %.2f s\n", one.network->name.c_str(), one.requirement->name, static_cast<double>(now_ns() - start) * 1e-9);
  if (!wrong.empty()) fail_msg("%s: %s", one.network->name.c_str(), wrong.c_str());
}

}  // namespace

int run_suite(const Network& network) { return run_requirements(network, {kMessages, kEndings}); }

int run_requirements(const Network& network, std::initializer_list<const Requirement*> lists) {
  std::vector<Case> cases;
  for (const Requirement* list : lists) {
    for (; list->name; ++list) cases.push_back({&network, list});
  }
  std::vector<CMUnitTest> tests;
  for (Case& one : cases) tests.push_back({one.requirement->name, hold, nullptr, nullptr, &one});
  std::printf("transport %s\n", network.name.c_str());
  return _cmocka_run_group_tests(network.name.c_str(), tests.data(), tests.size(), nullptr, nullptr);
}

}  // namespace test
