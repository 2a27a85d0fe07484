// What this library was built from and for.
#include "api/info.hpp"
#include "base/error.hpp"
#include "base/types.hpp"
#include "reduce/reduce.hpp"
#include "topology/topology.hpp"

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#ifndef SMDDP_BUILD_TYPE
#define SMDDP_BUILD_TYPE "unknown"
#endif
#ifndef SMDDP_BUILD_SANITIZER
#define SMDDP_BUILD_SANITIZER ""
#endif

namespace smddp::api {
namespace {

std::string compiler() {
#if defined(__clang__)
  return "Clang " __clang_version__;
#else
  return "GCC " __VERSION__;
#endif
}

std::string libc() {
#ifdef __GLIBC__
  return std::string("glibc ") + gnu_get_libc_version();
#else
  return "not glibc";
#endif
}

std::string joined(const Json& list) {
  std::string text;
  for (const Json& word : list) text += (text.empty() ? "" : " ") + word.get<std::string>();
  return text;
}

Json dtypes() {
  Json names = Json::array();
  for (int dtype = SMDDP_INT8; dtype < kDtypeEnd; ++dtype) names.push_back(dtype_name(static_cast<smddp_dtype_t>(dtype)));
  return names;
}

Json ops() {
  Json names = Json::array();
  for (int op = SMDDP_SUM; op < kOpEnd; ++op) names.push_back(op_name(static_cast<smddp_op_t>(op)));
  return names;
}

}  // namespace

Json build_json() {
  return {{"version", SMDDP_VERSION_STRING},
          {"compiler", compiler()},
          {"cxx_standard", __cplusplus / 100 % 100},
          {"build_type", SMDDP_BUILD_TYPE},
          {"sanitizer", SMDDP_BUILD_SANITIZER},
          {"libc", libc()},
          {"simd", reduce::simd_description()},
          {"hwloc_api", topology::hwloc_api_version()},
          {"features", {{"shared_memory", true}, {"network", true}, {"cuda", false}}},
          {"dtypes", dtypes()},
          {"ops", ops()}};
}

std::string build_text(const Json& build) {
  const auto text = [&](const char* key) { return build.at(key).get<std::string>(); };
  Json features = Json::array();
  for (const auto& [name, there] : build.at("features").items()) features.push_back(name + "=" + (there.get<bool>() ? "yes" : "no"));
  const std::string sanitizer = text("sanitizer");
  return "SMDDP " + text("version") + "\n" + field("compiler", text("compiler") + format(", C++%d", build.at("cxx_standard").get<int>())) +
         field("build type", text("build_type") + (sanitizer.empty() ? "" : ", sanitizer " + sanitizer)) + field("C library", text("libc")) +
         field("SIMD", text("simd")) + field("hwloc API", text("hwloc_api")) + field("features", joined(features)) +
         field("dtypes", joined(build.at("dtypes"))) + field("ops", joined(build.at("ops")));
}

}  // namespace smddp::api
