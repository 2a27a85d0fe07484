// The table of parameters with the values of this environment.
#include "api/info.hpp"
#include "base/error.hpp"
#include "base/parameters.hpp"
#include "base/units.hpp"

#include <algorithm>
#include <cstdlib>

namespace smddp::api {
namespace {

bool is_number(Unit unit) { return unit != Unit::kText && unit != Unit::kChoice; }

const char* unit_name(Unit unit) {
  switch (unit) {
    case Unit::kCount: return "count";
    case Unit::kBytes: return "bytes";
    case Unit::kMilliseconds: return "ms";
    case Unit::kMicroseconds: return "us";
    case Unit::kText: return "text";
    case Unit::kChoice: return "choice";
  }
  return "unknown";
}

Json range(const Parameter& parameter) {
  if (is_number(parameter.unit)) return Json::array({parameter.minimum, parameter.maximum});
  if (parameter.unit == Unit::kText) return nullptr;
  Json words = Json::array();
  const std::string choices = parameter.choices;
  for (size_t begin = 0; begin < choices.size();) {
    const size_t end = std::min(choices.find('|', begin), choices.size());
    words.push_back(choices.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

Json default_value(const Parameter& parameter) {
  int64_t number = 0;
  return is_number(parameter.unit) && parse_integer(parameter.default_text, number) ? Json(number) : Json(parameter.default_text);
}

Json row(parameter::Id id) {
  const Parameter& parameter = parameter_at(id);
  Json value, error;
  try {
    value = is_number(parameter.unit) ? Json(parameter_number(id)) : Json(parameter_text(id));
  } catch (const Error& bad) {
    const char* text = std::getenv(parameter.name);
    value = text ? text : "";
    error = bad.what();
  }
  return {{"name", parameter.name},     {"value", value},
          {"default", default_value(parameter)}, {"unit", unit_name(parameter.unit)},
          {"range", range(parameter)},  {"shared", parameter.shared},
          {"set", parameter_is_set(id)}, {"meaning", parameter.meaning},
          {"error", error}};
}

std::string value_text(const Json& value, const std::string& unit) {
  if (value.is_string()) return value.get<std::string>().empty() ? "(empty)" : value.get<std::string>();
  return value.dump() + (unit == "count" ? "" : " " + unit);
}

std::string range_text(const Json& range) {
  if (range.is_null()) return "any text";
  if (range[0].is_number()) return range[0].dump() + " to " + range[1].dump();
  std::string text;
  for (const Json& word : range) text += (text.empty() ? "" : ", ") + word.get<std::string>();
  return text;
}

}  // namespace

Json parameters_json() {
  Json rows = Json::array();
  for (int id = 0; id < parameter::kEnd; ++id) rows.push_back(row(static_cast<parameter::Id>(id)));
  return rows;
}

std::string parameters_text(const Json& parameters) {
  std::string text;
  for (const Json& row : parameters) {
    const std::string unit = row.at("unit").get<std::string>();
    text += (text.empty() ? "" : "\n") + row.at("name").get<std::string>() + "\n";
    text += field("value", value_text(row.at("value"), unit) + (row.at("set").get<bool>() ? " (from the environment)" : " (default)"));
    if (!row.at("error").is_null()) text += field("error", row.at("error").get<std::string>());
    text += field("default", value_text(row.at("default"), unit));
    text += field("range", range_text(row.at("range")) + (row.at("shared").get<bool>() ? "; the same on all ranks" : ""));
    text += field("meaning", row.at("meaning").get<std::string>());
  }
  return text;
}

}  // namespace smddp::api
