/* A broadcast from changing roots at once followed by an allreduce of another count, again and again, each rank at its own pace. Every value
 * tells its round, operation, root and index, so that a stale message is recognised. argv[1]: rounds. */
#include "support/rank.h"

enum { LONGEST = 4096 };

static int32_t stamp(uint32_t round, int operation, int from, uint32_t i) {
  return (int32_t)((round & 0xfff) << 16 | (uint32_t)operation << 15 | (uint32_t)from << 12 | (i & 0xfff));
}

int main(int argc, char **argv) {
  const uint32_t rounds = (uint32_t)argument(argc, argv, 1, 1000);
  static int32_t data[LONGEST], own[LONGEST], sum[LONGEST];
  join_job();
  uint64_t shared = 42, private = (uint64_t)rank + 1;
  for (uint32_t round = 0; round < rounds; round++) {
    const uint32_t n = 1 + random_below(&shared, LONGEST), m = 1 + random_below(&shared, LONGEST);
    const int root = (int)(round % (uint32_t)size);
    for (uint32_t i = 0; i < n; i++) data[i] = rank == root ? stamp(round, 0, root, i) : -1;
    for (uint32_t i = 0; i < m; i++) own[i] = stamp(round, 1, 0, i) + rank;
    if (random_below(&private, 4) == 0) sleep_seconds(random_below(&private, 200) * 1e-6);
    REQUIRE(smddp_broadcast(data, n, SMDDP_INT32, root, world, NULL));
    REQUIRE(smddp_allreduce(own, sum, m, SMDDP_INT32, SMDDP_SUM, world, NULL));
    for (uint32_t i = 0; i < n; i++) {
      EXPECT(data[i] == stamp(round, 0, root, i), "round %u, broadcast from %d of %u: [%u] is %x, not %x", round, root, n, i,
             (unsigned)data[i], (unsigned)stamp(round, 0, root, i));
    }
    for (uint32_t i = 0; i < m; i++) {
      const int32_t right = (int32_t)((uint32_t)size * (uint32_t)stamp(round, 1, 0, i) + (uint32_t)(size * (size - 1) / 2));
      EXPECT(sum[i] == right, "round %u, allreduce of %u: [%u] is %x, not %x", round, m, i, (unsigned)sum[i], (unsigned)right);
    }
  }
  REQUIRE(smddp_finalize(world));
  return 0;
}
