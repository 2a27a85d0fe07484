// The measurement at start: providers in order, unusable ones with their reason, a wait descriptor that lies found out.
#include "base/error.hpp"
#include "transport/ofi/probe.hpp"

#include <algorithm>
#include <cstdio>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

using namespace smddp::transport::ofi;

namespace {

std::vector<Measured> g_all;

const Measured* find(const char* provider) {
  const auto place = std::find_if(g_all.begin(), g_all.end(), [&](const Measured& one) { return one.provider == provider; });
  return place == g_all.end() ? nullptr : &*place;
}

int measure_all(void**) {
  Options options;
  options.source_address = "127.0.0.1";
  g_all = measure(options);
  for (const Measured& one : g_all) {
    std::printf("%-14s %-8s %8.1f us %8.1f us  %s %s\n", one.provider.c_str(), one.path.c_str(), one.small_us, one.middle_us,
                one.wait_descriptor ? "sleeps" : "naps", one.reason.c_str());
  }
  return g_all.empty() ? 1 : 0;
}

void usable_ones_come_first(void**) {
  assert_true(g_all.front().reason.empty());
  assert_true(g_all.front().small_us > 0 && g_all.front().middle_us > 0);
  for (size_t i = 1; i < g_all.size(); ++i) assert_false(!g_all[i - 1].reason.empty() && g_all[i].reason.empty());
}

void shared_memory_is_never_usable(void**) {
  const Measured* shm = find("shm");
  if (!shm) skip();
  assert_false(shm->reason.empty());
}

void wait_descriptors(void**) {
  if (const Measured* rxm = find("tcp;ofi_rxm"); rxm && rxm->reason.empty()) assert_true(rxm->wait_descriptor);
  if (const Measured* rxd = find("udp;ofi_rxd"); rxd && rxd->reason.empty()) assert_false(rxd->wait_descriptor);
  if (const Measured* net = find("net"); net && net->reason.empty()) assert_false(net->wait_descriptor);  // libfabric 1.17
}

void unknown_provider(void**) {
  Options options;
  options.provider = "no_such_provider";
  assert_int_equal(measure(options).size(), 0);
  try {
    make(options);
    fail_msg("made");
  } catch (const smddp::Error& error) {
    assert_int_equal(error.code(), SMDDP_ERR_TRANSPORT);
    assert_true(std::string(error.what()).find("no_such_provider") != std::string::npos);
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(usable_ones_come_first), cmocka_unit_test(shared_memory_is_never_usable),
                              cmocka_unit_test(wait_descriptors), cmocka_unit_test(unknown_provider)};
  return cmocka_run_group_tests(tests, measure_all, nullptr);
}
