#include "bootstrap/pmix_client.hpp"

#include "base/error.hpp"
#include "bootstrap/pmix.hpp"

#ifdef SMDDP_HAS_PMIX

#include <dlfcn.h>
#include <pmix.h>

#include <cstdlib>
#include <cstring>

namespace smddp::bootstrap {
namespace {

constexpr const char* kName = "libpmix.so.2";

// One that is there already, or the launcher's own: that surely understands its server.
void* open_library(std::string& tried) {
  if (void* library = dlopen(kName, RTLD_NOW | RTLD_NOLOAD)) return library;
  for (const auto& [variable, folder] : {std::pair{"OMPI_LIBDIR_LOC", "/openmpi/"}, {"OMPI_LIBDIR_LOC", "/"}, {"PMIX_PREFIX", "/lib/"}, {"", ""}}) {
    const char* prefix = *variable ? std::getenv(variable) : "";
    if (!prefix) continue;
    const std::string path = std::string(prefix) + folder + kName;
    if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    tried = path;
  }
  return nullptr;
}

template <typename Function>
Function* find(void* library, Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

#define FIND(library, function) find(library, static_cast<decltype(&function)>(nullptr), #function)

}  // namespace

bool pmix_is_built_in() { return true; }

bool pmix_is_in_use() {
  void* library = dlopen(kName, RTLD_NOW | RTLD_NOLOAD);
  const auto initialized = library ? FIND(library, PMIx_Initialized) : nullptr;
  return initialized && initialized();
}

bool pmix_client(int rank, const std::string& key, const std::string& value, std::string& text) {
  void* library = open_library(text);
  if (!library) {
    text += " cannot be loaded";
    return false;
  }
  const auto init = FIND(library, PMIx_Init);
  const auto put = FIND(library, PMIx_Put);
  const auto commit = FIND(library, PMIx_Commit);
  const auto fence = FIND(library, PMIx_Fence);
  const auto get = FIND(library, PMIx_Get);
  const auto finalize = FIND(library, PMIx_Finalize);
  if (!init || !put || !commit || !fence || !get || !finalize) {
    text = std::string(kName) + " lacks a function of PMIx";
    return false;
  }
  const auto is_right = [&text](const char* call, pmix_status_t status) {
    if (status != PMIX_SUCCESS) text = format("%s returned %d", call, static_cast<int>(status));
    return status == PMIX_SUCCESS;
  };
  pmix_proc_t self{};
  if (!is_right("PMIx_Init", init(&self, nullptr, 0))) return false;
  pmix_proc_t root = self;
  root.rank = 0;
  bool right = static_cast<pmix_rank_t>(rank) == self.rank;
  if (!right) text = format("OMPI_COMM_WORLD_RANK=%d, but PMIx has this process as rank %u", rank, static_cast<unsigned>(self.rank));
  if (right && rank == 0) {
    pmix_value_t put_value{};
    put_value.type = PMIX_STRING;
    put_value.data.string = const_cast<char*>(value.c_str());
    right = is_right("PMIx_Put", put(PMIX_GLOBAL, key.c_str(), &put_value)) && is_right("PMIx_Commit", commit());
  }
  // A rank that has failed takes part too.
  const std::string reason = text;
  const bool fenced = is_right("PMIx_Fence", fence(nullptr, 0, nullptr, 0));
  if (!right) text = reason;
  right = right && fenced;
  pmix_value_t* got = nullptr;
  if (right) right = is_right("PMIx_Get", get(&root, key.c_str(), nullptr, 0, &got));
  if (right) {
    right = got->type == PMIX_STRING && got->data.string;
    text = right ? got->data.string : "PMIx_Get returned no text";
  }
  finalize(nullptr, 0);
  return right;
}

}  // namespace smddp::bootstrap

#else

namespace smddp::bootstrap {

bool pmix_is_built_in() { return false; }

bool pmix_is_in_use() { return false; }

bool pmix_client(int, const std::string&, const std::string&, std::string& text) {
  text = "this library was built without PMIx";
  return false;
}

}  // namespace smddp::bootstrap

#endif
