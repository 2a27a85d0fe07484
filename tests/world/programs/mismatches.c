/* One rank calls something else than the others, in every way and for every collective, each on a communicator of its own: every rank gets
 * SMDDP_ERR_MISMATCH with both calls in the sentence, at once, and the world goes on. argv[1]: elements of the usual call. */
#include "calls.h"
#include "support/rank.h"

static void *memory[2];

static void describe(const call_t *call, char *text, size_t length) {
  const char *name = collective_name(call->collective);
  const char *dtype = call->dtype == SMDDP_INT32 ? "int32" : "float32";
  if (call->collective == BARRIER) snprintf(text, length, "%s()", name);
  else if (has_op(call->collective) && has_root(call->collective))
    snprintf(text, length, "%s(%zu × %s, %s, root %d)", name, call->count, dtype, smddp_op_name(call->op), call->root);
  else if (has_op(call->collective)) snprintf(text, length, "%s(%zu × %s, %s)", name, call->count, dtype, smddp_op_name(call->op));
  else if (has_root(call->collective)) snprintf(text, length, "%s(%zu × %s, root %d)", name, call->count, dtype, call->root);
  else snprintf(text, length, "%s(%zu × %s)", name, call->count, dtype);
}

static void differ(call_t usual, call_t other, int odd, bool async) {
  smddp_comm_t comm = NULL;
  char left[128], right[128];
  describe(&usual, left, sizeof left);
  describe(&other, right, sizeof right);
  REQUIRE(smddp_comm_dup(world, NULL, &comm));
  call_t call = rank == odd ? other : usual;
  call.sendbuf = memory[0];
  call.recvbuf = memory[1];
  const double begin = seconds();
  smddp_status_t status = async ? call_and_wait(&call, comm, NULL) : call_blocking(&call, comm, NULL);
  /* A root has done its part before the others come; then its next call tells. */
  if (status == SMDDP_SUCCESS) status = smddp_barrier(comm, NULL);
  EXPECT(status == SMDDP_ERR_MISMATCH, "rank %d of %d called %s, the others %s: %s (%s)", odd, size, right, left,
         smddp_status_string(status), smddp_last_error());
  EXPECT_SAYS(left);
  EXPECT_SAYS(right);
  EXPECT(seconds() - begin < 30, "the mismatch of %s and %s took %.1f s to be found", left, right, seconds() - begin);
  EXPECT_STATUS(SMDDP_ERR_MISMATCH, smddp_comm_status(comm));
  REQUIRE(smddp_barrier(world, NULL));
  REQUIRE(smddp_comm_free(comm));
}

static void all_ways(call_t usual, int odd, bool async) {
  call_t other = usual;
  other.collective = usual.collective == ALLREDUCE ? ALLGATHER : ALLREDUCE;
  differ(usual, other, odd, async);
  other = usual;
  other.collective = usual.collective == BARRIER ? BROADCAST : BARRIER;
  differ(usual, other, odd, async);
  if (usual.collective == BARRIER) return;
  other = usual;
  other.count++;
  differ(usual, other, odd, async);
  other = usual;
  other.dtype = SMDDP_INT32;
  differ(usual, other, odd, async);
  other = usual;
  other.op = SMDDP_MAX;
  if (has_op(usual.collective)) differ(usual, other, odd, async);
  other = usual;
  other.root = 1;
  if (has_root(usual.collective)) differ(usual, other, odd, async);
}

int main(int argc, char **argv) {
  const size_t count = (size_t)argument(argc, argv, 1, 1);
  join_job();
  for (int i = 0; i < 2; i++) memory[i] = zeroed((count + 1) * 4 * (size_t)size);
  for (int c = ALLREDUCE; c <= BARRIER; c++) {
    for (int odd = 0; odd < size; odd++) {
      for (int async = 0; async < 2; async++) all_ways((call_t){(collective_t)c, NULL, NULL, count, SMDDP_FLOAT32, SMDDP_SUM, 0}, odd, async);
    }
  }
  REQUIRE(smddp_finalize(world));
  return 0;
}
