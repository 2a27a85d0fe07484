// The registration cache: regions are found again while their memory is the same, and never after it was unmapped, emptied or moved.
#include "transport/ofi/endpoint.hpp"
#include "transport/ofi/provider.hpp"
#include "transport/ofi/registration.hpp"

#include <malloc.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

using namespace smddp::transport::ofi;

namespace {

constexpr size_t kBytes = size_t{1} << 20;

struct Fixture {
  std::vector<Candidate> found = candidates("tcp;ofi_rxm", "127.0.0.1");
  Endpoint endpoint{*found.at(0).info, 64};
  Registrar registrar{endpoint.domain.get(), endpoint.ep.get(), *found.at(0).info, true};
};

std::byte* map(void* place = nullptr) {
  void* memory = mmap(place, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (place ? MAP_FIXED : 0), -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

// Registers and releases; whether it was found.
bool found(Registrar& registrar, const std::byte* data, size_t bytes) {
  const uint64_t hits = registrar.hits();
  Region* region = registrar.acquire(data, bytes, FI_REMOTE_WRITE);
  assert_non_null(region);
  registrar.release(region);
  return registrar.hits() > hits;
}

void survives_unmap_and_reuse(void**) {
  Fixture f;
  if (!f.registrar.keeps()) {
    std::printf("SKIP: the kernel does not allow userfaultfd here\n");
    skip();
  }
  std::byte* memory = map();
  assert_non_null(memory);
  assert_false(found(f.registrar, memory, kBytes));
  assert_true(found(f.registrar, memory, kBytes));
  assert_true(found(f.registrar, memory + 5000, 100));

  munmap(memory, kBytes);
  assert_ptr_equal(map(memory), memory);  // other pages at the same address
  assert_false(found(f.registrar, memory, kBytes));
  assert_true(found(f.registrar, memory, kBytes));

  assert_int_equal(madvise(memory + 8192, 4096, MADV_DONTNEED), 0);  // one page in the middle, as allocators do
  assert_false(found(f.registrar, memory, kBytes));

  std::byte* elsewhere = map();
  assert_ptr_not_equal(mremap(memory, kBytes, kBytes, MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere), MAP_FAILED);
  assert_ptr_equal(map(memory), memory);
  assert_false(found(f.registrar, memory, kBytes));

  munmap(memory + kBytes / 2, 4096);  // a hole that is mapped again
  assert_ptr_not_equal(mmap(memory + kBytes / 2, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), MAP_FAILED);
  assert_false(found(f.registrar, memory, kBytes));
  munmap(memory, kBytes);
  munmap(elsewhere, kBytes);
}

// Large blocks of malloc are mapped and unmapped each time, mostly at the same address.
void survives_free(void**) {
  Fixture f;
  if (!f.registrar.keeps()) skip();
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  for (int i = 0; i < 50; ++i) {
    auto* block = static_cast<std::byte*>(std::malloc(4 * kBytes));
    assert_non_null(block);
    block[100] = std::byte{1};
    assert_false(found(f.registrar, block, 4 * kBytes));
    assert_true(found(f.registrar, block, 4 * kBytes));
    std::free(block);
  }
}

void revoked_is_not_found(void**) {
  Fixture f;
  std::byte* memory = map();
  Region* region = f.registrar.acquire(memory, kBytes, FI_REMOTE_WRITE);
  assert_non_null(region);
  f.registrar.revoke(region);
  assert_false(found(f.registrar, memory, kBytes));
  munmap(memory, kBytes);
}

// A region in use whose memory goes is not given out again, and its users may still release it.
void unmapped_while_in_use(void**) {
  Fixture f;
  if (!f.registrar.keeps()) skip();
  std::byte* memory = map();
  Region* region = f.registrar.acquire(memory, kBytes, FI_REMOTE_WRITE);
  munmap(memory, kBytes);
  assert_ptr_equal(map(memory), memory);
  assert_false(found(f.registrar, memory, kBytes));
  f.registrar.release(region);
  munmap(memory, kBytes);
}

// More ranges than a watch notes one by one.
void many_unmapped(void**) {
  Fixture f;
  if (!f.registrar.keeps()) skip();
  std::byte* memory = map();
  constexpr size_t kPages = 200, kPage = 4096;
  for (size_t i = 0; i < kPages; i += 2) found(f.registrar, memory + i * kPage, kPage);
  for (size_t i = 0; i < kPages; i += 2) munmap(memory + i * kPage, kPage);
  assert_ptr_equal(map(memory), memory);
  for (size_t i = 0; i < kPages; i += 2) assert_false(found(f.registrar, memory + i * kPage, kPage));
  munmap(memory, kBytes);
}

void kept_regions_are_bounded(void**) {
  Fixture f;
  std::byte* memory = map();
  for (int round = 0; round < 20; ++round) {
    for (size_t page = 0; page < kBytes / 4096; page += 2) found(f.registrar, memory + page * 4096, static_cast<size_t>(round + 1) * 50);
  }
  munmap(memory, kBytes);
}

}  // namespace

int main() {
  if (candidates("tcp;ofi_rxm", "127.0.0.1").empty()) {
    std::printf("SKIP: libfabric has no provider tcp;ofi_rxm here\n");
    return 77;
  }
  const CMUnitTest tests[] = {cmocka_unit_test(survives_unmap_and_reuse), cmocka_unit_test(survives_free), cmocka_unit_test(revoked_is_not_found),
                              cmocka_unit_test(unmapped_while_in_use), cmocka_unit_test(many_unmapped),
                              cmocka_unit_test(kept_regions_are_bounded)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
