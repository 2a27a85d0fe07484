// The floating-point mode of this thread: IEEE defaults (nearest even, subnormals kept, no traps) while an object lives, the
// caller's mode before and after. The usual case, a caller in default mode, costs one compare.
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace smddp::reduce {

class FloatMode {
 public:
#if defined(__x86_64__)
  static bool is_default() { return (_mm_getcsr() & 0xFFC0u) == 0x1F80u; }  // without the sticky exception flags
  FloatMode() : saved_(_mm_getcsr()) { _mm_setcsr(0x1F80u); }
  ~FloatMode() { _mm_setcsr(saved_); }
#else
  static bool is_default() { return false; }
  FloatMode() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatMode() { std::fesetenv(&saved_); }
#endif
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

 private:
#if defined(__x86_64__)
  unsigned saved_;
#else
  std::fenv_t saved_;
#endif
};

}  // namespace smddp::reduce
