// Failures of the library as PyTorch's users see them. Invariant: a timeout reads " Timed out " and a lost peer " closed " in the middle
// of the sentence, as programs that watch for gloo's texts expect.
#pragma once
#include <smddp/smddp.h>

#include <exception>
#include <string>

namespace torch_plugin {

// Where a failure belongs: the rank in its group, the call, and what the group's ranks are in the whole job ("" for the default group).
struct Place {
  int rank = 0;
  const char *call = "";
  std::string ranks;
};

std::exception_ptr make_error(const Place &place, smddp_status_t status, const char *sentence);

[[noreturn]] void throw_error(const Place &place, smddp_status_t status, const char *sentence);

}  // namespace torch_plugin
