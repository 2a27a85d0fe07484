// What the collectives move: bytes of a contribution beyond 2^32.
#include "node/shape.hpp"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

namespace node = smddp::node;

namespace {

constexpr size_t kGiga = 1000000000;

// 4 ranks × 1 500 000 000 int64.
void bytes_beyond_32_bits(void**) {
  const size_t count = 3 * kGiga / 2;
  node::Call call;
  call.collective = smddp::Collective::kAlltoall;
  call.dtype = SMDDP_INT64;
  call.count = count;
  assert_int_equal(node::contribution_bytes(call, 4), 48 * kGiga);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(bytes_beyond_32_bits)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
