/* smddp_dtype_size(3): sizes and names. */
#include "ranks.h"

static void test_sizes(void **state) {
  (void)state;
  static const struct {
    smddp_dtype_t dtype;
    size_t bytes;
    const char *name;
  } all[] = {{SMDDP_INT8, 1, "int8"},       {SMDDP_UINT8, 1, "uint8"},      {SMDDP_INT16, 2, "int16"},
             {SMDDP_UINT16, 2, "uint16"},   {SMDDP_INT32, 4, "int32"},      {SMDDP_UINT32, 4, "uint32"},
             {SMDDP_INT64, 8, "int64"},     {SMDDP_UINT64, 8, "uint64"},    {SMDDP_FLOAT16, 2, "float16"},
             {SMDDP_BFLOAT16, 2, "bfloat16"}, {SMDDP_FLOAT32, 4, "float32"}, {SMDDP_FLOAT64, 8, "float64"},
             {SMDDP_BOOL, 1, "bool"}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    size_t size = 0;
    assert_status(SMDDP_SUCCESS, smddp_dtype_size(all[i].dtype, &size));
    assert_int_equal(size, all[i].bytes);
    assert_string_equal(smddp_dtype_name(all[i].dtype), all[i].name);
  }
}

static void test_size_errors(void **state) {
  (void)state;
  static const int none[] = {SMDDP_DTYPE_NONE, 14, 15, 63, 4095, -1, INT32_MIN};
  static const int reserved[] = {SMDDP_FLOAT8_E4M3,   SMDDP_FLOAT8_E5M2, SMDDP_COMPLEX64,   SMDDP_COMPLEX128, SMDDP_FLOAT32_INT32,
                                 SMDDP_FLOAT64_INT32, SMDDP_INT32_INT32, SMDDP_INT64_INT32, SMDDP_DTYPE_USER, INT32_MAX};
  size_t size = 77;
  for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
    assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_dtype_size((smddp_dtype_t)none[i], &size));
  for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
    assert_status(SMDDP_ERR_UNSUPPORTED, smddp_dtype_size((smddp_dtype_t)reserved[i], &size));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_dtype_size(SMDDP_INT8, NULL));
  assert_int_equal(size, 77);
}

static void test_names(void **state) {
  (void)state;
  static const char *const ops[] = {"sum", "avg", "prod", "min", "max", "band", "bor", "bxor"};
  for (int op = SMDDP_SUM; op <= SMDDP_BXOR; op++) assert_string_equal(smddp_op_name((smddp_op_t)op), ops[op]);
  for (int op = SMDDP_PREMUL_SUM; op <= SMDDP_LXOR; op++) assert_string_not_equal(smddp_op_name((smddp_op_t)op), "unknown");
  static const int unknown[] = {-1, 14, 63, SMDDP_OP_USER, INT32_MAX, INT32_MIN};
  for (int i = 0; i < 6; i++) {
    assert_string_equal(smddp_op_name((smddp_op_t)unknown[i]), "unknown");
    assert_string_equal(smddp_dtype_name((smddp_dtype_t)unknown[i]), "unknown");
  }
  assert_string_equal(smddp_dtype_name(SMDDP_COMPLEX64), "complex64");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes), cmocka_unit_test(test_size_errors), cmocka_unit_test(test_names)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
