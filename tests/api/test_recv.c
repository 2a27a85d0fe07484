/* smddp_recv(3): arguments, choice by source and tag, order, truncation, deadlines. */
#include "ranks.h"

#include <pthread.h>

static void wrong_receives(rank_t *rank) {
  int value = 1;
  const int p = rank->size;
  smddp_comm_t comm = rank->world;
  smddp_request_t request = (smddp_request_t)(void *)rank;
  const struct {
    const char *what;
    void *buf;
    size_t count;
    int dtype, source, tag;
    smddp_comm_t comm;
    smddp_status_t status;
  } wrong[] = {{"comm", &value, 1, SMDDP_INT32, 0, 0, NULL, SMDDP_ERR_INVALID_ARGUMENT},
               {"buf", NULL, 1, SMDDP_INT32, 0, 0, comm, SMDDP_ERR_INVALID_ARGUMENT},
               {"count", &value, SIZE_MAX, SMDDP_INT32, 0, 0, comm, SMDDP_ERR_INVALID_ARGUMENT},
               {"type", &value, 1, 0, 0, 0, comm, SMDDP_ERR_INVALID_ARGUMENT},
               {"reserved type", &value, 1, SMDDP_FLOAT8_E5M2, 0, 0, comm, SMDDP_ERR_UNSUPPORTED},
               {"source p", &value, 1, SMDDP_INT32, p, 0, comm, SMDDP_ERR_INVALID_ARGUMENT},
               {"source -2", &value, 1, SMDDP_INT32, -2, 0, comm, SMDDP_ERR_INVALID_ARGUMENT},
               {"tag -2", &value, 1, SMDDP_INT32, 0, -2, comm, SMDDP_ERR_INVALID_ARGUMENT}};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    const smddp_dtype_t dtype = (smddp_dtype_t)wrong[i].dtype;
    smddp_status_t status = smddp_recv(wrong[i].buf, wrong[i].count, dtype, wrong[i].source, wrong[i].tag, wrong[i].comm, NULL, NULL);
    CHECK(rank, status == wrong[i].status, "%s: %s (%s)", wrong[i].what, smddp_status_string(status), smddp_last_error());
    status = smddp_recv_async(wrong[i].buf, wrong[i].count, dtype, wrong[i].source, wrong[i].tag, wrong[i].comm, NULL, &request);
    CHECK(rank, status == wrong[i].status, "async, %s: %s (%s)", wrong[i].what, smddp_status_string(status), smddp_last_error());
    CHECK(rank, request == NULL, "%s: the request is not NULL", wrong[i].what);
  }
  smddp_message_t message;
  memset(&message, 0, sizeof message); /* struct_size 0 */
  CHECK_STATUS(rank, SMDDP_ERR_INVALID_ARGUMENT, smddp_recv(&value, 1, SMDDP_INT32, 0, 0, comm, NULL, &message));
  CHECK_STATUS(rank, SMDDP_ERR_INVALID_ARGUMENT, smddp_recv_async(&value, 1, SMDDP_INT32, 0, 0, comm, NULL, NULL));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_barrier(comm, NULL));
}

static void test_errors(void **state) {
  (void)state;
  assert_ranks(1, wrong_receives, NULL);
  assert_ranks(2, wrong_receives, NULL);
}

/* Tags choose, also out of the order of sending; one tag keeps the order; any tag takes the first. */
static void choose_by_tag(rank_t *rank) {
  smddp_message_t message = SMDDP_INIT_STRUCT(message);
  for (int round = 0; round < 50; round++) {
    if (rank->number == 0) {
      for (int i = 0; i < 6; i++) {
        const int value = round * 10 + i; /* tags 1 2 3 1 2 3 */
        CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_send(&value, 1, SMDDP_INT32, 1, 1 + i % 3, rank->world, NULL));
      }
    } else {
      static const int tags[] = {3, 3, 1, SMDDP_ANY_TAG, SMDDP_ANY_TAG, 2}, expected[] = {2, 5, 0, 1, 3, 4}, from_tag[] = {3, 3, 1, 2, 1, 2};
      if (round % 10 == 0) sleep_ms(5);
      for (int i = 0; i < 6; i++) {
        int value = -1;
        CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_recv(&value, 1, SMDDP_INT32, 0, tags[i], rank->world, NULL, &message));
        CHECK(rank, value == round * 10 + expected[i], "receive %d (tag %d) of round %d: %d", i, tags[i], round, value - round * 10);
        CHECK(rank, message.source == 0 && message.tag == from_tag[i] && message.bytes == 4, "source %d, tag %d, %zu bytes",
              message.source, message.tag, message.bytes);
      }
    }
  }
  const int largest = SMDDP_TAG_MAX;
  int value = 5;
  if (rank->number == 0) CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_send(&value, 1, SMDDP_INT32, 1, largest, rank->world, NULL));
  else CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_recv(&value, 1, SMDDP_INT32, 0, largest, rank->world, NULL, NULL));
}

/* Posted before anything was sent: served in the order of posting. */
static void posted_first(rank_t *rank) {
  if (rank->number == 0) {
    int values[4] = {-1, -1, -1, -1};
    smddp_request_t requests[4];
    static const int tags[] = {7, SMDDP_ANY_TAG, 7, SMDDP_ANY_TAG};
    for (int i = 0; i < 4; i++)
      CHECK_STATUS(rank, SMDDP_SUCCESS,
                   smddp_recv_async(&values[i], 1, SMDDP_INT32, i % 2 ? 1 : SMDDP_ANY_SOURCE, tags[i], rank->world, NULL, &requests[i]));
    CHECK_CALL(rank, meet(rank));
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_wait_all(4, requests, 0));
    for (int i = 0; i < 4; i++) {
      CHECK(rank, values[i] == i, "receive %d got message %d", i, values[i]);
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_free(requests[i]));
    }
  } else {
    CHECK_CALL(rank, meet(rank));
    for (int i = 0; i < 4 && rank->number == 1; i++) CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_send(&i, 1, SMDDP_INT32, 0, 7, rank->world, NULL));
  }
}

static void any_source(rank_t *rank) {
  enum { EACH = 200 };
  if (rank->number) {
    for (int i = 0; i < EACH; i++) {
      const int value = rank->number * 1000 + i;
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_send(&value, 1, SMDDP_INT32, 0, i % 5, rank->world, NULL));
    }
    return;
  }
  int next[MAX_RANKS] = {0};
  for (int i = 0; i < EACH * (rank->size - 1); i++) {
    int value = -1;
    smddp_message_t message = SMDDP_INIT_STRUCT(message);
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_recv(&value, 1, SMDDP_INT32, SMDDP_ANY_SOURCE, SMDDP_ANY_TAG, rank->world, NULL, &message));
    CHECK(rank, message.source >= 1 && message.source < rank->size, "source %d", message.source);
    CHECK(rank, value == message.source * 1000 + next[message.source], "from %d: %d, expected number %d", message.source, value,
          next[message.source]);
    CHECK(rank, message.tag == next[message.source]++ % 5, "tag %d", message.tag);
  }
}

static void test_choice(void **state) {
  (void)state;
  assert_ranks(2, choose_by_tag, NULL);
  assert_ranks(2, posted_first, NULL);
  assert_ranks(3, posted_first, NULL);
  for (int size = 2; size <= 4; size++) assert_ranks(size, any_source, NULL);
}

/* Longer than the buffer: the beginning, the whole length, an error, and the next message is whole. Shorter: the rest is unchanged. */
static void lengths(rank_t *rank) {
  enum { COUNT = 50000 };
  static _Thread_local int16_t data[COUNT + 1];
  static const size_t sent[] = {11, COUNT};
  for (int k = 0; k < 2; k++) {
    for (int async = 0; async < 2; async++) {
      const size_t room = sent[k] / 2;
      if (rank->number == 0) {
        for (size_t i = 0; i < sent[k]; i++) data[i] = (int16_t)i;
        CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_send(data, sent[k], SMDDP_INT16, 1, 0, rank->world, NULL));
        CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_send(data, 3, SMDDP_INT16, 1, 0, rank->world, NULL));
        continue;
      }
      smddp_message_t message = SMDDP_INIT_STRUCT(message);
      for (int i = 0; i <= COUNT; i++) data[i] = -9;
      if (async) {
        smddp_request_t request = NULL;
        CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_recv_async(data, room, SMDDP_INT16, 0, 0, rank->world, NULL, &request));
        CHECK_STATUS(rank, SMDDP_ERR_TRUNCATED, smddp_wait(request, 0));
        CHECK(rank, smddp_request_error(request)[0], "no sentence");
        CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_message(request, &message));
        CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_free(request));
      } else {
        CHECK_STATUS(rank, SMDDP_ERR_TRUNCATED, smddp_recv(data, room, SMDDP_INT16, 0, 0, rank->world, NULL, &message));
      }
      CHECK(rank, message.bytes == 2 * sent[k], "length %zu of %zu", message.bytes, 2 * sent[k]);
      for (size_t i = 0; i < room; i++) CHECK(rank, data[i] == (int16_t)i, "element %zu: %d", i, data[i]);
      CHECK(rank, data[room] == -9, "written beyond the buffer");
      CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_recv(data, COUNT, SMDDP_INT16, 0, 0, rank->world, NULL, &message));
      CHECK(rank, message.bytes == 6 && data[2] == 2 && data[3] == (room > 3 ? 3 : -9), "%zu bytes, then %d", message.bytes, data[3]);
    }
  }
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_barrier(rank->world, NULL)); /* not broken */
}

/* Nothing in it, and NULL buffers. */
static void empty(rank_t *rank) {
  smddp_message_t message = SMDDP_INIT_STRUCT(message);
  if (rank->number == 0) {
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_send(NULL, 0, SMDDP_FLOAT64, 1, 4, rank->world, NULL));
  } else {
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_recv(NULL, 0, SMDDP_FLOAT64, 0, 4, rank->world, NULL, &message));
    CHECK(rank, message.bytes == 0 && message.tag == 4 && message.source == 0, "%zu bytes", message.bytes);
  }
}

static void test_lengths(void **state) {
  (void)state;
  assert_ranks(2, lengths, NULL);
  assert_ranks(2, empty, NULL);
}

/* Nobody sends: the deadline of the call, with the rank that was waited for. */
static void in_vain(rank_t *rank) {
  smddp_comm_t comm = NULL;
  smddp_call_options_t options = SMDDP_INIT_STRUCT(options);
  options.timeout_ms = 300;
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_dup(rank->world, NULL, &comm));
  if (rank->number == 0) {
    int value = 0;
    const int64_t start = now_ms();
    CHECK_STATUS(rank, SMDDP_ERR_TIMEOUT, smddp_recv(&value, 1, SMDDP_INT32, 1, 0, comm, &options, NULL));
    const int64_t took = now_ms() - start;
    CHECK(rank, took >= 280 && took < 300 + 500 * TEST_SLOWNESS, "%lld ms instead of 300", (long long)took);
    CHECK_SENTENCE(rank, "source 1");
    CHECK_SENTENCE(rank, "recv");
  }
  CHECK_CALL(rank, meet(rank));
  /* The communicator works on, and the receive that gave up takes no message away. */
  int value = 5;
  if (rank->number == 1) CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_send(&value, 1, SMDDP_INT32, 0, 0, comm, NULL));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_barrier(comm, NULL));
  if (rank->number == 0) CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_recv(&value, 1, SMDDP_INT32, 1, 0, comm, NULL, NULL));
  CHECK(rank, value == 5, "received %d", value);
}

static void from_one_who_left(rank_t *rank) {
  int value = 0;
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_barrier(rank->world, NULL));
  if (rank->number == 0) {
    sleep_ms(30);
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_finalize(rank->world));
    rank->world = NULL;
    return;
  }
  CHECK_STATUS(rank, SMDDP_ERR_PEER_GONE, smddp_recv(&value, 1, SMDDP_INT32, 0, 0, rank->world, NULL, NULL));
  CHECK_SENTENCE(rank, "rank 0");
}

static void test_failures(void **state) {
  (void)state;
  assert_ranks(2, in_vain, NULL);
  assert_ranks(2, from_one_who_left, NULL);
}

/* Four threads of each rank receive on one communicator at the same time, each under its own tag. */
typedef struct receiver {
  rank_t *rank;
  int tag, wrong;
} receiver_t;

static void *receive_many(void *argument) {
  receiver_t *receiver = argument;
  rank_t *rank = receiver->rank;
  const int peer = 1 - rank->number;
  for (int i = 0; i < 200; i++) {
    int out = receiver->tag * 1000 + i, in = -1;
    if (smddp_send(&out, 1, SMDDP_INT32, peer, receiver->tag, rank->world, NULL) != SMDDP_SUCCESS ||
        smddp_recv(&in, 1, SMDDP_INT32, peer, receiver->tag, rank->world, NULL, NULL) != SMDDP_SUCCESS || in != out)
      receiver->wrong++;
  }
  return NULL;
}

static void many_threads(rank_t *rank) {
  pthread_t threads[4];
  receiver_t receivers[4];
  for (int i = 0; i < 4; i++) {
    receivers[i] = (receiver_t){rank, i, 0};
    CHECK(rank, pthread_create(&threads[i], NULL, receive_many, &receivers[i]) == 0, "no thread");
  }
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < 4; i++) CHECK(rank, receivers[i].wrong == 0, "thread %d: %d wrong messages", i, receivers[i].wrong);
}

static void test_threads(void **state) {
  (void)state;
  assert_ranks(2, many_threads, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_errors),   cmocka_unit_test(test_choice),  cmocka_unit_test(test_lengths),
                                     cmocka_unit_test(test_failures), cmocka_unit_test(test_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
