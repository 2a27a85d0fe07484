// The kinds of smddp_info as data, and as text for people. None of them fails for a bad environment: the error is part of the answer.
#pragma once

#include <smddp/smddp.h>

#include <nlohmann/json.hpp>

#include <string>

namespace smddp::api {

using Json = nlohmann::ordered_json;

Json build_json();
std::string build_text(const Json& build);

Json parameters_json();
std::string parameters_text(const Json& parameters);

Json launcher_json();
std::string launcher_text(const Json& launcher);

Json providers_json();
std::string providers_text(const Json& providers);

Json job_json();  // throws INVALID_USAGE where no job runs
std::string job_text(const Json& job);

// "label  value" with the values in one column, wrapped at 100 characters; the value's further lines are indented to that column.
std::string field(const std::string& label, const std::string& value);

// JSON as text.
std::string rendered(const Json& json);

// The arguments that a text goes to: throws for what they cannot be; then copies as much as fits.
void check_output(const char* function, int format, const char* buffer, size_t capacity);
void copy_out(const std::string& text, char* buffer, size_t capacity, size_t* length);

}  // namespace smddp::api
