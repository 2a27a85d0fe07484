// The end of a rank whose call failed.
#pragma once

#include <smddp/smddp.h>

namespace smddp_bench {

// If status is an error, writes call and the library's sentence with this rank to standard error and ends the process with status 3.
void require(smddp_status_t status, const char* call);

// Rank for messages, once it is known.
void set_rank_for_messages(int rank);

}  // namespace smddp_bench
