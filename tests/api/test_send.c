/* smddp_send(3): arguments, buffering, order. What is received is in test_recv.c. */
#include "ranks.h"

#include <stdlib.h>

static void wrong_sends(rank_t *rank) {
  int value = 1;
  const int p = rank->size;
  smddp_comm_t comm = rank->world;
  smddp_call_options_t options = SMDDP_INIT_STRUCT(options);
  smddp_request_t request = (smddp_request_t)(void *)rank;
  const struct {
    const char *what;
    const void *buf;
    size_t count;
    int dtype, dest, tag;
    smddp_comm_t comm;
    smddp_status_t status;
  } wrong[] = {{"comm", &value, 1, SMDDP_INT32, 0, 0, NULL, SMDDP_ERR_INVALID_ARGUMENT},
               {"buf", NULL, 1, SMDDP_INT32, 0, 0, comm, SMDDP_ERR_INVALID_ARGUMENT},
               {"count", &value, SIZE_MAX, SMDDP_INT32, 0, 0, comm, SMDDP_ERR_INVALID_ARGUMENT},
               {"type", &value, 1, 99, 0, 0, comm, SMDDP_ERR_INVALID_ARGUMENT},
               {"reserved type", &value, 1, SMDDP_COMPLEX64, 0, 0, comm, SMDDP_ERR_UNSUPPORTED},
               {"dest p", &value, 1, SMDDP_INT32, p, 0, comm, SMDDP_ERR_INVALID_ARGUMENT},
               {"dest -1", &value, 1, SMDDP_INT32, -1, 0, comm, SMDDP_ERR_INVALID_ARGUMENT},
               {"tag -1", &value, 1, SMDDP_INT32, 0, -1, comm, SMDDP_ERR_INVALID_ARGUMENT},
               {"tag -2", &value, 1, SMDDP_INT32, 0, -2, comm, SMDDP_ERR_INVALID_ARGUMENT}};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    const smddp_dtype_t dtype = (smddp_dtype_t)wrong[i].dtype;
    smddp_status_t status = smddp_send(wrong[i].buf, wrong[i].count, dtype, wrong[i].dest, wrong[i].tag, wrong[i].comm, NULL);
    CHECK(rank, status == wrong[i].status, "%s: %s (%s)", wrong[i].what, smddp_status_string(status), smddp_last_error());
    status = smddp_send_async(wrong[i].buf, wrong[i].count, dtype, wrong[i].dest, wrong[i].tag, wrong[i].comm, NULL, &request);
    CHECK(rank, status == wrong[i].status, "async, %s: %s (%s)", wrong[i].what, smddp_status_string(status), smddp_last_error());
    CHECK(rank, request == NULL, "%s: the request is not NULL", wrong[i].what);
  }
  CHECK_STATUS(rank, SMDDP_ERR_INVALID_ARGUMENT, smddp_send_async(&value, 1, SMDDP_INT32, 0, 0, comm, NULL, NULL));
  options.timeout_ms = -1;
  CHECK_STATUS(rank, SMDDP_ERR_INVALID_ARGUMENT, smddp_send(&value, 1, SMDDP_INT32, 0, 0, comm, &options));
  options.timeout_ms = 0;
  options.stream = &value;
  CHECK_STATUS(rank, SMDDP_ERR_UNSUPPORTED, smddp_send(&value, 1, SMDDP_INT32, 0, 0, comm, &options));
  options.stream = NULL;
  options.algorithm = "ring";
  CHECK_STATUS(rank, SMDDP_ERR_INVALID_ARGUMENT, smddp_send(&value, 1, SMDDP_INT32, 0, 0, comm, &options));
  CHECK_SENTENCE(rank, "messages have no algorithms");
  CHECK_STATUS(rank, SMDDP_ERR_INVALID_ARGUMENT, smddp_recv(&value, 1, SMDDP_INT32, 0, 0, comm, &options, NULL));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_barrier(comm, NULL));
}

static void test_errors(void **state) {
  (void)state;
  assert_ranks(1, wrong_sends, NULL);
  assert_ranks(2, wrong_sends, NULL);
}

/* Both ranks send 8 MiB to the other and receive then: sends are buffered. */
static void exchange(rank_t *rank) {
  enum { COUNT = 1 << 20 };
  double *mine = malloc(COUNT * sizeof *mine), *other = malloc(COUNT * sizeof *other);
  const int peer = 1 - rank->number;
  for (int i = 0; i < COUNT; i++) mine[i] = i + rank->number;
  smddp_status_t sent = smddp_send(mine, COUNT, SMDDP_FLOAT64, peer, 3, rank->world, NULL);
  memset(mine, 0, COUNT * sizeof *mine); /* it may be used again */
  smddp_status_t received = smddp_recv(other, COUNT, SMDDP_FLOAT64, peer, 3, rank->world, NULL, NULL);
  int wrong = 0;
  for (int i = 0; i < COUNT; i++) wrong += other[i] != i + peer;
  free(mine);
  free(other);
  CHECK(rank, sent == SMDDP_SUCCESS && received == SMDDP_SUCCESS, "%s, %s (%s)", smddp_status_string(sent),
        smddp_status_string(received), smddp_last_error());
  CHECK(rank, wrong == 0, "%d wrong elements", wrong);
}

static void test_exchange(void **state) {
  (void)state;
  for (int round = 0; round < 3; round++) assert_ranks(2, exchange, NULL);
}

/* With the buffer full, a send waits for the receiver; its deadline names the rank that does not receive. */
static void full(rank_t *rank) {
  static _Thread_local char message[6000];
  smddp_call_options_t options = SMDDP_INIT_STRUCT(options);
  options.timeout_ms = 400;
  smddp_comm_t comm = NULL;
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_dup(rank->world, NULL, &comm));
  if (rank->number == 0) {
    const int64_t start = now_ms();
    smddp_status_t status = SMDDP_SUCCESS;
    for (int i = 0; i < 1000 && status == SMDDP_SUCCESS; i++)
      status = smddp_send(message, sizeof message, SMDDP_UINT8, 1, 0, comm, &options);
    CHECK(rank, status == SMDDP_ERR_TIMEOUT, "%s (%s) from 6 MB into a buffer of 64 KiB", smddp_status_string(status), smddp_last_error());
    CHECK_SENTENCE(rank, "dest 1");
    CHECK(rank, now_ms() - start < 4000, "%lld ms", (long long)(now_ms() - start));
  }
  CHECK_CALL(rank, meet(rank));
}

/* A receiver that comes late lets it go on. */
static void late_receiver(rank_t *rank) {
  static _Thread_local char message[6000];
  for (int i = 0; i < 100; i++) {
    if (rank->number == 0) {
      memset(message, i, sizeof message);
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_send(message, sizeof message, SMDDP_UINT8, 1, 0, rank->world, NULL));
    } else {
      if (i == 0) sleep_ms(100);
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_recv(message, sizeof message, SMDDP_UINT8, 0, 0, rank->world, NULL, NULL));
      CHECK(rank, message[0] == (char)i && message[5999] == (char)i, "message %d holds %d", i, message[0]);
    }
  }
}

/* A rank that does not receive stops nobody's messages to others: ten times the buffer to rank 1, then as much to rank 2. */
static void one_does_not_receive(rank_t *rank) {
  enum { COUNT = 100 };
  static _Thread_local char message[6000];
  static _Thread_local smddp_request_t requests[COUNT];
  for (int i = 0; i < COUNT && rank->number == 0; i++)
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_send_async(message, sizeof message, SMDDP_UINT8, 1, 0, rank->world, NULL, &requests[i]));
  for (int i = 0; i < COUNT; i++) {
    if (rank->number == 0) {
      message[0] = (char)i;
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_send(message, sizeof message, SMDDP_UINT8, 2, 0, rank->world, NULL));
    } else if (rank->number == 2) {
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_recv(message, sizeof message, SMDDP_UINT8, 0, 0, rank->world, NULL, NULL));
      CHECK(rank, message[0] == (char)i, "message %d holds %d", i, message[0]);
    }
  }
  CHECK_CALL(rank, meet(rank));
  for (int i = 0; i < COUNT; i++) {
    if (rank->number == 1) CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_recv(message, sizeof message, SMDDP_UINT8, 0, 0, rank->world, NULL, NULL));
    if (rank->number == 0) {
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_wait(requests[i], 0));
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_free(requests[i]));
    }
  }
}

static void test_full(void **state) {
  (void)state;
  assert_int_equal(setenv("SMDDP_P2P_BUFFER_BYTES", "65536", 1), 0);
  assert_ranks(3, one_does_not_receive, NULL);
  assert_ranks(2, late_receiver, NULL);
  assert_ranks(2, full, NULL);
}

static int clear_environment(void **state) {
  (void)state;
  return unsetenv("SMDDP_P2P_BUFFER_BYTES");
}

/* All pairs at once, small and large, mixed with collectives. */
static void all_pairs(rank_t *rank) {
  enum { COUNT = 20000 };
  static _Thread_local int32_t out[COUNT], in[COUNT];
  for (int round = 0; round < 20; round++) {
    const size_t count = round % 2 ? COUNT : 5;
    for (size_t i = 0; i < count; i++) out[i] = (int32_t)(rank->number * 1000000 + round * 10000 + (int)i);
    for (int dest = 0; dest < rank->size; dest++)
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_send(out, count, SMDDP_INT32, dest, round, rank->world, NULL));
    int one = 1;
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(&one, &one, 1, SMDDP_INT32, SMDDP_SUM, rank->world, NULL));
    CHECK(rank, one == rank->size, "sum %d", one);
    for (int source = rank->size - 1; source >= 0; source--) { /* itself too */
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_recv(in, count, SMDDP_INT32, source, round, rank->world, NULL, NULL));
      for (size_t i = 0; i < count; i++)
        CHECK(rank, in[i] == (int32_t)(source * 1000000 + round * 10000 + (int)i), "round %d from %d, element %zu: %d", round, source, i,
              in[i]);
    }
  }
}

static void test_all_pairs(void **state) {
  (void)state;
  for (int size = 1; size <= 4; size++) assert_ranks(size, all_pairs, NULL);
}

/* A rank that finalized is named. */
static void to_one_who_left(rank_t *rank) {
  int value = 1;
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_barrier(rank->world, NULL));
  if (rank->number == 0) {
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_finalize(rank->world));
    rank->world = NULL;
    return;
  }
  smddp_status_t status = SMDDP_SUCCESS; /* a message may still be buffered before the end is seen */
  for (int waited = 0; waited < 5000 && status == SMDDP_SUCCESS; waited += 10) {
    status = smddp_send(&value, 1, SMDDP_INT32, 0, 0, rank->world, NULL);
    sleep_ms(10);
  }
  CHECK(rank, status == SMDDP_ERR_PEER_GONE, "%s (%s)", smddp_status_string(status), smddp_last_error());
  CHECK_SENTENCE(rank, "rank 0");
}

static void test_peer_gone(void **state) {
  (void)state;
  assert_ranks(2, to_one_who_left, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_errors), cmocka_unit_test(test_exchange), cmocka_unit_test_teardown(test_full, clear_environment),
                                     cmocka_unit_test(test_all_pairs), cmocka_unit_test(test_peer_gone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
