/* Allreduces of 4 B to argv[1] bytes in turn, every value checked, for argv[2] seconds; says "ready" after the first of each size. Says at the end
 * "rails N N N N lost N rounds N": the counters of the networks, and of the rounds. */
#include "support/rank.h"

static uint64_t counter(const char *name) {
  uint64_t value = 0;
  REQUIRE(smddp_comm_counter(world, name, &value));
  return value;
}

int main(int argc, char **argv) {
  const size_t most = (size_t)argument(argc, argv, 1, 4 << 20) / 4;
  const double duration = (double)argument(argc, argv, 2, 3);
  join_job();
  int32_t *own = zeroed(most * 4), *sum = zeroed(most * 4);
  const double start = seconds();
  int32_t round = 0;
  for (bool over = false; !over; round++) {
    for (size_t count = 1; count <= most; count *= 16) {
      for (size_t i = 0; i < count; i++) own[i] = round * 1000 + (int32_t)(i % 991) * (rank + 1);
      REQUIRE(smddp_allreduce(own, sum, count, SMDDP_INT32, SMDDP_SUM, world, NULL));
      for (size_t i = 0; i < count; i++) {
        const int32_t expected = round * 1000 * size + (int32_t)(i % 991) * (size * (size + 1) / 2);
        EXPECT(sum[i] == expected, "round %d, %zu values: [%zu] is %d, not %d", round, count, i, sum[i], expected);
      }
    }
    int32_t late = seconds() - start > duration, all = 0;
    REQUIRE(smddp_allreduce(&late, &all, 1, SMDDP_INT32, SMDDP_MAX, world, NULL));
    over = all != 0;
    if (round == 0) say("ready");
  }
  say("rails %llu %llu %llu %llu lost %llu rounds %d", (unsigned long long)counter("rail0_bytes"), (unsigned long long)counter("rail1_bytes"),
      (unsigned long long)counter("rail2_bytes"), (unsigned long long)counter("rail3_bytes"), (unsigned long long)counter("lost_rails"), round);
  REQUIRE(smddp_finalize(world));
  return 0;
}
