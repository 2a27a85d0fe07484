/* TIMEOUT 600: smddp_allreduce(3), both forms. */
#include "faults.h"
#include "reference.h"
#include "sweep.h"

#include <math.h>

static void test_sweep(void **state) {
  (void)state;
  sweep(ALLREDUCE);
}

static void test_arguments(void **state) {
  (void)state;
  argument_faults(ALLREDUCE);
}

static void test_mismatch(void **state) {
  (void)state;
  mismatches(ALLREDUCE);
}

/* Integers wrap at every index, in the vector body and in the tail. */
static void wrap(rank_t *rank) {
  static const size_t counts[] = {1, 8, 31, 33};
  for (size_t c = 0; c < 4; c++) {
    int16_t wide[33];
    int8_t narrow[33];
    uint8_t natural[33];
    for (size_t i = 0; i < counts[c]; i++) {
      wide[i] = 16384;
      narrow[i] = rank->number ? 100 : 120;
      natural[i] = 200;
    }
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(wide, wide, counts[c], SMDDP_INT16, SMDDP_SUM, rank->world, NULL));
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(narrow, narrow, counts[c], SMDDP_INT8, SMDDP_SUM, rank->world, NULL));
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(natural, natural, counts[c], SMDDP_UINT8, SMDDP_SUM, rank->world, NULL));
    for (size_t i = 0; i < counts[c]; i++)
      CHECK(rank, wide[i] == -32768 && narrow[i] == -36 && natural[i] == 144, "element %zu of %zu: %d %d %d", i, counts[c], wide[i],
            narrow[i], natural[i]);
  }
}

static void test_wrap(void **state) {
  (void)state;
  assert_ranks(2, wrap, NULL);
}

/* The average of integers is truncated toward zero. */
static void average(rank_t *rank) {
  static const int inputs[3][3] = {{1, 2, -1}, {2, 2, -1}, {2, 3, -2}};
  int result[3];
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(inputs[rank->number], result, 3, SMDDP_INT32, SMDDP_AVG, rank->world, NULL));
  CHECK(rank, result[0] == 1 && result[1] == 2 && result[2] == -1, "average: %d %d %d, expected 1 2 -1", result[0], result[1], result[2]);
}

static void test_integer_average(void **state) {
  (void)state;
  assert_ranks(3, average, NULL);
}

/* MIN and MAX: NaN whichever rank has it, and -0 before +0. */
static void not_a_number(rank_t *rank) {
  static const float values[4] = {1, NAN, 3, 4};
  for (int first = 0; first < 24; first++) {
    int places[4] = {0, 1, 2, 3}, code = first;
    for (int i = 3; i > 0; i--) { /* the permutation with this number */
      const int j = code % (i + 1), other = places[j];
      code /= i + 1;
      places[j] = places[i];
      places[i] = other;
    }
    const float value = values[places[rank->number]];
    for (int op = SMDDP_MIN; op <= SMDDP_MAX; op++) {
      float result = 0;
      uint16_t half = encode_float16(value), brain = encode_bfloat16(value);
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(&value, &result, 1, SMDDP_FLOAT32, (smddp_op_t)op, rank->world, NULL));
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(&half, &half, 1, SMDDP_FLOAT16, (smddp_op_t)op, rank->world, NULL));
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(&brain, &brain, 1, SMDDP_BFLOAT16, (smddp_op_t)op, rank->world, NULL));
      CHECK(rank, isnan(result) && isnan(decode_float16(half)) && isnan(decode_bfloat16(brain)), "%s in order %d: %g %04x %04x",
            smddp_op_name((smddp_op_t)op), first, result, half, brain);
    }
    const float zero = rank->number == places[0] ? -0.0f : 0.0f;
    float least = 1, most = 1;
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(&zero, &least, 1, SMDDP_FLOAT32, SMDDP_MIN, rank->world, NULL));
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(&zero, &most, 1, SMDDP_FLOAT32, SMDDP_MAX, rank->world, NULL));
    CHECK(rank, signbit(least) && !signbit(most), "-0 at rank %d: least %g, most %g", places[0], least, most);
  }
}

static void test_not_a_number(void **state) {
  (void)state;
  assert_ranks(4, not_a_number, NULL);
}

/* The same bits on all ranks, for values whose sum depends on the order. */
enum { MANY = 10007 };
static float results[MAX_RANKS][MANY];

static void same_bits(rank_t *rank) {
  float *own = results[rank->number];
  uint64_t random = 88172645463325252u + (uint64_t)rank->number;
  for (int i = 0; i < MANY; i++) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    own[i] = (float)((double)(int64_t)random / 9.2e18) * (i % 3 ? 1.0f : 1e8f);
  }
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(own, own, MANY, SMDDP_FLOAT32, SMDDP_SUM, rank->world, NULL));
  CHECK_CALL(rank, meet(rank));
  CHECK(rank, memcmp(own, results[0], sizeof results[0]) == 0, "the bits differ from those of rank 0");
}

static void test_same_bits(void **state) {
  (void)state;
  for (int size = 3; size <= 7; size++) assert_ranks(size, same_bits, NULL);
}

/* One rank: every element of the result is written, and nothing after it. */
static void test_one_rank(void **state) {
  (void)state;
  static const size_t counts[] = {1, 7, 8, 31, 33, 1023, 1000003};
  static uint8_t input[1000003 * 4], output[1000003 * 4 + 64];
  smddp_comm_t world = single_rank();
  static const smddp_dtype_t dtypes[] = {SMDDP_BFLOAT16, SMDDP_FLOAT32, SMDDP_INT8};
  for (size_t d = 0; d < 3; d++) {
    size_t element;
    assert_status(SMDDP_SUCCESS, smddp_dtype_size(dtypes[d], &element));
    fill_input(input, 0, 1000003, dtypes[d], SMDDP_SUM, 0);
    for (size_t c = 0; c < 7; c++) {
      for (int op = SMDDP_SUM; op <= SMDDP_MAX; op++) {
        memset(output, 0xf9, sizeof output);
        assert_status(SMDDP_SUCCESS, smddp_allreduce(input, output, counts[c], dtypes[d], (smddp_op_t)op, world, NULL));
        assert_memory_equal(output, input, counts[c] * element);
        for (size_t i = 0; i < 64; i++) assert_int_equal(output[counts[c] * element + i], 0xf9);
      }
    }
  }
  assert_status(SMDDP_SUCCESS, smddp_finalize(world));
}

/* Buffers at any address that the element allows, and the bytes of int8 at any at all. */
static void unaligned(rank_t *rank) {
  static _Thread_local float send[64], recv[64];
  static _Thread_local int8_t bytes[128];
  for (int k = 0; k < 16; k++) {
    for (int m = 0; m < 16; m++) {
      for (int i = 0; i < 33; i++) send[k + i] = (float)(i + rank->number);
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(send + k, recv + m, 33, SMDDP_FLOAT32, SMDDP_SUM, rank->world, NULL));
      for (int i = 0; i < 33; i++) CHECK(rank, recv[m + i] == (float)(2 * i + 1), "offsets %d and %d, element %d: %g", k, m, i, recv[m + i]);
    }
  }
  for (int k = 0; k < 64; k++) {
    for (int i = 0; i < 33; i++) bytes[k + i] = (int8_t)(i + rank->number);
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(bytes + k, bytes + k, 33, SMDDP_INT8, SMDDP_SUM, rank->world, NULL));
    for (int i = 0; i < 33; i++) CHECK(rank, bytes[k + i] == 2 * i + 1, "offset %d, element %d: %d", k, i, bytes[k + i]);
  }
}

static void test_unaligned(void **state) {
  (void)state;
  assert_ranks(2, unaligned, NULL);
}

/* Blocking calls while asynchronous ones are outstanding are matched in the order of calls. */
static void outstanding(rank_t *rank) {
  enum { OPERATIONS = 12 };
  static _Thread_local float data[OPERATIONS][3000];
  smddp_request_t requests[OPERATIONS];
  for (int k = 0; k < OPERATIONS; k++) {
    const size_t count = k % 2 ? 3000 : 3;
    for (size_t i = 0; i < count; i++) data[k][i] = (float)(k + rank->number);
    CHECK_STATUS(rank, SMDDP_SUCCESS,
                 smddp_allreduce_async(data[k], data[k], count, SMDDP_FLOAT32, SMDDP_SUM, rank->world, NULL, &requests[k]));
    if (k % 5 == 4) {
      int one = 1;
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(&one, &one, 1, SMDDP_INT32, SMDDP_SUM, rank->world, NULL));
      CHECK(rank, one == rank->size, "the blocking sum is %d", one);
    }
  }
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_wait_all(OPERATIONS, requests, 0));
  for (int k = 0; k < OPERATIONS; k++) {
    const float right = (float)(k * rank->size + rank->size * (rank->size - 1) / 2);
    CHECK(rank, data[k][0] == right && data[k][k % 2 ? 2999 : 2] == right, "operation %d: %g, expected %g", k, data[k][0], right);
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_free(requests[k]));
  }
}

static void test_outstanding(void **state) {
  (void)state;
  for (int size = 1; size <= 4; size++) assert_ranks(size, outstanding, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sweep),
      cmocka_unit_test(test_arguments),
      cmocka_unit_test(test_mismatch),
      cmocka_unit_test(test_wrap),
      cmocka_unit_test(test_integer_average),
      cmocka_unit_test(test_not_a_number),
      cmocka_unit_test(test_same_bits),
      cmocka_unit_test(test_one_rank),
      cmocka_unit_test(test_unaligned),
      cmocka_unit_test(test_outstanding),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
