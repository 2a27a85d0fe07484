/* Floating-point sums whose value depends on the order of summation: the bits are the same on all ranks, and the same in every repetition.
 * argv[1]: elements; argv[2]: repetitions. */
#include "support/rank.h"

static void check_same(const char *what, const void *result, size_t bytes) {
  unsigned char *of_rank_0 = zeroed(bytes);
  memcpy(of_rank_0, result, bytes);
  REQUIRE(smddp_broadcast(of_rank_0, bytes, SMDDP_UINT8, 0, world, NULL));
  EXPECT(memcmp(of_rank_0, result, bytes) == 0, "%s: other bits than rank 0", what);
  free(of_rank_0);
}

/* The four values in all 24 orders, spread over the ranks. */
static void placements(void) {
  static const float values[4] = {1e8f, 1, -1e8f, 1};
  float in[24], out[24];
  int n = 0;
  for (int a = 0; a < 4; a++) {
    for (int b = 0; b < 4; b++) {
      for (int c = 0; c < 4; c++) {
        if (a == b || a == c || b == c) continue;
        const int order[4] = {a, b, c, 6 - a - b - c};
        in[n++] = rank < 4 ? values[order[rank]] : 0;
      }
    }
  }
  EXPECT(n == 24, "%d placements", n);
  REQUIRE(smddp_allreduce(in, out, 24, SMDDP_FLOAT32, SMDDP_SUM, world, NULL));
  check_same("24 placements at once", out, sizeof out);
  for (int i = 0; i < 24; i++) {
    if (size >= 4) EXPECT(out[i] == 0 || out[i] == 1 || out[i] == 2, "placement %d: %g", i, (double)out[i]);
    float alone;
    REQUIRE(smddp_allreduce(&in[i], &alone, 1, SMDDP_FLOAT32, SMDDP_SUM, world, NULL));
    EXPECT(memcmp(&alone, &out[i], 4) == 0, "placement %d: %g alone, %g among others", i, (double)alone, (double)out[i]);
  }
}

int main(int argc, char **argv) {
  const size_t count = (size_t)argument(argc, argv, 1, 10007);
  const long repetitions = argument(argc, argv, 2, 100);
  join_job();
  placements();
  uint64_t seed = (uint64_t)rank * 977 + 5;
  float *in = zeroed(count * 4), *out = zeroed(count * 4), *first = zeroed(count * 4), *shared = NULL;
  REQUIRE(smddp_alloc(world, count * 4, (void **)&shared));
  for (size_t i = 0; i < count; i++) in[i] = shared[i] = ((float)random_below(&seed, 1 << 24) - (1 << 23)) * (random_below(&seed, 2) ? 1e-6f : 1);
  for (long i = 0; i < repetitions; i++) {
    /* In place, from shared memory and asynchronously: ways that may not show in the result. */
    const float *result = out;
    smddp_request_t request;
    if (i % 3 == 0) {
      REQUIRE(smddp_allreduce(in, out, count, SMDDP_FLOAT32, SMDDP_SUM, world, NULL));
    } else if (i % 3 == 1) {
      memcpy(out, in, count * 4);
      REQUIRE(smddp_allreduce_async(out, out, count, SMDDP_FLOAT32, SMDDP_SUM, world, NULL, &request));
      REQUIRE(smddp_wait(request, 0));
      REQUIRE(smddp_request_free(request));
    } else {
      memcpy(shared, in, count * 4);
      REQUIRE(smddp_allreduce(shared, shared, count, SMDDP_FLOAT32, SMDDP_SUM, world, NULL));
      result = shared;
    }
    if (i == 0) {
      memcpy(first, out, count * 4);
      check_same("sums", out, count * 4);
    }
    EXPECT(memcmp(result, first, count * 4) == 0, "repetition %ld: other bits than the first time", i);
  }
  REQUIRE(smddp_free(shared));
  REQUIRE(smddp_finalize(world));
  return 0;
}
