/* A broadcast of more than 2^31 elements of a byte, of which four are not zero, from rank 0; and the same as one message. */
#include "support/rank.h"

#include <sys/mman.h>

static unsigned char *reserve(size_t bytes) {
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  EXPECT(memory != MAP_FAILED, "no address space for %zu bytes", bytes);
  return memory;
}

int main(void) {
  const size_t count = ((size_t)1 << 31) + 5;
  const size_t at[4] = {0, ((size_t)1 << 31) - 1, (size_t)1 << 31, ((size_t)1 << 31) + 4};
  join_job();
  unsigned char *data = reserve(count);
  if (rank == 0) {
    for (int i = 0; i < 4; i++) data[at[i]] = (unsigned char)(i + 1);
  }
  REQUIRE(smddp_broadcast(data, count, SMDDP_UINT8, 0, world, NULL));
  for (int i = 0; i < 4; i++) {
    EXPECT(data[at[i]] == i + 1, "byte %zu is %d", at[i], data[at[i]]);
    data[at[i]] = 0;
  }
  if (rank != 0) {
    const uint64_t *words = (const uint64_t *)data;
    for (size_t i = 0; i < count / 8; i++) EXPECT(words[i] == 0, "a byte of %zu to %zu is not 0", i * 8, i * 8 + 7);
    for (size_t i = count / 8 * 8; i < count; i++) EXPECT(data[i] == 0, "byte %zu is not 0", i);
  }
  munmap(data, count);
  REQUIRE(smddp_barrier(world, NULL));
  REQUIRE(smddp_finalize(world));
  return 0;
}
