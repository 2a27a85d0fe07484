// The calls of libpmix.
#pragma once

#include <string>

namespace smddp::bootstrap {

// Whether an MPI library of this process uses PMIx now.
bool pmix_is_in_use();

// Rank 0 puts the value, all get it: begins with PMIx and ends with it, so unless it is in use this is for a process of its own. Blocks as long as other ranks
// have not called it. False: text says what is wrong.
bool pmix_client(int rank, const std::string& key, const std::string& value, std::string& text);

}  // namespace smddp::bootstrap
