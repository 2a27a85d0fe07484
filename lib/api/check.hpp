// Checks of user arguments, all of them before anything is sent. Each throws an error that names the function and the value.
#pragma once

#include "base/types.hpp"
#include "core/comm.hpp"

#include <cstring>

namespace smddp::api {

// A C caller may pass any int for an enumerator; loading one that is none as the enumeration would be undefined.
template <class Enum>
Enum unchecked(const Enum& value) {
  int number;
  std::memcpy(&number, &value, sizeof number);
  return static_cast<Enum>(number);
}

// The communicator behind a handle, alive and usable.
smddp_comm& checked(smddp_comm_t comm, const char* function);

smddp_request& checked(smddp_request_t request, const char* function);

core::CallSettings checked(const smddp_call_options_t* options, const char* function);

// What options->algorithm names, as node::Call has it.
uint8_t checked_algorithm(const smddp_comm& comm, const smddp_call_options_t* options, const char* function, Collective collective);

int64_t checked_timeout(int64_t timeout_ms, const char* function);
int checked_thread_mode(int mode, const char* function);

// dtype, buffers, sizes, root and operation of a call; fills in what the call needs beyond them.
void check_call(const smddp_comm& comm, const char* function, node::Call& call, bool has_op);

}  // namespace smddp::api
