#include "errors.hpp"

#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

namespace torch_plugin {
namespace {

std::string describe(const Place &place, smddp_status_t status, const char *sentence) {
  const char *lead = "";
  if (status == SMDDP_ERR_TIMEOUT) lead = "Timed out : ";
  if (status == SMDDP_ERR_PEER_GONE) lead = "connection closed by a peer: ";
  return c10::str("[Rank ", place.rank, "] ", place.call, ": ", lead, sentence, " (", smddp_status_string(status), ")", place.ranks);
}

}  // namespace

std::exception_ptr make_error(const Place &place, smddp_status_t status, const char *sentence) {
  return std::make_exception_ptr(C10_BUILD_ERROR(DistBackendError, describe(place, status, sentence)));
}

void throw_error(const Place &place, smddp_status_t status, const char *sentence) {
  TORCH_CHECK_WITH(DistBackendError, false, describe(place, status, sentence));
  std::abort();
}

}  // namespace torch_plugin
