/* smddp_comm_counter(3): each counter counts what the page says. */
#include "ranks.h"

#include <stdlib.h>

static const char *const names[] = {"fast_path", "eager", "two_copy", "zero_copy", "bytes", "wire_messages_sent", "wire_messages_received",
                                    "wire_bytes_sent", "wire_bytes_received", "engine_operations", "sleeps", "yields", "doorbell_rings",
                                    "progress_wakeups", "wire_sleeps", "wire_naps", "wire_eager", "wire_rendezvous", "wire_puts",
                                    "wire_packets", "rail0_bytes", "rail1_bytes", "rail2_bytes", "rail3_bytes", "lost_rails"};

static void test_names(void **state) {
  (void)state;
  smddp_comm_t world = single_rank();
  uint64_t value = 77;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    assert_status(SMDDP_SUCCESS, smddp_comm_counter(world, names[i], &value));
  value = 77;
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_counter(world, "no_such", &value));
  assert_non_null(strstr(smddp_last_error(), "no_such"));
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (!strstr(smddp_last_error(), names[i])) fail_msg("the sentence does not list %s: '%s'", names[i], smddp_last_error());
  assert_non_null(strstr(smddp_last_error(), "COLLECTIVE:ALGORITHM"));
  assert_status(SMDDP_SUCCESS, smddp_comm_counter(world, "allreduce:ring", &value));
  assert_int_equal(value, 0);
  value = 77;
  static const char *const wrong[] = {"allreduce:rung", "ring", "allreduce:", "", "Bytes"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_counter(world, wrong[i], &value));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_counter(NULL, "bytes", &value));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_counter(world, NULL, &value));
  assert_status(SMDDP_ERR_INVALID_ARGUMENT, smddp_comm_counter(world, "bytes", NULL));
  assert_int_equal(value, 77);
  assert_status(SMDDP_SUCCESS, smddp_finalize(world));
}

static uint64_t count(rank_t *rank, const char *name) {
  uint64_t value = 0;
  if (smddp_comm_counter(rank->world, name, &value) != SMDDP_SUCCESS) set_fault(rank, __FILE__, __LINE__, "%s", smddp_last_error());
  return value;
}

static void paths(rank_t *rank) {
  enum { LARGE = 1 << 20 };
  float *memory = calloc(LARGE, sizeof *memory), *shared = NULL;
  float small = 1;
  uint64_t before = count(rank, "fast_path") + count(rank, "engine_operations"), bytes = count(rank, "bytes");
  for (int i = 0; i < 10; i++)
    CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(&small, &small, 1, SMDDP_FLOAT32, SMDDP_SUM, rank->world, NULL));
  /* A call that waits long for a peer goes on in the engine. */
  CHECK(rank, count(rank, "fast_path") + count(rank, "engine_operations") >= before + 10, "10 small calls, fast_path and engine_operations %llu to %llu",
        (unsigned long long)before, (unsigned long long)(count(rank, "fast_path") + count(rank, "engine_operations")));
  CHECK(rank, count(rank, "bytes") >= bytes + 40, "40 bytes, counted %llu", (unsigned long long)(count(rank, "bytes") - bytes));

  before = count(rank, "eager");
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(memory, memory, 1000, SMDDP_FLOAT32, SMDDP_SUM, rank->world, NULL));
  CHECK(rank, count(rank, "eager") > before, "4000 bytes did not travel with the flag");

  before = count(rank, "two_copy");
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(memory, memory, LARGE, SMDDP_FLOAT32, SMDDP_SUM, rank->world, NULL));
  CHECK(rank, count(rank, "two_copy") > before, "4 MiB of private memory did not go by two copies");

  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_alloc(rank->world, LARGE * sizeof(float), (void **)&shared));
  before = count(rank, "zero_copy");
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(shared, shared, LARGE, SMDDP_FLOAT32, SMDDP_SUM, rank->world, NULL));
  CHECK(rank, count(rank, "zero_copy") > before, "4 MiB of smddp_alloc were copied");
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_free(shared));

  smddp_request_t request = NULL;
  before = count(rank, "engine_operations");
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce_async(memory, memory, 1000, SMDDP_FLOAT32, SMDDP_SUM, rank->world, NULL, &request));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_wait(request, 0));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_request_free(request));
  CHECK(rank, count(rank, "engine_operations") > before, "an asynchronous operation was not counted");
  free(memory);

  /* A long wait ends in sleep, and the late rank rings. */
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_barrier(rank->world, NULL));
  const uint64_t sleeps = count(rank, "sleeps"), rings = count(rank, "doorbell_rings");
  CHECK_CALL(rank, meet(rank));
  if (rank->number == 1) sleep_ms(300);
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_barrier(rank->world, NULL));
  if (rank->number == 0) CHECK(rank, count(rank, "sleeps") > sleeps, "a wait of 300 ms did not sleep");
  if (rank->number == 1) CHECK(rank, count(rank, "doorbell_rings") > rings, "a sleeper was not woken by the late rank");
}

/* What was moved counts for its communicator alone, and without a network nothing goes over one. */
static void each_communicator(rank_t *rank) {
  smddp_comm_t copy = NULL;
  uint64_t value = 77;
  float one = 1;
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_dup(rank->world, NULL, &copy));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_counter(copy, "bytes", &value));
  CHECK(rank, value == 0, "a new communicator has moved %llu bytes", (unsigned long long)value);
  const uint64_t before = count(rank, "bytes");
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_allreduce(&one, &one, 1, SMDDP_FLOAT32, SMDDP_SUM, copy, NULL));
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_counter(copy, "bytes", &value));
  CHECK(rank, value == 4, "an allreduce of 4 bytes counted as %llu", (unsigned long long)value);
  CHECK(rank, count(rank, "bytes") == before, "the world counts what its copy moves");
  CHECK(rank, count(rank, "wire_messages_sent") + count(rank, "wire_bytes_received") + count(rank, "wire_packets") == 0, "a network is counted");
  CHECK_STATUS(rank, SMDDP_SUCCESS, smddp_comm_free(copy));
}

static void test_each_communicator(void **state) {
  (void)state;
  assert_ranks(2, each_communicator, NULL);
}

static void test_paths(void **state) {
  (void)state;
  assert_ranks(2, paths, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_each_communicator), cmocka_unit_test(test_paths)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
