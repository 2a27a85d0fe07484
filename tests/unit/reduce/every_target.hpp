// Runs a test once for each SIMD target that is compiled in and works on this machine.
#pragma once

#include "reduce/targets.hpp"

#include <hwy/highway.h>

#include <cstdio>

namespace unit::reduce {

// run(name of the target) → false to stop. Returns whether all were true.
template <class Run>
bool every_target(Run run) {
  bool good = true;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    good = run(hwy::TargetName(target));
    if (!good) std::fprintf(stderr, "failed with SIMD target %s\n", hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    if (!good) break;
  }
  return good;
}

}  // namespace unit::reduce
