#include "sweep.h"

#include "reference.h"

#include <stdlib.h>

enum { LARGEST = 100000, GUARD = 64, FILLER = 0xf9 };

/* What the ranks of a run share: each fills its own input, and a part of the expected result. */
typedef struct sweep {
  collective_t collective;
  void *inputs[MAX_RANKS];
  void *expected;
  int sizes[14]; /* bytes of each type */
} sweep_t;

typedef enum placement { OUT_OF_PLACE, IN_PLACE, MIXED } placement_t;

typedef struct state {
  rank_t *rank;
  const sweep_t *sweep;
  uint8_t *send, *recv; /* with a guard before and after */
  smddp_dtype_t dtype;
  smddp_op_t op;
  size_t element;
  uint32_t turn; /* counts the calls */
} state_t;

static bool is_filled(const uint8_t *bytes, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (bytes[i] != FILLER) return false;
  return true;
}

/* Index of the first byte that differs from what the block has to be; SIZE_MAX if none does. */
static size_t difference(const uint8_t *seen, const uint8_t *right, size_t bytes) {
  if (bytes == 0 || memcmp(seen, right, bytes) == 0) return SIZE_MAX;
  size_t i = 0;
  while (seen[i] == right[i]) i++;
  return i;
}

/* Compares the result of a call with the inputs of all ranks. */
static void check_result(state_t *s, const uint8_t *result, size_t count, int root, const char *what) {
  const sweep_t *w = s->sweep;
  const size_t block = count * s->element, mine = (size_t)s->rank->number * block;
  const int blocks = recv_blocks(w->collective, s->rank->size);
  for (int b = 0; b < blocks; b++) {
    const uint8_t *right = NULL;
    switch (w->collective) {
      case ALLREDUCE: case REDUCE: right = w->expected; break;
      case REDUCE_SCATTER: right = (uint8_t *)w->expected + mine; break;
      case BROADCAST: right = w->inputs[root]; break;
      case SCATTER: right = (uint8_t *)w->inputs[root] + mine; break;
      case ALLGATHER: case GATHER: right = w->inputs[b]; break;
      case ALLTOALL: right = (uint8_t *)w->inputs[b] + mine; break;
      case BARRIER: return;
    }
    const size_t at = difference(result + (size_t)b * block, right, block);
    CHECK(s->rank, at == SIZE_MAX, "%s: block %d, element %zu: 0x%02x, expected 0x%02x (byte %zu)", what, b, at / s->element,
          result[(size_t)b * block + at], right[at], at % s->element);
  }
}

static void one_call(state_t *s, size_t count, placement_t placement, bool async) {
  const collective_t c = s->sweep->collective;
  const unsigned chance = ++s->turn * 2654435761u >> 12; /* the same on all ranks, and in no step with the loops */
  const int rank = s->rank->number, size = s->rank->size, root = (int)(chance % (unsigned)size);
  const bool null = chance >> 10 & 1; /* buffers that are not used are NULL */
  const bool in_place = placement == IN_PLACE || (placement == MIXED && rank % 2 == 0);
  const bool root_only = c == REDUCE || c == GATHER; /* recvbuf counts at the root alone */
  const size_t block = count * s->element;
  const size_t send_bytes = block * (size_t)send_blocks(c, size), recv_bytes = block * (size_t)recv_blocks(c, size);
  const uint8_t *input = s->sweep->inputs[rank];
  uint8_t *send = s->send + GUARD, *recv = s->recv + GUARD, *result = recv;
  size_t result_bytes = recv_bytes;
  char what[160];
  snprintf(what, sizeof what, "%s %s %s count %zu root %d %s %s", collective_name(c), smddp_dtype_name(s->dtype),
           has_op(c) ? smddp_op_name(s->op) : "", count, root, in_place ? "in place" : "out of place", async ? "async" : "blocking");

  memset(s->recv, FILLER, recv_bytes + 2 * GUARD);
  memset(s->send, FILLER, send_bytes + 2 * GUARD);
  memcpy(send, input, send_bytes);
  call_t call = {c, send, recv, count, s->dtype, s->op, root};
  if (c == BROADCAST) {
    if (rank == root) memcpy(recv, input, block);
  } else if (c == SCATTER && rank != root) {
    call.sendbuf = NULL;
  } else if (in_place && recv_bytes > send_bytes) { /* allgather, gather: the own block lies in recvbuf */
    if (!root_only || rank == root) {
      memcpy(recv + (size_t)rank * block, input, block);
      call.sendbuf = recv + (size_t)rank * block;
    }
  } else if (in_place && send_bytes > recv_bytes) { /* reduce_scatter, scatter: the own block lies in sendbuf */
    call.recvbuf = result = send + (size_t)rank * block;
  } else if (in_place) {
    memcpy(recv, input, recv_bytes);
    call.sendbuf = recv;
  }
  if (root_only && rank != root) {
    if (null && !in_place) call.recvbuf = NULL;
    result_bytes = 0;
  }
  if (count == 0 && null) call.sendbuf = call.recvbuf = NULL;

  CHECK_STATUS(s->rank, SMDDP_SUCCESS, async ? call_and_wait(&call, s->rank->world, NULL) : call_blocking(&call, s->rank->world, NULL));

  if (result_bytes) CHECK_CALL(s->rank, check_result(s, result, count, root, what));
  CHECK(s->rank, is_filled(s->recv, GUARD) && is_filled(recv + recv_bytes, GUARD), "%s: bytes around recvbuf changed", what);
  CHECK(s->rank, is_filled(s->send, GUARD) && is_filled(send + send_bytes, GUARD), "%s: bytes around sendbuf changed", what);
  if (call.sendbuf == send && call.recvbuf != send + (size_t)rank * block)
    CHECK(s->rank, memcmp(send, input, send_bytes) == 0, "%s: sendbuf changed", what);
  if (root_only && rank != root)
    CHECK(s->rank, in_place || is_filled(recv, recv_bytes), "%s: recvbuf changed on a rank that is not root", what);
}

static void all_counts(state_t *s) {
  const size_t p = (size_t)s->rank->size, counts[] = {0, 1, p - 1, p, 1000, 5000};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    for (int placement = OUT_OF_PLACE; placement <= MIXED; placement++) {
      CHECK_CALL(s->rank, one_call(s, counts[i], (placement_t)placement, false));
      CHECK_CALL(s->rank, one_call(s, counts[i], (placement_t)placement, true));
    }
  }
  CHECK_CALL(s->rank, one_call(s, LARGEST, OUT_OF_PLACE, false));
  CHECK_CALL(s->rank, one_call(s, LARGEST, MIXED, true));
}

static void sweep_rank(rank_t *rank) {
  sweep_t *w = rank->arg;
  const size_t p = (size_t)rank->size, elements = p * LARGEST;
  state_t s = {.rank = rank, .sweep = w};
  s.send = malloc(elements * 8 + 2 * GUARD);
  s.recv = malloc(elements * 8 + 2 * GUARD);
  for (int dtype = SMDDP_INT8; dtype <= SMDDP_BOOL && !rank->fault[0]; dtype++) {
    for (int op = SMDDP_SUM; op <= SMDDP_BXOR && !rank->fault[0]; op++) {
      s.dtype = (smddp_dtype_t)dtype;
      s.op = (smddp_op_t)op;
      s.element = (size_t)w->sizes[dtype];
      if (has_op(w->collective) ? !op_allowed(s.dtype, s.op) : op != SMDDP_SUM) continue;
      fill_input(w->inputs[rank->number], 0, elements, s.dtype, s.op, rank->number);
      meet(rank);
      if (has_op(w->collective) && !rank->fault[0])
        reduce_inputs(w->expected, w->inputs, rank->size, (size_t)rank->number * LARGEST, LARGEST, s.dtype, s.op);
      if (!rank->fault[0]) meet(rank);
      if (!rank->fault[0]) all_counts(&s);
      if (!rank->fault[0]) meet(rank); /* the inputs are overwritten next */
    }
  }
  free(s.send);
  free(s.recv);
}

void sweep(collective_t collective) {
  static const int sizes[] = {1, 2, 3, 4, 7};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    const int size = sizes[i];
    sweep_t w = {.collective = collective};
    for (int dtype = SMDDP_INT8; dtype <= SMDDP_BOOL; dtype++) {
      size_t bytes;
      assert_status(SMDDP_SUCCESS, smddp_dtype_size((smddp_dtype_t)dtype, &bytes));
      w.sizes[dtype] = (int)bytes;
    }
    for (int r = 0; r < size; r++) assert_non_null(w.inputs[r] = malloc((size_t)size * LARGEST * 8));
    assert_non_null(w.expected = malloc((size_t)size * LARGEST * 8));
    assert_ranks(size, sweep_rank, &w);
    for (int r = 0; r < size; r++) free(w.inputs[r]);
    free(w.expected);
  }
}
