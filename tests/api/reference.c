#include "reference.h"

#include <math.h>

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

bool op_allowed(smddp_dtype_t dtype, smddp_op_t op) {
  const bool is_float = dtype >= SMDDP_FLOAT16 && dtype <= SMDDP_FLOAT64;
  if (op >= SMDDP_BAND && op <= SMDDP_BXOR) return !is_float;
  return op != SMDDP_AVG || dtype != SMDDP_BOOL;
}

static uint16_t encode(double value, int mantissa_bits) {
  const int bias = (1 << (14 - mantissa_bits)) - 1;
  const unsigned infinity = (0x7fffu >> mantissa_bits) << mantissa_bits;
  const uint16_t sign = signbit(value) ? 0x8000 : 0;
  if (isnan(value)) return (uint16_t)(infinity | (1u << (mantissa_bits - 1)));
  if (value == 0) return sign;
  if (isinf(value)) return (uint16_t)(sign | infinity);
  int exponent;
  frexp(value, &exponent);
  exponent -= 1;
  if (exponent < 1 - bias) exponent = 1 - bias;
  /* In units of the last place; a carry out of the mantissa goes into the exponent by itself. */
  const double units = rint(ldexp(fabs(value), mantissa_bits - exponent));
  const double bits = units + ldexp((double)(exponent + bias - 1), mantissa_bits);
  return (uint16_t)(sign | (bits >= infinity ? infinity : (unsigned)bits));
}

static double decode(uint16_t bits, int mantissa_bits) {
  const int bias = (1 << (14 - mantissa_bits)) - 1;
  const int exponent = (bits & 0x7fff) >> mantissa_bits;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  double value;
  if (exponent == 2 * bias + 1) value = mantissa ? NAN : INFINITY;
  else if (exponent == 0) value = ldexp(mantissa, 1 - bias - mantissa_bits);
  else value = ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  return bits & 0x8000 ? -value : value;
}

uint16_t encode_float16(double value) { return encode(value, 10); }
uint16_t encode_bfloat16(double value) { return encode(value, 7); }
double decode_float16(uint16_t bits) { return decode(bits, 10); }
double decode_bfloat16(uint16_t bits) { return decode(bits, 7); }

static double float_value(uint64_t random, smddp_op_t op) {
  static const double factors[] = {1, -1, 2, -2, 0.5, -0.5, 1, -1};
  return op == SMDDP_PROD ? factors[random % 8] : 0.5 * (double)((int)(random % 65) - 32);
}

#define FILL(type, expression)                            \
  for (size_t i = 0; i < count; i++) {                    \
    const uint64_t random = mix(seed + first + i);        \
    ((type *)buffer)[first + i] = (type)(expression);     \
  }                                                       \
  break
#define FILL_INTEGER(type) FILL(type, op == SMDDP_AVG ? (type)random / 10 : (type)random)

void fill_input(void *buffer, size_t first, size_t count, smddp_dtype_t dtype, smddp_op_t op, int rank) {
  const uint64_t seed = mix((uint64_t)dtype * 1000 + (uint64_t)op * 100 + (uint64_t)rank + 1) << 20;
  switch (dtype) {
    case SMDDP_INT8: FILL_INTEGER(int8_t);
    case SMDDP_UINT8: FILL_INTEGER(uint8_t);
    case SMDDP_INT16: FILL_INTEGER(int16_t);
    case SMDDP_UINT16: FILL_INTEGER(uint16_t);
    case SMDDP_INT32: FILL_INTEGER(int32_t);
    case SMDDP_UINT32: FILL_INTEGER(uint32_t);
    case SMDDP_INT64: FILL_INTEGER(int64_t);
    case SMDDP_UINT64: FILL_INTEGER(uint64_t);
    case SMDDP_FLOAT16: FILL(uint16_t, encode_float16(float_value(random, op)));
    case SMDDP_BFLOAT16: FILL(uint16_t, encode_bfloat16(float_value(random, op)));
    case SMDDP_FLOAT32: FILL(float, float_value(random, op));
    case SMDDP_FLOAT64: FILL(double, float_value(random, op));
    default: FILL(uint8_t, random % 4 == 0 ? 0 : 1 + random % 255); /* bool: anything but 0 is true */
  }
}

/* wide: the type in which sums and products are made, so that 16-bit floats are rounded once. */
#define REDUCE_WITH(type, wide, load, store, BITWISE)                       \
  for (size_t i = first; i < first + count; i++) {                          \
    wide result = (wide)load(((const type *)inputs[0])[i]);                 \
    for (int r = 1; r < size; r++) {                                        \
      const wide value = (wide)load(((const type *)inputs[r])[i]);          \
      switch (op) {                                                         \
        case SMDDP_PROD: result *= value; break;                            \
        case SMDDP_MIN: result = value < result ? value : result; break;    \
        case SMDDP_MAX: result = value > result ? value : result; break;    \
          BITWISE                                                           \
        default: result += value;                                           \
      }                                                                     \
    }                                                                       \
    if (op == SMDDP_AVG) result = (wide)(result / (wide)size);              \
    ((type *)expected)[i] = (type)store(result);                            \
  }
#define INTEGER_BITWISE                        \
  case SMDDP_BAND: result &= value; break;     \
  case SMDDP_BOR: result |= value; break;      \
  case SMDDP_BXOR: result ^= value; break;
#define NO_BITWISE
/* Sums and products wrap, which is defined for unsigned types; the others need the sign. */
#define REDUCE_INTEGER(type, unsigned_type)                               \
  if (op == SMDDP_SUM || op == SMDDP_PROD) {                              \
    REDUCE_WITH(unsigned_type, uint64_t, , , INTEGER_BITWISE)             \
  } else {                                                                \
    REDUCE_WITH(type, type, , , INTEGER_BITWISE)                          \
  }                                                                       \
  break

static uint8_t reduce_bool(uint8_t a, uint8_t b, smddp_op_t op) {
  switch (op) {
    case SMDDP_PROD: case SMDDP_MIN: case SMDDP_BAND: return a && b;
    case SMDDP_BXOR: return !a != !b;
    default: return a || b;
  }
}

void reduce_inputs(void *expected, void *const *inputs, int size, size_t first, size_t count, smddp_dtype_t dtype, smddp_op_t op) {
  switch (dtype) {
    case SMDDP_INT8: REDUCE_INTEGER(int8_t, uint8_t);
    case SMDDP_UINT8: REDUCE_INTEGER(uint8_t, uint8_t);
    case SMDDP_INT16: REDUCE_INTEGER(int16_t, uint16_t);
    case SMDDP_UINT16: REDUCE_INTEGER(uint16_t, uint16_t);
    case SMDDP_INT32: REDUCE_INTEGER(int32_t, uint32_t);
    case SMDDP_UINT32: REDUCE_INTEGER(uint32_t, uint32_t);
    case SMDDP_INT64: REDUCE_INTEGER(int64_t, uint64_t);
    case SMDDP_UINT64: REDUCE_INTEGER(uint64_t, uint64_t);
    case SMDDP_FLOAT16: REDUCE_WITH(uint16_t, float, decode_float16, encode_float16, NO_BITWISE) break;
    case SMDDP_BFLOAT16: REDUCE_WITH(uint16_t, float, decode_bfloat16, encode_bfloat16, NO_BITWISE) break;
    case SMDDP_FLOAT32: REDUCE_WITH(float, float, , , NO_BITWISE) break;
    case SMDDP_FLOAT64: REDUCE_WITH(double, double, , , NO_BITWISE) break;
    default:
      for (size_t i = first; i < first + count; i++) {
        uint8_t result = ((const uint8_t *)inputs[0])[i] != 0;
        for (int r = 1; r < size; r++) result = reduce_bool(result, ((const uint8_t *)inputs[r])[i], op);
        ((uint8_t *)expected)[i] = result;
      }
  }
}
