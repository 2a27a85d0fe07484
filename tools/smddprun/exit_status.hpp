// Exit statuses of smddprun itself, as env(1) and timeout(1) use them; any other value comes from a rank.
#pragma once

#include <stdexcept>
#include <string>

namespace smddprun {

enum ExitStatus {
  kTimedOut = 124,
  kLauncherFailed = 125,  // bad options included
  kCannotExecute = 126,
  kNotFound = 127,
  kSignalBase = 128  // + signal that ended the rank
};

// Ends the launcher before ranks exist, with one sentence.
class Failure : public std::runtime_error {
 public:
  explicit Failure(const std::string& sentence, int status = kLauncherFailed) : std::runtime_error(sentence), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

// "what: meaning of error".
std::string with_errno(const std::string& what, int error);

}  // namespace smddprun
