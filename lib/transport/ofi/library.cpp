// libfabric is opened when the first network is: merely loaded, some of its parts take over the process's signals. Its few functions that
// are not inline are called through this table. Invariant: nothing here is called before load_library() has succeeded.
#include "transport/ofi/fabric.hpp"

#include "base/error.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>

namespace smddp::transport::ofi {
namespace {

struct Library {
  decltype(&fi_getinfo) getinfo;
  decltype(&fi_freeinfo) freeinfo;
  decltype(&fi_dupinfo) dupinfo;
  decltype(&fi_fabric) fabric;
  decltype(&fi_strerror) strerror;
};
Library g_library;

// The version that these headers describe, else the newest.
template <class T>
void find(void* handle, const char* name, const char* version, T& function) {
  void* symbol = dlvsym(handle, name, version);
  if (!symbol) symbol = dlsym(handle, name);
  if (!symbol) throw Error(SMDDP_ERR_TRANSPORT, format("libfabric.so.1 has no %s", name));
  function = reinterpret_cast<T>(symbol);
}

void open_library() {
  // Its PSM provider would print a backtrace and end the process in the place of whatever a signal was meant to do.
  setenv("HFI_NO_BACKTRACE", "1", 0);
  setenv("IPATH_NO_BACKTRACE", "1", 0);
  void* handle = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw Error(SMDDP_ERR_TRANSPORT, format("ranks on several nodes need libfabric (Debian: libfabric1): %s", dlerror()));
  find(handle, "fi_getinfo", "FABRIC_1.3", g_library.getinfo);
  find(handle, "fi_freeinfo", "FABRIC_1.3", g_library.freeinfo);
  find(handle, "fi_dupinfo", "FABRIC_1.3", g_library.dupinfo);
  find(handle, "fi_fabric", "FABRIC_1.1", g_library.fabric);
  find(handle, "fi_strerror", "FABRIC_1.0", g_library.strerror);
}

}  // namespace

void load_library() {
  static std::once_flag once;
  std::call_once(once, open_library);
}

}  // namespace smddp::transport::ofi

using smddp::transport::ofi::g_library;

extern "C" {

int fi_getinfo(uint32_t version, const char* node, const char* service, uint64_t flags, const struct fi_info* hints, struct fi_info** info) {
  return g_library.getinfo(version, node, service, flags, hints, info);
}
void fi_freeinfo(struct fi_info* info) { g_library.freeinfo(info); }
struct fi_info* fi_dupinfo(const struct fi_info* info) { return g_library.dupinfo(info); }
int fi_fabric(struct fi_fabric_attr* attr, struct fid_fabric** fabric, void* context) { return g_library.fabric(attr, fabric, context); }
const char* fi_strerror(int error) { return g_library.strerror(error); }

}  // extern "C"
