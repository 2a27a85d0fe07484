// Which networks of a rank messages are spread over, from the networks of all ranks.
#include "bootstrap/rails.hpp"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

using namespace smddp::bootstrap;

namespace {

// Networks that rank `self` is left with, as letters.
std::string left(const std::vector<RankNetworks>& ranks, size_t self) {
  std::vector<RailPlace> own;
  for (const std::string& network : ranks[self].networks) own.push_back({"eth", network, "address"});
  std::string text;
  for (const RailPlace& rail : shared_rails(ranks, own)) text += rail.network;
  return text;
}

void one_network(void**) {
  assert_string_equal(left({{"x", {"a"}}, {"y", {"a"}}}, 0).c_str(), "");
  assert_string_equal(left({{"x", {"a"}}, {"y", {"b"}}}, 0).c_str(), "");
}

void several(void**) {
  assert_string_equal(left({{"x", {"a", "b"}}, {"y", {"a", "b"}}}, 0).c_str(), "ab");
  assert_string_equal(left({{"x", {"a", "b", "c"}}, {"y", {"c", "b"}}}, 0).c_str(), "abc");
  assert_string_equal(left({{"x", {"a", "b", "c"}}, {"y", {"c", "b"}}}, 1).c_str(), "cb");
}

// A network that only ranks of one node have leads nowhere.
void within_a_node(void**) {
  assert_string_equal(left({{"x", {"a", "b"}}, {"x", {"a", "b"}}, {"y", {"a"}}}, 0).c_str(), "");
  assert_string_equal(left({{"x", {"a", "b"}}, {"x", {"a", "b"}}, {"y", {"a", "c"}}, {"z", {"a", "c"}}}, 0).c_str(), "a");
  assert_string_equal(left({{"x", {"a", "b"}}, {"x", {"a", "b"}}, {"y", {"a", "c"}}, {"z", {"a", "c"}}}, 2).c_str(), "ac");
}

void this_machine(void**) {
  const std::vector<RailPlace> unknown = own_rails("192.0.2.1");
  assert_int_equal(unknown.size(), 1);
  assert_string_equal(unknown[0].address.c_str(), "192.0.2.1");
  const std::vector<RailPlace> loopback = own_rails("127.0.0.1");
  assert_int_equal(loopback.size(), 1);
  assert_string_equal(loopback[0].network.c_str(), "127.0.0.0/8");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(one_network), cmocka_unit_test(several), cmocka_unit_test(within_a_node),
                              cmocka_unit_test(this_machine)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
