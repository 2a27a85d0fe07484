#include "base/error.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <system_error>

namespace smddp {

std::string format(const char* pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, pattern, arguments);
  va_end(arguments);
  std::string text(length > 0 ? static_cast<size_t>(length) : 0, '\0');
  if (length > 0) std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  return text;
}

Error system_error(const char* call, const std::string& what) {
  const int number = errno;
  const std::string meaning = std::generic_category().message(number);
  return Error(SMDDP_ERR_SYSTEM, format("%s: %s (errno %d) %s", call, meaning.c_str(), number, what.c_str()));
}

const char* status_name(smddp_status_t status) {
  switch (status) {
    case SMDDP_SUCCESS: return "SMDDP_SUCCESS";
    case SMDDP_ERR_INVALID_ARGUMENT: return "SMDDP_ERR_INVALID_ARGUMENT";
    case SMDDP_ERR_INVALID_USAGE: return "SMDDP_ERR_INVALID_USAGE";
    case SMDDP_ERR_UNSUPPORTED: return "SMDDP_ERR_UNSUPPORTED";
    case SMDDP_ERR_MISMATCH: return "SMDDP_ERR_MISMATCH";
    case SMDDP_ERR_TIMEOUT: return "SMDDP_ERR_TIMEOUT";
    case SMDDP_ERR_PEER_GONE: return "SMDDP_ERR_PEER_GONE";
    case SMDDP_ERR_ABORTED: return "SMDDP_ERR_ABORTED";
    case SMDDP_ERR_RESOURCE: return "SMDDP_ERR_RESOURCE";
    case SMDDP_ERR_TRUNCATED: return "SMDDP_ERR_TRUNCATED";
    case SMDDP_ERR_BOOTSTRAP: return "SMDDP_ERR_BOOTSTRAP";
    case SMDDP_ERR_VERSION: return "SMDDP_ERR_VERSION";
    case SMDDP_ERR_SYSTEM: return "SMDDP_ERR_SYSTEM";
    case SMDDP_ERR_INTERNAL: return "SMDDP_ERR_INTERNAL";
    case SMDDP_ERR_TRANSPORT: return "SMDDP_ERR_TRANSPORT";
    case SMDDP_ERR_DEVICE: return "SMDDP_ERR_DEVICE";
  }
  return "unknown status";
}

}  // namespace smddp
