// Environments as the ranks get them. Invariant: entries that the launcher does not set keep their bytes and their order, also those
// that no shell could have made.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace smddprun {

class Environment {
 public:
  // A copy of this process's environment, or these entries.
  Environment();
  explicit Environment(std::vector<std::string> entries) : entries_(std::move(entries)) {}

  const std::vector<std::string>& entries() const { return entries_; }

  const char* get(const std::string& name) const;  // NULL if absent
  void set(const std::string& name, const std::string& value);
  void unset(const std::string& name);

  // For execve: valid until the next change.
  char** pointers();

 private:
  std::vector<std::string> entries_;
  std::vector<char*> pointers_;
};

// Applies -x. Throws Failure for a name that is empty or the launcher's own.
void apply_exports(const std::vector<std::string>& exports, Environment& environment);

// Where the ranks of one job meet.
struct MeetingPoint {
  std::string address;
  int bootstrap_port = 0;
  int master_port = 0;
  std::string job_id;
};

struct RankNumbers {
  int rank, size, local_rank, local_size;
};

// Sets everything that a rank needs but SMDDP_BOOTSTRAP_FD, and removes that one.
void set_rank(const RankNumbers& numbers, const MeetingPoint& point, Environment& environment);

// The same for a server.
void set_server(int number, int ranks, const MeetingPoint& point, Environment& environment);

// 128 random bits as text.
std::string random_job_id();

}  // namespace smddprun
