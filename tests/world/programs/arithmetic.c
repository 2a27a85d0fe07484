/* Reductions whose right answer is easy to miss: overflow, averages of integers, NaN, buffers aligned to their element only. */
#include "support/rank.h"

#include <math.h>

static void overflow(void) {
  static const size_t counts[] = {1, 8, 31, 33, 100003};
  static int16_t in[100003], out[100003];
  for (int c = 0; c < 5; c++) {
    for (size_t i = 0; i < counts[c]; i++) in[i] = 16384;
    REQUIRE(smddp_allreduce(in, out, counts[c], SMDDP_INT16, SMDDP_SUM, world, NULL));
    for (size_t i = 0; i < counts[c]; i++) {
      EXPECT(out[i] == (int16_t)(16384 * size), "int16 sum of %zu: [%zu] is %d", counts[c], i, out[i]);
    }
  }
  static int8_t small[100003], small_sum[100003];
  static uint8_t bytes[100003], bytes_sum[100003];
  for (int c = 0; c < 5; c++) {
    memset(small, rank % 2 ? 100 : 120, counts[c]);
    memset(bytes, 200, counts[c]);
    REQUIRE(smddp_allreduce(small, small_sum, counts[c], SMDDP_INT8, SMDDP_SUM, world, NULL));
    REQUIRE(smddp_allreduce(bytes, bytes_sum, counts[c], SMDDP_UINT8, SMDDP_SUM, world, NULL));
    const int8_t right = (int8_t)(120 * ((size + 1) / 2) + 100 * (size / 2));
    for (size_t i = 0; i < counts[c]; i++) {
      EXPECT(small_sum[i] == right && bytes_sum[i] == (uint8_t)(200 * size), "[%zu]: %d and %u", i, small_sum[i], bytes_sum[i]);
    }
  }
}

/* Of three ranks: toward zero, in every collective that reduces. */
static void integer_average(void) {
  static const int32_t inputs[3][3] = {{1, 2, -1}, {2, 2, -1}, {2, 3, -2}}, right[3] = {1, 2, -1};
  int32_t out[3] = {9, 9, 9}, share = 9;
  REQUIRE(smddp_allreduce(inputs[rank], out, 3, SMDDP_INT32, SMDDP_AVG, world, NULL));
  for (int i = 0; i < 3; i++) EXPECT(out[i] == right[i], "allreduce: [%d] is %d", i, out[i]);
  REQUIRE(smddp_reduce(inputs[rank], out, 3, SMDDP_INT32, SMDDP_AVG, 1, world, NULL));
  for (int i = 0; i < 3 && rank == 1; i++) EXPECT(out[i] == right[i], "reduce: [%d] is %d", i, out[i]);
  REQUIRE(smddp_reduce_scatter(inputs[rank], &share, 1, SMDDP_INT32, SMDDP_AVG, world, NULL));
  EXPECT(share == right[rank], "reduce_scatter: %d", share);
}

static bool is_nan16(uint16_t bits, int exponent_bits) {
  const uint16_t mask = (uint16_t)(0x7fff & ~((1 << (15 - exponent_bits)) - 1));
  return (bits & 0x7fff) > mask;
}

/* Of four ranks: which of them holds the NaN does not matter, and a NaN is never lost. */
static void not_a_number(void) {
  static const float values[4] = {1, NAN, 3, 4};
  static const uint16_t halves[4] = {0x3c00, 0x7e00, 0x4200, 0x4400}, bfloats[4] = {0x3f80, 0x7fc0, 0x4040, 0x4080};
  for (int a = 0; a < 4; a++) {
    for (int b = 0; b < 4; b++) {
      for (int c = 0; c < 4; c++) {
        if (a == b || a == c || b == c) continue;
        const int order[4] = {a, b, c, 6 - a - b - c}, mine = order[rank];
        for (smddp_op_t op = SMDDP_MIN; op <= SMDDP_MAX; op++) {
          float single[20], out[20];
          uint16_t half[20], bfloat[20], half_out[20], bfloat_out[20];
          for (int i = 0; i < 20; i++) single[i] = values[mine], half[i] = halves[mine], bfloat[i] = bfloats[mine];
          REQUIRE(smddp_allreduce(single, out, 20, SMDDP_FLOAT32, op, world, NULL));
          REQUIRE(smddp_allreduce(half, half_out, 20, SMDDP_FLOAT16, op, world, NULL));
          REQUIRE(smddp_allreduce(bfloat, bfloat_out, 20, SMDDP_BFLOAT16, op, world, NULL));
          for (int i = 0; i < 20; i++) {
            EXPECT(isnan(out[i]) && is_nan16(half_out[i], 5) && is_nan16(bfloat_out[i], 8), "%s, NaN on rank %d: %g %x %x", smddp_op_name(op),
                   a == 1 ? 0 : b == 1 ? 1 : c == 1 ? 2 : 3, (double)out[i], half_out[i], bfloat_out[i]);
          }
        }
      }
    }
  }
}

static void unaligned(void) {
  static float in[33 + 16], out[33 + 16];
  static int8_t bytes[64 + 33], bytes_out[64 + 33];
  for (int k = 0; k < 16; k++) {
    for (int m = 0; m < 16; m++) {
      for (int i = 0; i < 33; i++) in[k + i] = (float)(i + rank);
      REQUIRE(smddp_allreduce(in + k, out + m, 33, SMDDP_FLOAT32, SMDDP_SUM, world, NULL));
      for (int i = 0; i < 33; i++) {
        EXPECT(out[m + i] == (float)(i * size + size * (size - 1) / 2), "offsets %d and %d: [%d] is %g", k, m, i, (double)out[m + i]);
      }
    }
  }
  for (int k = 0; k < 64; k++) {
    for (int i = 0; i < 33; i++) bytes[k + i] = (int8_t)i;
    REQUIRE(smddp_allreduce(bytes + k, bytes_out + (63 - k), 33, SMDDP_INT8, SMDDP_SUM, world, NULL));
    for (int i = 0; i < 33; i++) EXPECT(bytes_out[63 - k + i] == (int8_t)(i * size), "offset %d: [%d] is %d", k, i, bytes_out[63 - k + i]);
  }
}

/* Of one rank: every byte of the result is written, and none behind it. */
static void alone(void) {
  static const size_t counts[] = {1, 7, 8, 31, 33, 1023, 1000003};
  static const smddp_dtype_t types[] = {SMDDP_BFLOAT16, SMDDP_FLOAT32, SMDDP_INT8};
  for (int c = 0; c < 7; c++) {
    for (int t = 0; t < 3; t++) {
      size_t element;
      REQUIRE(smddp_dtype_size(types[t], &element));
      const size_t bytes = counts[c] * element;
      unsigned char *in = zeroed(bytes), *out = zeroed(bytes + 64);
      uint64_t seed = c;
      for (size_t i = 0; i < bytes; i++) in[i] = (unsigned char)random_below(&seed, 63); /* no NaN in any type */
      for (smddp_op_t op = SMDDP_SUM; op <= SMDDP_MAX; op++) {
        memset(out, 0xf9, bytes + 64);
        REQUIRE(smddp_allreduce(in, out, counts[c], types[t], op, world, NULL));
        EXPECT(memcmp(in, out, bytes) == 0, "%s of %zu %s is not the input", smddp_op_name(op), counts[c], smddp_dtype_name(types[t]));
        for (int i = 0; i < 64; i++) EXPECT(out[bytes + (size_t)i] == 0xf9, "byte %d behind the result was written", i);
      }
      free(in);
      free(out);
    }
  }
}

int main(void) {
  join_job();
  overflow();
  unaligned();
  if (size == 1) alone();
  if (size == 3) integer_average();
  if (size == 4) not_a_number();
  REQUIRE(smddp_finalize(world));
  return 0;
}
