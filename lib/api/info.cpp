// smddp_info: chooses, renders, and copies as much as fits.
#include "api/info.hpp"

#include "api/check.hpp"
#include "api/guard.hpp"
#include "topology/topology.hpp"

#include <algorithm>
#include <cstring>

namespace smddp::api {
namespace {

std::string described(smddp_info_kind_t kind, smddp_info_format_t format) {
  const bool text = format == SMDDP_FORMAT_TEXT;
  switch (kind) {
    case SMDDP_INFO_BUILD: return text ? build_text(build_json()) : rendered(build_json());
    case SMDDP_INFO_TOPOLOGY: return topology::describe(format);
    case SMDDP_INFO_PARAMETERS: return text ? parameters_text(parameters_json()) : rendered(parameters_json());
    case SMDDP_INFO_LAUNCHER: return text ? launcher_text(launcher_json()) : rendered(launcher_json());
    case SMDDP_INFO_PROVIDERS: return text ? providers_text(providers_json()) : rendered(providers_json());
    case SMDDP_INFO_JOB: return text ? job_text(job_json()) : rendered(job_json());
  }
  throw Error(SMDDP_ERR_INVALID_ARGUMENT, smddp::format("smddp_info: kind %d is none of 0 to 5", static_cast<int>(kind)));
}

}  // namespace

// Environment values need not be UTF-8: what is not is replaced.
std::string rendered(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

void check_output(const char* function, int chosen, const char* buffer, size_t capacity) {
  if (chosen != SMDDP_FORMAT_TEXT && chosen != SMDDP_FORMAT_JSON) {
    throw Error(SMDDP_ERR_INVALID_ARGUMENT, format("%s: format %d is neither 0 nor 1", function, chosen));
  }
  if (!buffer && capacity > 0) throw Error(SMDDP_ERR_INVALID_ARGUMENT, format("%s: buffer is NULL but capacity is %zu", function, capacity));
}

void copy_out(const std::string& text, char* buffer, size_t capacity, size_t* length) {
  if (capacity > 0) {
    const size_t bytes = std::min(text.size(), capacity - 1);
    std::memcpy(buffer, text.data(), bytes);
    buffer[bytes] = '\0';
  }
  if (length) *length = text.size();
}

std::string field(const std::string& label, const std::string& value) {
  constexpr size_t kColumn = 14, kWidth = 100;
  std::string text = "  " + label;
  text.resize(std::max(text.size() + 1, kColumn), ' ');
  size_t used = text.size();
  for (size_t begin = 0; begin < value.size();) {
    const size_t end = std::min(value.find(' ', begin), value.size());
    if (used > kColumn && used + 1 + end - begin > kWidth) {
      text += "\n" + std::string(kColumn, ' ');
      used = kColumn;
    } else if (begin > 0) {
      text += ' ';
      ++used;
    }
    text.append(value, begin, end - begin);
    used += end - begin;
    begin = end + 1;
  }
  return text + "\n";
}

}  // namespace smddp::api

extern "C" smddp_status_t smddp_info(smddp_info_kind_t user_kind, smddp_info_format_t user_format, char* buffer, size_t capacity, size_t* length) {
  return smddp::api::guard([&] {
    const smddp_info_format_t chosen = smddp::api::unchecked(user_format);
    smddp::api::check_output("smddp_info", chosen, buffer, capacity);
    smddp::api::copy_out(smddp::api::described(smddp::api::unchecked(user_kind), chosen), buffer, capacity, length);
  });
}
