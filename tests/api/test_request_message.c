/* smddp_request_message(3) */
#include "ranks.h"

static void messages(rank_t *rank) {
  smddp_message_t message = SMDDP_INIT_STRUCT(message);
  const int peer = (rank->number + 1) % rank->size, left = (rank->number + rank->size - 1) % rank->size;
  int16_t in[10];
  smddp_request_t request = NULL, barrier = NULL;
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_recv_async(in, 10, SMDDP_INT16, SMDDP_ANY_SOURCE, SMDDP_ANY_TAG, rank->world, NULL, &request));
  CHECK_CALL(rank, meet(rank));
  message.source = 77;
  CHECK_STATUS(rank, SMDDP_ERR_INVALID_USAGE, smddp_request_message(request, &message)); /* before completion */
  CHECK(rank, message.source == 77, "the message changed");
  CHECK_CALL(rank, meet(rank));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_send("abcdef", 3, SMDDP_INT16, peer, 40 + rank->number, rank->world, NULL));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_wait(request, 0));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_message(request, &message));
  CHECK(rank, message.source == left && message.tag == 40 + left && message.bytes == 6, "source %d, tag %d, %zu bytes", message.source,
        message.tag, message.bytes);
  CHECK_STATUS(rank, SMDDP_ERR_INVALID_ARGUMENT, smddp_request_message(request, NULL));
  message.struct_size = 0;
  CHECK_STATUS(rank, SMDDP_ERR_INVALID_ARGUMENT, smddp_request_message(request, &message));
  message.struct_size = sizeof message;
  CHECK_STATUS(rank, SMDDP_ERR_INVALID_ARGUMENT, smddp_request_message(NULL, &message));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_barrier_async(rank->world, NULL, &barrier));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_wait(barrier, 0));
  CHECK_STATUS(rank, SMDDP_ERR_INVALID_USAGE, smddp_request_message(barrier, &message)); /* no receive */
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_free(barrier));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_free(request));
  CHECK_STATUS(rank, SMDDP_ERR_INVALID_ARGUMENT, smddp_request_message(request, &message));
}

static void test_messages(void **state) {
  (void)state;
  for (int size = 1; size <= 3; size++) assert_ranks(size, messages, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_messages)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
