#include "api/check.hpp"
#include "api/guard.hpp"
#include "base/types.hpp"

#include <cstring>
#include <memory>
#include <new>

namespace smddp::api {
namespace {
constexpr size_t kText = 2048;
// On the heap: the library's thread-local memory must fit the little that is left for libraries which a program loads late.
thread_local std::unique_ptr<char[]> t_last_error;
}  // namespace

smddp_status_t report(smddp_status_t code, const char* text) noexcept {
  if (!t_last_error) t_last_error.reset(new (std::nothrow) char[kText]);
  if (!t_last_error) return code;
  std::strncpy(t_last_error.get(), text, kText - 1);
  t_last_error[kText - 1] = '\0';
  return code;
}

}  // namespace smddp::api

extern "C" {

void smddp_version(int* major, int* minor, int* patch) {
  if (major) *major = SMDDP_VERSION_MAJOR;
  if (minor) *minor = SMDDP_VERSION_MINOR;
  if (patch) *patch = SMDDP_VERSION_PATCH;
}

const char* smddp_status_string(smddp_status_t status) { return smddp::status_name(status); }

const char* smddp_last_error(void) { return smddp::api::t_last_error ? smddp::api::t_last_error.get() : ""; }

smddp_status_t smddp_dtype_size(smddp_dtype_t user_dtype, size_t* size) {
  return smddp::api::guard([&] {
    if (!size) throw smddp::Error(SMDDP_ERR_INVALID_ARGUMENT, "smddp_dtype_size: size is NULL");
    const smddp_dtype_t dtype = smddp::api::unchecked(user_dtype);
    const size_t bytes = smddp::dtype_bytes(dtype);
    if (!bytes && smddp::dtype_is_reserved(dtype)) {
      throw smddp::Error(SMDDP_ERR_UNSUPPORTED, smddp::format("smddp_dtype_size: dtype %s is reserved and not supported yet", smddp::dtype_name(dtype)));
    }
    if (!bytes) throw smddp::Error(SMDDP_ERR_INVALID_ARGUMENT, smddp::format("smddp_dtype_size: %d is no dtype", static_cast<int>(dtype)));
    *size = bytes;
  });
}

const char* smddp_dtype_name(smddp_dtype_t dtype) { return smddp::dtype_name(dtype); }

const char* smddp_op_name(smddp_op_t op) { return smddp::op_name(op); }

}  // extern "C"
