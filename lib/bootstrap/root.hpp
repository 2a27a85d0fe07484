// Rank 0's side when ranks meet. Invariant: no connection, whatever it sends or does not send, delays the others; every rank that was
// accepted gets the table or a verdict.
#pragma once

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/listening.hpp"

namespace smddp::bootstrap {

Meeting gather(const Listening& listening, const Hello& self, int64_t deadline);

}  // namespace smddp::bootstrap
