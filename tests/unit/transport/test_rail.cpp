// Addresses of rails and how two ranks pair them: both sides come to the same pairs.
#include "base/error.hpp"
#include "transport/rails/rail.hpp"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

using namespace smddp::transport::rails;

namespace {

RailAddress rails_of(std::initializer_list<const char*> networks) {
  RailAddress address;
  address.nonce = 7;
  for (const char* network : networks) address.rails.push_back({network, std::string("at ") + network});
  return address;
}

void same_on_both_sides(const RailAddress& one, const RailAddress& two, std::initializer_list<Pair> expected) {
  const std::vector<Pair> pairs = pair_rails(one, two), mirrored = pair_rails(two, one);
  assert_int_equal(pairs.size(), expected.size());
  assert_int_equal(mirrored.size(), expected.size());
  for (size_t i = 0; i < pairs.size(); ++i) {
    assert_int_equal(pairs[i].mine, expected.begin()[i].mine);
    assert_int_equal(pairs[i].theirs, expected.begin()[i].theirs);
    assert_int_equal(pairs[i].mine, mirrored[i].theirs);
    assert_int_equal(pairs[i].theirs, mirrored[i].mine);
  }
}

void pairs(void**) {
  same_on_both_sides(rails_of({"a", "b"}), rails_of({"a", "b"}), {{0, 0}, {1, 1}});
  same_on_both_sides(rails_of({"a", "b"}), rails_of({"b", "a"}), {{0, 1}, {1, 0}});
  same_on_both_sides(rails_of({"a", "b", "c"}), rails_of({"c", "d"}), {{2, 0}});
  same_on_both_sides(rails_of({"a", "b"}), rails_of({"c", "d"}), {{0, 0}});  // routed
  same_on_both_sides(rails_of({"a"}), rails_of({"b", "a"}), {{0, 1}});
  same_on_both_sides(rails_of({"d", "c", "b", "a"}), rails_of({"a", "b", "c", "d"}), {{3, 0}, {2, 1}, {1, 2}, {0, 3}});
}

void packed(void**) {
  const RailAddress address = RailAddress::unpack(rails_of({"10.0.0.0/24", "", "c"}).pack(), 3);
  assert_int_equal(address.nonce, 7);
  assert_int_equal(address.rails.size(), 3);
  assert_string_equal(address.rails[0].network.c_str(), "10.0.0.0/24");
  assert_string_equal(address.rails[2].address.c_str(), "at c");
}

void refused(const std::string& bytes) {
  try {
    RailAddress::unpack(bytes, 3);
  } catch (const smddp::Error& error) {
    assert_int_equal(error.code(), SMDDP_ERR_TRANSPORT);
    assert_non_null(std::string(error.what()).find("rank 3") != std::string::npos ? error.what() : nullptr);
    return;
  }
  fail_msg("%zu bytes were taken", bytes.size());
}

void not_an_address(void**) {
  const std::string bytes = rails_of({"a", "b"}).pack();
  for (size_t cut = 0; cut < bytes.size(); ++cut) refused(bytes.substr(0, cut));
  refused(bytes + "x");
  refused(rails_of({}).pack());
  refused(rails_of({"a", "b", "c", "d", "e"}).pack());
  std::string wild = bytes;
  wild[8] = '\xff';
  wild[11] = '\xff';
  refused(wild);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(pairs), cmocka_unit_test(packed), cmocka_unit_test(not_an_address)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
