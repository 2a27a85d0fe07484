// Where tests disturb the protocol: called before every access to a flag that ranks share. Nothing in ordinary builds.
#pragma once

namespace smddp::node {

#ifdef SMDDP_TEST_HOOK
extern void (*g_before_flag)();
inline void before_flag() {
  if (g_before_flag) g_before_flag();
}
#else
inline void before_flag() {}
#endif

}  // namespace smddp::node
