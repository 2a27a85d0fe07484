// The text of SMDDP_ALGORITHM: pairs, names alone, later words before earlier ones; what is wrong is named, with what there is.
#include "coll/overrides.hpp"

#include "base/error.hpp"

#include <cstdarg>
#include <csetjmp>
#include <cstddef>
#include <cstring>

extern "C" {
#include <cmocka.h>
}

using namespace smddp;

namespace {

const char* wanted(const coll::Overrides& overrides, Collective collective) {
  const coll::Algorithm* algorithm = overrides[static_cast<size_t>(collective)];
  if (algorithm && algorithm->collective != collective) fail_msg("%s got an algorithm of %s", collective_name(collective), collective_name(algorithm->collective));
  return algorithm ? algorithm->name : "";
}

void pairs(void**) {
  const coll::Overrides overrides = coll::parse_overrides("allreduce:ring,broadcast:binomial");
  assert_string_equal(wanted(overrides, Collective::kAllreduce), "ring");
  assert_string_equal(wanted(overrides, Collective::kBroadcast), "binomial");
  assert_string_equal(wanted(overrides, Collective::kReduce), "");
  for (const coll::Algorithm* none : coll::parse_overrides("")) assert_null(none);
}

void names_alone(void**) {
  const coll::Overrides overrides = coll::parse_overrides("hierarchical,allreduce:sharded,");
  assert_string_equal(wanted(overrides, Collective::kAllreduce), "sharded");
  assert_string_equal(wanted(overrides, Collective::kBarrier), "hierarchical");
  assert_string_equal(wanted(coll::parse_overrides("allreduce:sharded,hierarchical"), Collective::kAllreduce), "hierarchical");
  assert_string_equal(wanted(coll::parse_overrides("bruck"), Collective::kAllgather), "bruck");
  assert_string_equal(wanted(coll::parse_overrides("bruck"), Collective::kAllreduce), "");
}

void wrong_texts(void**) {
  const struct {
    const char *text, *words;
  } table[] = {{"allreduce:rung", "allreduce has no algorithm 'rung'; it has sharded, hierarchical"},
               {"allreduce:ring,allredoce:ring", "'allredoce' is no collective; allreduce has sharded"},
               {"rung", "no collective has an algorithm 'rung'; allreduce has"},
               {"allreduce:", "allreduce has no algorithm ''"},
               {":ring", "'' is no collective"},
               {"barrier:ring", "barrier has no algorithm 'ring'; it has dissemination, hierarchical"},
               {"allreduce:ring;broadcast:binomial", "'ring;broadcast:binomial'"},
               {"allreduce: ring", "' ring'"},
               {",ring", "no collective has an algorithm ''"}};
  for (const auto& row : table) {
    try {
      coll::parse_overrides(row.text);
      fail_msg("'%s' was taken", row.text);
    } catch (const Error& error) {
      assert_int_equal(error.code(), SMDDP_ERR_INVALID_ARGUMENT);
      const std::string begin = std::string("SMDDP_ALGORITHM='") + row.text + "': ";
      if (std::string(error.what()).find(begin) != 0 || !std::strstr(error.what(), row.words)) fail_msg("'%s' is not in '%s'", row.words, error.what());
    }
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(pairs), cmocka_unit_test(names_alone), cmocka_unit_test(wrong_texts)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
