// The C boundary: the only place where exceptions end, and where a failure becomes a code and a sentence for smddp_last_error.
#pragma once

#include "base/error.hpp"

#include <new>
#include <system_error>
#include <type_traits>

namespace smddp::api {

// Keeps the sentence for this thread's smddp_last_error and returns the code.
smddp_status_t report(smddp_status_t code, const char* text) noexcept;
inline smddp_status_t report(const Status& status) noexcept {
  return status.ok() ? SMDDP_SUCCESS : report(status.code, status.text.c_str());
}

// Runs body, which returns nothing or a Status.
template <class Body>
smddp_status_t guard(Body&& body) noexcept {
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return SMDDP_SUCCESS;
    } else {
      return report(body());
    }
  } catch (const Error& error) {
    return report(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return report(SMDDP_ERR_RESOURCE, "out of memory");
  } catch (const std::system_error& error) {
    return report(SMDDP_ERR_SYSTEM, error.what());
  } catch (const std::exception& error) {
    return report(SMDDP_ERR_INTERNAL, error.what());
  } catch (...) {
    return report(SMDDP_ERR_INTERNAL, "an exception of unknown type reached the C interface");
  }
}

}  // namespace smddp::api
