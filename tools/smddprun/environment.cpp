#include "environment.hpp"

#include "exit_status.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace smddprun {
namespace {

constexpr const char* kOwnNames[] = {
    "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
    "SMDATAPARALLEL_WORLD_RANK", "SMDATAPARALLEL_WORLD_SIZE", "SMDATAPARALLEL_LOCAL_RANK",
    "SMDDP_JOB_ID", "SMDDP_BOOTSTRAP_ADDRESS", "SMDDP_BOOTSTRAP_PORT", "SMDDP_BOOTSTRAP_FD", "SMDDP_SERVER"};

bool has_name(const std::string& entry, const std::string& name) {
  return entry.size() > name.size() && entry[name.size()] == '=' && entry.compare(0, name.size(), name) == 0;
}

// What ranks and servers have in common; of the rest, nothing is left.
void set_meeting(int ranks, const MeetingPoint& point, Environment& environment) {
  for (const char* name : kOwnNames) environment.unset(name);
  const std::pair<const char*, std::string> values[] = {
      {"WORLD_SIZE", std::to_string(ranks)}, {"MASTER_ADDR", point.address}, {"MASTER_PORT", std::to_string(point.master_port)},
      {"SMDDP_JOB_ID", point.job_id}, {"SMDDP_BOOTSTRAP_ADDRESS", point.address}, {"SMDDP_BOOTSTRAP_PORT", std::to_string(point.bootstrap_port)}};
  for (const auto& [name, value] : values) environment.set(name, value);
}

}  // namespace

Environment::Environment() {
  for (char** entry = environ; entry && *entry; ++entry) entries_.emplace_back(*entry);
}

const char* Environment::get(const std::string& name) const {
  for (const std::string& entry : entries_) {
    if (has_name(entry, name)) return entry.c_str() + name.size() + 1;
  }
  return nullptr;
}

void Environment::set(const std::string& name, const std::string& value) {
  unset(name);
  entries_.push_back(name + "=" + value);
}

void Environment::unset(const std::string& name) {
  entries_.erase(std::remove_if(entries_.begin(), entries_.end(), [&](const std::string& entry) { return has_name(entry, name); }),
                 entries_.end());
}

char** Environment::pointers() {
  pointers_.clear();
  for (std::string& entry : entries_) pointers_.push_back(entry.data());
  pointers_.push_back(nullptr);
  return pointers_.data();
}

void apply_exports(const std::vector<std::string>& exports, Environment& environment) {
  for (const std::string& text : exports) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos && !text.empty()) continue;
    const std::string name = text.substr(0, equals);
    if (name.empty()) throw Failure("-x '" + text + "' is not NAME=VALUE");
    if (std::find(std::begin(kOwnNames), std::end(kOwnNames), name) != std::end(kOwnNames)) {
      throw Failure("-x " + name + ": smddprun sets this variable itself");
    }
    environment.set(name, text.substr(equals + 1));
  }
}

void set_rank(const RankNumbers& numbers, const MeetingPoint& point, Environment& environment) {
  const std::string r = std::to_string(numbers.rank), n = std::to_string(numbers.size), local = std::to_string(numbers.local_rank);
  set_meeting(numbers.size, point, environment);
  const std::pair<const char*, std::string> values[] = {
      {"RANK", r}, {"LOCAL_RANK", local}, {"LOCAL_WORLD_SIZE", std::to_string(numbers.local_size)},
      {"SMDATAPARALLEL_WORLD_RANK", r}, {"SMDATAPARALLEL_WORLD_SIZE", n}, {"SMDATAPARALLEL_LOCAL_RANK", local}};
  for (const auto& [name, value] : values) environment.set(name, value);
}

void set_server(int number, int ranks, const MeetingPoint& point, Environment& environment) {
  set_meeting(ranks, point, environment);
  environment.set("SMDDP_SERVER", std::to_string(number));
}

std::string random_job_id() {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) throw Failure(with_errno("getrandom", errno));
  std::string text;
  char digits[3];
  for (unsigned char byte : bytes) {
    std::snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}

}  // namespace smddprun
