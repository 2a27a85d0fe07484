/* Inputs and expected results, computed plainly. Values are such that every result is exact in every type, so that buffers are compared
 * byte by byte: full-range integers (a tenth of the range for AVG), small halves for floats, powers of two for products of floats. */
#ifndef SMDDP_TESTS_API_REFERENCE_H
#define SMDDP_TESTS_API_REFERENCE_H

#include <smddp/smddp.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool op_allowed(smddp_dtype_t dtype, smddp_op_t op);

/* Elements first … first + count − 1 of the input of a rank. */
void fill_input(void *buffer, size_t first, size_t count, smddp_dtype_t dtype, smddp_op_t op, int rank);

/* expected[i] = reduction of inputs[0 … size − 1][i], for i = first … first + count − 1. */
void reduce_inputs(void *expected, void *const *inputs, int size, size_t first, size_t count, smddp_dtype_t dtype, smddp_op_t op);

/* 16-bit floats: round to nearest even, and the value. */
uint16_t encode_float16(double value);
uint16_t encode_bfloat16(double value);
double decode_float16(uint16_t bits);
double decode_bfloat16(uint16_t bits);

#endif
