// Errors: thrown before the first byte moves, returned on the data path. The function that decides which error it is writes the
// whole sentence; callers add nothing.
#pragma once

#include <smddp/smddp.h>

#include <stdexcept>
#include <string>

namespace smddp {

class Error : public std::runtime_error {
 public:
  Error(smddp_status_t code, const std::string& text) : std::runtime_error(text), code_(code) {}
  smddp_status_t code() const { return code_; }

 private:
  smddp_status_t code_;
};

// An outcome on the data path: SUCCESS carries no text and allocates nothing.
struct Status {
  smddp_status_t code = SMDDP_SUCCESS;
  std::string text;
  bool ok() const { return code == SMDDP_SUCCESS; }
};

// printf into a std::string.
std::string format(const char* pattern, ...) __attribute__((format(printf, 1, 2)));

// SMDDP_ERR_SYSTEM for a failed system call: "call: what the error number means (what)". Reads errno.
Error system_error(const char* call, const std::string& what);

// Name of a status as the header spells it.
const char* status_name(smddp_status_t status);

}  // namespace smddp
