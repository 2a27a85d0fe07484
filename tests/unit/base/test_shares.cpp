// How vectors are cut into shares and segments: without gap or overlap, on the boundary, and beyond 2^31 and 2^32 elements too.
#include "base/shares.hpp"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

using namespace smddp;

namespace {

constexpr size_t kGiga = 1000000000;

void check_shares(size_t count, int ranks) {
  size_t next = 0, longest = 0, shortest = SIZE_MAX;
  for (int r = 0; r < ranks; ++r) {
    const Range share = share_of(count, ranks, r);
    if (share.begin != next) fail_msg("%zu elements, %d ranks: share %d begins at %zu, not at %zu", count, ranks, r, share.begin, next);
    if (share.begin % kShareElements != 0 && share.length != 0) fail_msg("share %d of %zu begins at %zu", r, count, share.begin);
    next = share.begin + share.length;
    longest = std::max(longest, share.length);
    shortest = std::min(shortest, share.length);
  }
  if (next != count) fail_msg("%d shares of %zu elements end at %zu", ranks, count, next);
  if (longest - shortest > 2 * kShareElements) fail_msg("%d shares of %zu: from %zu to %zu", ranks, count, shortest, longest);
}

void shares_cover_every_vector(void**) {
  for (int ranks = 1; ranks <= 17; ++ranks) {
    for (size_t count = 0; count <= 3000; ++count) check_shares(count, ranks);
    for (const size_t count : {kGiga, 3 * kGiga / 2, (size_t{1} << 31) + 5, (size_t{1} << 32) + 3, 12 * kGiga, size_t{1} << 50}) {
      check_shares(count - 1, ranks);
      check_shares(count, ranks);
      check_shares(count + 1, ranks);
    }
  }
}

// 4 ranks × 1 500 000 000 int64.
void byte_offsets_beyond_32_bits(void**) {
  const size_t count = 3 * kGiga / 2, element = 8;
  size_t bytes = 0;
  int64_t last = -1;
  for (int r = 0; r < 4; ++r) {
    const Range share = share_of(count, 4, r);
    const auto offset = static_cast<int64_t>(share.begin * element);
    assert_true(offset > last);
    last = offset;
    bytes += share.length * element;
  }
  assert_int_equal(bytes, 12 * kGiga);
}

void adjacent_shares_are_one_range(void**) {
  for (const size_t count : {size_t{0}, size_t{1}, size_t{1000}, size_t{5000}}) {
    for (int first = 0; first < 7; ++first) {
      size_t next = share_of(count, 7, first).begin;
      assert_int_equal(shares_of(count, 7, first, 0).length, 0);
      for (int shares = 1; first + shares <= 7; ++shares) {
        next += share_of(count, 7, first + shares - 1).length;
        const Range range = shares_of(count, 7, first, shares);
        assert_int_equal(range.begin, share_of(count, 7, first).begin);
        assert_int_equal(range.begin + range.length, next);
      }
    }
  }
}

void segments_cover_a_share(void**) {
  for (const size_t length : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{65}, (size_t{1} << 31) + 5, (size_t{1} << 32) + 3}) {
    const size_t elements = length > 1000 ? size_t{1} << 24 : 64;
    size_t next = 0;
    uint32_t k = 0;
    for (; next < length; ++k) {
      const Range segment = segment_of(length, k, elements);
      assert_int_equal(segment.begin, next);
      assert_true(segment.length > 0 && segment.length <= elements);
      next += segment.length;
    }
    assert_int_equal(next, length);
    assert_int_equal(segment_of(length, k, elements).length, 0);
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(shares_cover_every_vector), cmocka_unit_test(byte_offsets_beyond_32_bits),
                              cmocka_unit_test(adjacent_shares_are_one_range), cmocka_unit_test(segments_cover_a_share)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
