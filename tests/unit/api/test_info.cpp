// What smddp_info says as data: every field of every parameter, wrong and strange values of the environment as part of the answer,
// the launcher with and without an error, lines of bounded width.
#include "api/info.hpp"
#include "base/parameters.hpp"

#include <smddp/smddp.h>

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <setjmp.h>
#include <sstream>
#include <string>

extern "C" {
#include <cmocka.h>
}

namespace {

using nlohmann::json;

std::string info(smddp_info_kind_t kind, smddp_info_format_t format) {
  size_t length = 0;
  if (smddp_info(kind, format, nullptr, 0, &length) != SMDDP_SUCCESS) fail_msg("%s", smddp_last_error());
  std::string text(length + 1, '\0');
  assert_int_equal(smddp_info(kind, format, text.data(), text.size(), &length), SMDDP_SUCCESS);
  text.resize(length);
  return text;
}

json info_json(smddp_info_kind_t kind) { return json::parse(info(kind, SMDDP_FORMAT_JSON)); }

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

void every_parameter_has_every_field(void**) {
  const json rows = info_json(SMDDP_INFO_PARAMETERS);
  assert_int_equal(rows.size(), smddp::parameter::kEnd);
  for (int id = 0; id < smddp::parameter::kEnd; ++id) {
    const json& row = rows[static_cast<size_t>(id)];
    assert_string_equal(row["name"].get<std::string>().c_str(), smddp::parameter_at(id).name);
    for (const char* key : {"value", "default", "unit", "range", "shared", "set", "meaning", "error"}) {
      if (!row.contains(key)) fail_msg("%s has no '%s'", smddp::parameter_at(id).name, key);
    }
    if (getenv(smddp::parameter_at(id).name)) continue;
    assert_true(row["value"] == row["default"] && row["error"].is_null() && row["set"] == false);
  }
}

void wrong_values_are_shown(void**) {
  for (int id = 0; id < smddp::parameter::kEnd; ++id) {
    const smddp::Parameter& parameter = smddp::parameter_at(id);
    const bool text = parameter.unit == smddp::Unit::kText;
    for (const char* value : {"12x", "\xff\xfe", "99999999999999999999", "a|b"}) {
      const Variable variable(parameter.name, value);
      const json row = info_json(SMDDP_INFO_PARAMETERS)[static_cast<size_t>(id)];
      if (row["error"].is_null() != text) fail_msg("%s='%s': error is %s", parameter.name, value, row["error"].dump().c_str());
      assert_true(row["set"] == true);
      if (*value > 0) assert_string_equal(row["value"].get<std::string>().c_str(), value);
      info(SMDDP_INFO_PARAMETERS, SMDDP_FORMAT_TEXT);
    }
  }
}

void set_values_are_numbers(void**) {
  const Variable variable("SMDDP_SEGMENT_BYTES", "64K");
  for (const json& row : info_json(SMDDP_INFO_PARAMETERS)) {
    if (row["name"] != "SMDDP_SEGMENT_BYTES") continue;
    assert_int_equal(row["value"].get<int64_t>(), 65536);
    assert_int_equal(row["default"].get<int64_t>(), 0);
    assert_true(row["shared"] == true);
    return;
  }
  fail_msg("SMDDP_SEGMENT_BYTES is missing");
}

void launcher(void**) {
  for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "SMDDP_JOB_ID"}) unsetenv(name);
  const Variable size("WORLD_SIZE", "4"), address("MASTER_ADDR", "127.0.0.1"), port("MASTER_PORT", "29400");
  {
    const Variable rank("RANK", "3");
    const json good = info_json(SMDDP_INFO_LAUNCHER);
    assert_true(good["error"].is_null());
    assert_int_equal(good["rank"], 3);
    assert_int_equal(good["size"], 4);
    assert_int_equal(good["port"], 29400);
  }
  const Variable rank("RANK", "4");
  const json bad = info_json(SMDDP_INFO_LAUNCHER);
  assert_non_null(strstr(bad["error"].get<std::string>().c_str(), "RANK"));
  assert_non_null(strstr(info(SMDDP_INFO_LAUNCHER, SMDDP_FORMAT_TEXT).c_str(), "would fail"));
}

void build(void**) {
  const json build = info_json(SMDDP_INFO_BUILD);
  assert_string_equal(build["version"].get<std::string>().c_str(), SMDDP_VERSION_STRING);
  assert_int_equal(build["dtypes"].size(), 13);
  assert_int_equal(build["ops"].size(), 8);
  assert_true(build["cxx_standard"] >= 20);
  assert_string_not_equal(build["build_type"].get<std::string>().c_str(), "unknown");
}

void lines_are_wrapped(void**) {
  std::istringstream lines(info(SMDDP_INFO_PARAMETERS, SMDDP_FORMAT_TEXT));
  for (std::string line; std::getline(lines, line);) {
    if (line.size() > 100) fail_msg("%zu bytes: %s", line.size(), line.c_str());
  }
  const std::string word(150, 'x');
  assert_string_equal(smddp::api::field("a", word + " y").c_str(), ("  a           " + word + "\n              y\n").c_str());
  assert_string_equal(smddp::api::field("a long label here", "v").c_str(), "  a long label here v\n");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(every_parameter_has_every_field), cmocka_unit_test(wrong_values_are_shown),
      cmocka_unit_test(set_values_are_numbers),          cmocka_unit_test(launcher),
      cmocka_unit_test(build),                           cmocka_unit_test(lines_are_wrapped),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
