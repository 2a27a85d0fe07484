/* smddp_alloc(3), smddp_free(3) */
#include "calls.h"

#include <stdlib.h>

static void test_memory(void **state) {
  (void)state;
  smddp_comm_t world = single_rank();
  unsigned char *pointers[64];
  for (int round = 0; round < 3; round++) {
    for (size_t i = 0; i < 64; i++) {
      const size_t bytes = i * i * 37 + 1;
      assert_status(SMDDP_SUCCESS, smddp_alloc(world, bytes, (void **)&pointers[i]));
      assert_int_equal((uintptr_t)pointers[i] % 128, 0);
      for (size_t k = 0; k < bytes; k++) assert_int_equal(pointers[i][k], 0); /* also where freed memory is used again */
      memset(pointers[i], (int)i + 1, bytes);
    }
    for (size_t i = 0; i < 64; i++) { /* no two overlap */
      assert_int_equal(pointers[i][0], i + 1);
      assert_int_equal(pointers[i][i * i * 37], i + 1);
    }
    for (size_t i = 0; i < 64; i++) assert_status(SMDDP_SUCCESS, smddp_free(pointers[(i * 7) % 64]));
  }
  assert_status(SMDDP_SUCCESS, smddp_finalize(world));
}

static void test_errors(void **state) {
  (void)state;
  smddp_comm_t world = single_rank();
  int number = 0;
  void *pointer = &number;
  assert_status(SMDDP_SUCCESS, smddp_free(NULL));
  assert_status(SMDDP_SUCCESS, smddp_alloc(world, 0, &pointer));
  assert_null(pointer);
  pointer = &number;
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_alloc(NULL, 10, &pointer));
  assert_true(pointer == NULL || pointer == &number);
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_alloc(world, 10, NULL));
  pointer = &number;
  assert_status(SMDDP_ERR_RESOURCE, smddp_alloc(world, SIZE_MAX, &pointer));
  assert_true(pointer == NULL || pointer == &number);
  assert_status(SMDDP_ERR_RESOURCE, smddp_alloc(world, (size_t)1 << 60, &pointer));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_free(&number));
  assert_status(SMDDP_SUCCESS, smddp_alloc(world, 1000, &pointer));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_free((char *)pointer + 128));
  assert_status(SMDDP_SUCCESS, smddp_free(pointer));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_free(pointer));
  assert_status(SMDDP_SUCCESS, smddp_finalize(world));
}

/* Allocated buffers in every collective, some ranks with private ones; parts of an allocation too. */
static void in_collectives(rank_t *rank) {
  enum { COUNT = 30000 };
  const size_t p = (size_t)rank->size, bytes = COUNT * p * sizeof(float);
  static _Thread_local float private_send[COUNT * 4], private_recv[COUNT * 4];
  float *send = NULL, *recv = NULL;
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_alloc(rank->world, bytes + 256, (void **)&send));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_alloc(rank->world, bytes + 256, (void **)&recv));
  for (int c = ALLREDUCE; c <= SCATTER; c++) {
    for (int variant = 0; variant < 4; variant++) {
      float *out = variant == 1 && rank->number % 2 ? private_send : send + variant;
      float *in = variant == 2 ? private_recv : recv + variant;
      const int root = variant % rank->size;
      for (size_t i = 0; i < COUNT * p; i++) out[i] = (float)(rank->number + 1), in[i] = -1;
      if (c == BROADCAST)
        for (size_t i = 0; i < COUNT; i++) in[i] = (float)(rank->number + 1);
      const call_t call = {(collective_t)c, out, in, COUNT, SMDDP_FLOAT32, SMDDP_SUM, root};
      CHECK_STATUS(rank, SMDDP_SUCCESS, variant % 2 ? call_and_wait(&call, rank->world, NULL) : call_blocking(&call, rank->world, NULL));
      if ((c == REDUCE || c == GATHER) && rank->number != root) continue;
      for (int b = 0; b < recv_blocks((collective_t)c, rank->size); b++) {
        float right = (float)(b + 1);
        if (has_op((collective_t)c)) right = (float)(rank->size * (rank->size + 1) / 2);
        if (c == BROADCAST || c == SCATTER) right = (float)(root + 1);
        for (size_t i = 0; i < COUNT; i++)
          CHECK(rank, in[(size_t)b * COUNT + i] == right, "%s, variant %d, block %d, element %zu: %g, expected %g",
                collective_name((collective_t)c), variant, b, i, in[(size_t)b * COUNT + i], right);
      }
    }
  }
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_free(send));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_free(recv));
}

static void test_in_collectives(void **state) {
  (void)state;
  for (int size = 1; size <= 4; size++) assert_ranks(size, in_collectives, NULL);
}

/* A program that has taken all it can get leaves room for the operations that need memory of the library. */
static void full_heap(rank_t *rank) {
  enum { COUNT = 1 << 20 };
  void *blocks[64];
  size_t count = 0;
  while (count < 64 && smddp_alloc(rank->world, 1 << 20, &blocks[count]) == SMDDP_SUCCESS) count++;
  CHECK(rank, count == 48, "%zu MiB of 64", count);
  CHECK(rank, strstr(smddp_last_error(), "SMDDP_HEAP_BYTES") != NULL, "'%s'", smddp_last_error());
  float *const values = calloc(COUNT, sizeof *values);
  for (int i = 0; i < COUNT; i++) values[i] = 1;
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(values, values, COUNT, SMDDP_FLOAT32, SMDDP_SUM, rank->world, NULL));
  CHECK(rank, values[COUNT - 1] == (float)rank->size, "%g", values[COUNT - 1]);
  free(values);
  for (size_t i = 0; i < count; i++) CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_free(blocks[i]));
}

static void test_full_heap(void **state) {
  (void)state;
  setenv("SMDDP_HEAP_BYTES", "64M", 1);
  for (int size = 1; size <= 3; size++) assert_ranks(size, full_heap, NULL);
  unsetenv("SMDDP_HEAP_BYTES");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory), cmocka_unit_test(test_errors), cmocka_unit_test(test_in_collectives),
                                     cmocka_unit_test(test_full_heap)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
