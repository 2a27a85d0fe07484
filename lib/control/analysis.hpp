// The analyser: why a communicator stands still, in one sentence, from what its members say. A pure function.
#pragma once

#include "base/error.hpp"
#include "control/report.hpp"

#include <string>
#include <vector>

namespace smddp::control {

enum class Reason : uint8_t {
  kLook,      // somebody has waited for a while: only a mismatch is worth an error
  kMismatch,  // a message or an entry that another call belongs to has come
  kTimeout,   // a deadline has passed
};

struct Question {
  uint64_t comm = 0;            // its number in the job
  std::string name;
  std::vector<int> members;     // ranks of the job, by rank
  int rank = 0;                 // of the job: who asks
  Reason reason = Reason::kLook;
  uint32_t sequence = 0;        // of the operation that it waits in
  node::Call call;
  int64_t timeout_ms = 0;
  std::string missing;          // what it waits for itself; may be empty
};

// reports: by member, also the asker's. hosts: names, by rank of the job. SMDDP_SUCCESS: there is nothing to say.
Status analyse(const Question& question, const std::vector<Report>& reports, const std::vector<std::string>& hosts);

}  // namespace smddp::control
