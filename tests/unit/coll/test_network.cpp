// Figures of a network as text and back: exact, in any locale, within their ranges; anything else is named.
#include "coll/network.hpp"

#include "base/error.hpp"

#include <clocale>
#include <cmath>
#include <cstdarg>
#include <csetjmp>
#include <cstddef>
#include <cstring>

extern "C" {
#include <cmocka.h>
}

using namespace smddp;

namespace {

bool same(const coll::Network& a, const coll::Network& b) {
  for (const coll::Figure& figure : coll::kFigures) {
    if (a.*figure.value != b.*figure.value) return false;
  }
  return true;
}

void there_and_back(void**) {
  coll::Network network;
  network.latency_us = 1.0 / 3;
  network.bytes_per_us = 12345.678901234567;
  network.latency_us += 1;
  assert_true(same(network, coll::parse_network(coll::text_of(network))));
  for (const char* locale : {"de_DE.UTF-8", "fr_FR.UTF-8", "C"}) {
    if (!std::setlocale(LC_ALL, locale)) continue;
    assert_true(same(network, coll::parse_network(coll::text_of(network))));
    assert_null(std::strstr(coll::text_of(network).c_str(), "12345,"));
  }
}

void missing_ones_are_assumed(void**) {
  coll::Network expected;
  expected.latency_us = 7.5;
  assert_true(same(coll::parse_network("latency_us=7.5"), expected));
  assert_true(same(coll::parse_network(""), {}));
}

void nonsense_is_limited(void**) {
  for (const coll::Figure& figure : coll::kFigures) {
    coll::Network network;
    for (const double value : {-1.0, 0.0, 1e300, double{INFINITY}}) {
      network.*figure.value = value;
      const double now = coll::limited(network).*figure.value;
      assert_true(now == (value > 1 ? figure.most : figure.least));
    }
    assert_true(coll::Network{}.*figure.value == coll::limited({}).*figure.value);
  }
}

void wrong_texts(void**) {
  for (const char* text : {"latency", "latency_us=", "latency_us=x", "latency_us=12us", "latency_us=0", "latency_us=-3", "latency_us=nan", "latency_us=inf",
                           "latency_us=1e9", "speed=3", "latency_us=3;overhead_us=1", "latency_us=3,overhead_us", ",", " latency_us=3"}) {
    try {
      coll::parse_network(text);
      fail_msg("'%s' was taken", text);
    } catch (const Error& error) {
      assert_int_equal(error.code(), SMDDP_ERR_INVALID_ARGUMENT);
      if (!std::strstr(error.what(), text) || !std::strstr(error.what(), "bytes_per_us from 1 to")) fail_msg("'%s': %s", text, error.what());
    }
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(there_and_back), cmocka_unit_test(missing_ones_are_assumed), cmocka_unit_test(nonsense_is_limited),
                              cmocka_unit_test(wrong_texts)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
