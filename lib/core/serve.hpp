// What a process does that is no rank but a server: it takes part in the allreduces of the world communicator that go through servers.
#pragma once

#include "base/error.hpp"

#include <smddp/smddp.h>

namespace smddp::core {

// From meeting the ranks to the end of their job: when a rank has finalized or died, or their world communicator is broken, nobody needs a
// server any more. Says why it ended: success where the ranks finalize. Throws as Context::start.
Status serve(const smddp_init_options_t* options);

}  // namespace smddp::core
