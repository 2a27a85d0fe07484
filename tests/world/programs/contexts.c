/* A process that joins, adds up, makes a communicator and a registration, and leaves, again and again: descriptors, threads and memory stay
 * what they were after the first ones. argv[1]: cycles; argv[2]: KiB by which resident memory may grow (0: not looked at). */
#include "support/rank.h"

enum { COUNT = 100000, FIRST = 5 };

static float in[COUNT], out[COUNT];

static void cycle(bool shared) {
  join_job();
  smddp_comm_t comm = NULL;
  smddp_registration_t registration = NULL;
  void *memory = NULL;
  REQUIRE(smddp_comm_dup(world, NULL, &comm));
  REQUIRE(smddp_register(world, in, sizeof in, &registration));
  REQUIRE(smddp_alloc(world, sizeof out, &memory));
  memset(memory, 0x5a, sizeof out);
  REQUIRE(smddp_free(memory));
  REQUIRE(smddp_alloc(world, sizeof out, &memory)); /* the same block, zeroed again */
  for (int i = 0; i < COUNT; i++) EXPECT(((float *)memory)[i] == 0, "[%d] of new memory is %g", i, (double)((float *)memory)[i]);
  for (int i = 0; i < COUNT; i++) in[i] = (float)(rank + 1);
  float *result = shared ? memory : out;
  smddp_request_t request;
  REQUIRE(smddp_allreduce_async(in, result, COUNT, SMDDP_FLOAT32, SMDDP_SUM, comm, NULL, &request));
  REQUIRE(smddp_wait(request, 0));
  REQUIRE(smddp_request_free(request));
  for (int i = 0; i < COUNT; i++) EXPECT(result[i] == (float)(size * (size + 1) / 2), "[%d] is %g", i, (double)result[i]);
  REQUIRE(smddp_free(memory));
  if (shared) REQUIRE(smddp_deregister(world, registration)); /* or smddp_finalize does */
  if (shared) REQUIRE(smddp_comm_free(comm));
  REQUIRE(smddp_barrier(world, NULL));
  REQUIRE(smddp_finalize(world));
}

int main(int argc, char **argv) {
  const long cycles = argument(argc, argv, 1, 20), limit_kib = argument(argc, argv, 2, 1024);
  for (long i = 0; i < FIRST; i++) cycle(i % 2);
  const int descriptors = entries_of("/proc/self/fd"), threads = entries_of("/proc/self/task");
  const long resident = status_kib("VmRSS");
  for (long i = 0; i < cycles; i++) cycle(i % 2);
  EXPECT(entries_of("/proc/self/fd") == descriptors, "%d descriptors, %d before", entries_of("/proc/self/fd"), descriptors);
  EXPECT(entries_of("/proc/self/task") == threads, "%d threads, %d before", entries_of("/proc/self/task"), threads);
  if (limit_kib) EXPECT(status_kib("VmRSS") <= resident + limit_kib, "%ld KiB resident, %ld before", status_kib("VmRSS"), resident);
  return 0;
}
