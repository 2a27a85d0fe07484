#include "faults.h"

enum { COUNT = 16 };

typedef struct subject {
  rank_t *rank;
  call_t right;
  unsigned char *memory; /* room for the buffers of COUNT elements of 8 bytes */
} subject_t;

/* A wrong call, in both forms. words: nullable, must be in the sentence beside the collective's name. */
static void refuse(subject_t *s, const char *what, smddp_status_t expected, const char *words, smddp_comm_t comm, call_t call,
                   const smddp_call_options_t *options) {
  rank_t *rank = s->rank;
  smddp_request_t request = (smddp_request_t)(void *)s;
  for (int async = 0; async < 2; async++) {
    const smddp_status_t status = async ? call_async(&call, comm, options, &request) : call_blocking(&call, comm, options);
    CHECK(rank, status == expected, "%s%s, %s: %s (%s), expected %s", collective_name(call.collective), async ? "_async" : "", what,
          smddp_status_string(status), smddp_last_error(), smddp_status_string(expected));
    CHECK(rank, strstr(smddp_last_error(), collective_name(call.collective)), "%s: the sentence does not name %s: '%s'", what,
          collective_name(call.collective), smddp_last_error());
    CHECK(rank, !words || strstr(smddp_last_error(), words), "%s: '%s' is not in '%s'", what, words, smddp_last_error());
  }
  CHECK(rank, request == NULL, "%s: the request is not NULL after an error", what);
}

static void wrong_handles(subject_t *s) {
  rank_t *rank = s->rank;
  smddp_comm_t copy = NULL;
  refuse(s, "comm NULL", SMDDP_ERR_INVALID_ARGUMENT, NULL, NULL, s->right, NULL);
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_dup(rank->world, NULL, &copy));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_free(copy));
  refuse(s, "freed comm", SMDDP_ERR_INVALID_ARGUMENT, NULL, copy, s->right, NULL);
  CHECK(rank, call_async(&s->right, rank->world, NULL, NULL) == SMDDP_ERR_INVALID_ARGUMENT, "request NULL is accepted");
}

static void wrong_options(subject_t *s) {
  smddp_call_options_t options = SMDDP_INIT_STRUCT(options);
  options.struct_size = 0;
  refuse(s, "struct_size 0", SMDDP_ERR_INVALID_ARGUMENT, "struct_size", s->rank->world, s->right, &options);
  options = (smddp_call_options_t)SMDDP_INIT_STRUCT(options);
  options.timeout_ms = -5;
  refuse(s, "timeout -5", SMDDP_ERR_INVALID_ARGUMENT, "-5", s->rank->world, s->right, &options);
  options.timeout_ms = INT64_MIN;
  refuse(s, "timeout INT64_MIN", SMDDP_ERR_INVALID_ARGUMENT, "timeout_ms", s->rank->world, s->right, &options);
  options = (smddp_call_options_t)SMDDP_INIT_STRUCT(options);
  options.stream = &options;
  refuse(s, "stream", SMDDP_ERR_UNSUPPORTED, "stream", s->rank->world, s->right, &options);
  options = (smddp_call_options_t)SMDDP_INIT_STRUCT(options);
  options.wire_dtype = SMDDP_BFLOAT16;
  refuse(s, "wire_dtype", SMDDP_ERR_UNSUPPORTED, "wire_dtype", s->rank->world, s->right, &options);
  options = (smddp_call_options_t)SMDDP_INIT_STRUCT(options);
  options.algorithm = "rung";
  refuse(s, "algorithm", SMDDP_ERR_INVALID_ARGUMENT, "has no algorithm 'rung'; it has ", s->rank->world, s->right, &options);
  options.algorithm = "";
  refuse(s, "empty algorithm", SMDDP_ERR_INVALID_ARGUMENT, "options->algorithm", s->rank->world, s->right, &options);
}

static void wrong_types(subject_t *s) {
  static const int none[] = {SMDDP_DTYPE_NONE, 14, 63, 99, 4095, -1};
  static const int reserved[] = {SMDDP_FLOAT8_E4M3,   SMDDP_FLOAT8_E5M2,   SMDDP_COMPLEX64,   SMDDP_COMPLEX128, SMDDP_FLOAT32_INT32,
                                 SMDDP_FLOAT64_INT32, SMDDP_INT32_INT32,   SMDDP_INT64_INT32, SMDDP_DTYPE_USER, SMDDP_DTYPE_USER + 7};
  char words[16];
  for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
    call_t call = s->right;
    call.dtype = (smddp_dtype_t)none[i];
    snprintf(words, sizeof words, "%d", none[i]);
    refuse(s, "no type", SMDDP_ERR_INVALID_ARGUMENT, words, s->rank->world, call, NULL);
  }
  for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
    call_t call = s->right;
    call.dtype = (smddp_dtype_t)reserved[i];
    refuse(s, "reserved type", SMDDP_ERR_UNSUPPORTED, NULL, s->rank->world, call, NULL);
  }
}

static void wrong_operations(subject_t *s) {
  static const int none[] = {-1, 14, 63, 4095};
  static const int reserved[] = {SMDDP_PREMUL_SUM, SMDDP_MINLOC, SMDDP_MAXLOC, SMDDP_LAND, SMDDP_LOR, SMDDP_LXOR, SMDDP_OP_USER};
  static const smddp_dtype_t floats[] = {SMDDP_FLOAT16, SMDDP_BFLOAT16, SMDDP_FLOAT32, SMDDP_FLOAT64};
  char words[16];
  call_t call = s->right;
  for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
    call.op = (smddp_op_t)none[i];
    snprintf(words, sizeof words, "%d", none[i]);
    refuse(s, "no operation", SMDDP_ERR_INVALID_ARGUMENT, words, s->rank->world, call, NULL);
  }
  for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
    call.op = (smddp_op_t)reserved[i];
    refuse(s, "reserved operation", SMDDP_ERR_UNSUPPORTED, NULL, s->rank->world, call, NULL);
  }
  for (size_t i = 0; i < 4; i++) {
    for (int op = SMDDP_BAND; op <= SMDDP_BXOR; op++) {
      call.dtype = floats[i];
      call.op = (smddp_op_t)op;
      refuse(s, smddp_dtype_name(floats[i]), SMDDP_ERR_INVALID_ARGUMENT, smddp_op_name(call.op), s->rank->world, call, NULL);
    }
  }
  call.dtype = SMDDP_BOOL;
  call.op = SMDDP_AVG;
  refuse(s, "average of bool", SMDDP_ERR_INVALID_ARGUMENT, "avg", s->rank->world, call, NULL);
}

static void wrong_roots(subject_t *s) {
  const int roots[] = {-1, s->rank->size, INT32_MIN, INT32_MAX};
  for (int i = 0; i < 4; i++) {
    char words[16];
    call_t call = s->right;
    call.root = roots[i];
    snprintf(words, sizeof words, "%d", roots[i]);
    refuse(s, "root", SMDDP_ERR_INVALID_ARGUMENT, words, s->rank->world, call, NULL);
  }
}

static void wrong_buffers(subject_t *s) {
  rank_t *rank = s->rank;
  const collective_t c = s->right.collective;
  unsigned char *own = (unsigned char *)(uintptr_t)s->right.recvbuf;
  call_t call = s->right;
  call.count = SIZE_MAX;
  refuse(s, "count SIZE_MAX", SMDDP_ERR_INVALID_ARGUMENT, NULL, rank->world, call, NULL);
  call.count = SIZE_MAX / 4 + 1; /* of 4 bytes: wraps to 4 */
  refuse(s, "count × 4 wraps", SMDDP_ERR_INVALID_ARGUMENT, NULL, rank->world, call, NULL);
  if (c == BROADCAST || c == SCATTER || rank->number == s->right.root || !has_root(c)) {
    call = s->right;
    call.recvbuf = NULL;
    refuse(s, "recvbuf NULL", SMDDP_ERR_INVALID_ARGUMENT, NULL, rank->world, call, NULL);
  }
  if (c == BROADCAST) return;
  if (c != SCATTER || rank->number == s->right.root) {
    call = s->right;
    call.sendbuf = NULL;
    refuse(s, "sendbuf NULL", SMDDP_ERR_INVALID_ARGUMENT, NULL, rank->world, call, NULL);
  }
  if (has_root(c) && rank->number != s->right.root) return; /* only one of the buffers is used */
  call = s->right;
  call.sendbuf = own + 4; /* one element later: overlaps for every collective, and is in place for none */
  refuse(s, "overlap by one element", SMDDP_ERR_INVALID_ARGUMENT, "overlap", rank->world, call, NULL);
  call.sendbuf = own + 1;
  refuse(s, "overlap by one byte", SMDDP_ERR_INVALID_ARGUMENT, "overlap", rank->world, call, NULL);
  if (c == ALLGATHER && rank->size > 1) { /* in place, but at the block of another rank */
    call.sendbuf = own + (size_t)((rank->number + 1) % rank->size) * COUNT * 4;
    refuse(s, "block of another rank", SMDDP_ERR_INVALID_ARGUMENT, "overlap", rank->world, call, NULL);
  }
}

static void wrong_arguments(rank_t *rank) {
  static _Thread_local uint64_t memory[2][MAX_RANKS * COUNT];
  const collective_t c = *(const collective_t *)rank->arg;
  subject_t s = {.rank = rank, .memory = (unsigned char *)memory};
  s.right = (call_t){c, memory[0], memory[1], COUNT, SMDDP_FLOAT32, SMDDP_SUM, rank->size - 1};
  CHECK_CALL(rank, wrong_handles(&s));
  CHECK_CALL(rank, wrong_options(&s));
  if (c != BARRIER) {
    CHECK_CALL(rank, wrong_types(&s));
    CHECK_CALL(rank, wrong_buffers(&s));
  }
  if (has_op(c)) CHECK_CALL(rank, wrong_operations(&s));
  if (has_root(c)) CHECK_CALL(rank, wrong_roots(&s));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_status(rank->world));
  CHECK_STATUS(rank, SMDDP_SUCCESS, call_blocking(&s.right, rank->world, NULL));
  CHECK_STATUS(rank, SMDDP_SUCCESS, call_and_wait(&s.right, rank->world, NULL));
  /* On one node a name is taken and has no effect. */
  smddp_call_options_t options = SMDDP_INIT_STRUCT(options);
  options.algorithm = c == BARRIER ? "dissemination" : "one_hop";
  CHECK_STATUS(rank, SMDDP_SUCCESS, call_blocking(&s.right, rank->world, &options));
  CHECK_STATUS(rank, SMDDP_SUCCESS, call_and_wait(&s.right, rank->world, &options));
}

void argument_faults(collective_t collective) {
  static const int sizes[] = {1, 2, 3};
  for (int i = 0; i < 3; i++) assert_ranks(sizes[i], wrong_arguments, &collective);
}
