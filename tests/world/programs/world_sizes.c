/* Every collective with every root and the counts that are special for this number of ranks; results are compared element by element.
 * Then every collective with count 0 and no buffers, after which the world still works. */
#include "calls.h"
#include "support/rank.h"

enum { COUNTS = 5 };

/* Element i of the block for (or of) rank `to`, from rank `from`. */
static int32_t input(int from, int to, size_t i) { return (int32_t)(from + 1 + 100 * to + 10000 * (int)i); }

static int32_t sum_over_ranks(int to, size_t i) {
  int32_t sum = 0;
  for (int r = 0; r < size; r++) sum += input(r, to, i);
  return sum;
}

static int32_t expected(const call_t *call, size_t position, bool *defined) {
  const size_t block = position / call->count, i = position % call->count;
  *defined = true;
  switch (call->collective) {
    case ALLREDUCE: return sum_over_ranks(0, i);
    case BROADCAST: return input(call->root, 0, i);
    case REDUCE: *defined = rank == call->root; return sum_over_ranks(0, i);
    case ALLGATHER: return input((int)block, 0, i);
    case REDUCE_SCATTER: return sum_over_ranks(rank, i);
    case ALLTOALL: return input((int)block, rank, i);
    case GATHER: *defined = rank == call->root; return input((int)block, 0, i);
    case SCATTER: return input(call->root, rank, i);
    default: *defined = false; return 0;
  }
}

static void check(collective_t collective, size_t count, int root, bool async) {
  const size_t in_count = count * (size_t)send_blocks(collective, size), out_count = count * (size_t)recv_blocks(collective, size);
  int32_t *in = zeroed(in_count * 4), *out = zeroed((out_count + 1) * 4);
  for (size_t k = 0; k < in_count; k++) in[k] = input(rank, (int)(k / count), k % count);
  for (size_t k = 0; k <= out_count; k++) out[k] = -7;
  if (collective == BROADCAST && rank == root) memcpy(out, in, in_count * 4);
  const call_t call = {collective, in, out, count, SMDDP_INT32, SMDDP_SUM, root};
  if (async) REQUIRE(call_and_wait(&call, world, NULL));
  else REQUIRE(call_blocking(&call, world, NULL));
  for (size_t k = 0; k < out_count; k++) {
    bool defined;
    const int32_t value = expected(&call, k, &defined), right = defined ? value : -7;
    EXPECT(out[k] == right, "%s of %zu, root %d: [%zu] is %d, not %d", collective_name(collective), count, root, k, out[k], right);
  }
  EXPECT(out[out_count] == -7, "%s of %zu, root %d wrote behind its result", collective_name(collective), count, root);
  free(in);
  free(out);
}

static void nothing(collective_t collective, int root) {
  const call_t call = {collective, NULL, NULL, 0, SMDDP_FLOAT32, SMDDP_SUM, root};
  REQUIRE(call_blocking(&call, world, NULL));
  REQUIRE(call_and_wait(&call, world, NULL));
}

int main(void) {
  join_job();
  const size_t p = (size_t)size, counts[COUNTS] = {0, 1, p - 1, p, p + 1};
  for (int c = ALLREDUCE; c <= BARRIER; c++) {
    const int roots = has_root((collective_t)c) ? size : 1;
    for (int root = 0; root < roots; root++) {
      for (int k = 0; k < COUNTS; k++) check((collective_t)c, counts[k], root, (root + k) % 4 == 3);
      nothing((collective_t)c, root);
    }
  }
  const float one = 1;
  float sum = 0;
  REQUIRE(smddp_allreduce(&one, &sum, 1, SMDDP_FLOAT32, SMDDP_SUM, world, NULL));
  EXPECT(sum == (float)size, "the sum of ones is %g", (double)sum);
  REQUIRE(smddp_finalize(world));
  return 0;
}
