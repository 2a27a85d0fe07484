/* Children that inherit a rank: some end at once, some by exit(), one writes into shared and registered memory, one calls the library and is
 * refused. The rank itself goes on undisturbed. argv[1]: collectives before and after. */
#include "support/rank.h"

#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 1 << 18, CHILDREN = 4 };

static float *in, *out;
static smddp_registration_t registration;

static void add_up(long i) {
  const size_t count = i % 3 ? COUNT : 1;
  for (size_t k = 0; k < count; k++) in[k] = (float)(i + rank);
  REQUIRE(smddp_allreduce(in, out, count, SMDDP_FLOAT32, SMDDP_SUM, world, NULL));
  const float right = (float)(i * size + size * (size - 1) / 2);
  for (size_t k = 0; k < count; k++) EXPECT(out[k] == right, "round %ld: [%zu] is %g, not %g", i, k, (double)out[k], (double)right);
}

static void refused(void) {
  smddp_request_t request = NULL;
  void *memory = NULL;
  smddp_comm_t comm = NULL;
  EXPECT_STATUS(SMDDP_ERR_INVALID_USAGE, smddp_allreduce(in, out, 1, SMDDP_FLOAT32, SMDDP_SUM, world, NULL));
  EXPECT_SAYS("forked");
  EXPECT_STATUS(SMDDP_ERR_INVALID_USAGE, smddp_barrier_async(world, NULL, &request));
  EXPECT_STATUS(SMDDP_ERR_INVALID_USAGE, smddp_comm_dup(world, NULL, &comm));
  EXPECT_STATUS(SMDDP_ERR_INVALID_USAGE, smddp_alloc(world, 100, &memory));
  EXPECT_STATUS(SMDDP_ERR_INVALID_USAGE, smddp_send(in, 1, SMDDP_FLOAT32, 0, 0, world, NULL));
  EXPECT_STATUS(SMDDP_ERR_INVALID_USAGE, smddp_comm_status(world));
}

static void child(int number) {
  switch (number) {
    case 0: _exit(0);
    case 1: exit(0);
    case 2: memset(out, 0x55, 64); _exit(0); /* private memory: copied on write */
    default: refused(); exit(0);
  }
}

int main(int argc, char **argv) {
  const long rounds = argument(argc, argv, 1, 100);
  join_job();
  in = zeroed(COUNT * sizeof *in);
  out = zeroed(COUNT * sizeof *out);
  REQUIRE(smddp_register(world, out, COUNT * sizeof *out, &registration));
  add_up(0);
  add_up(1);
  smddp_request_t pending;
  REQUIRE(smddp_recv_async(NULL, 0, SMDDP_INT8, SMDDP_ANY_SOURCE, 1, world, NULL, &pending)); /* so that there is a progress thread */
  pid_t children[CHILDREN];
  for (int i = 0; i < CHILDREN; i++) {
    children[i] = fork();
    EXPECT(children[i] >= 0, "no child");
    if (children[i] == 0) child(i);
    add_up(i);
  }
  for (int i = 0; i < CHILDREN; i++) {
    int status = -1;
    EXPECT(waitpid(children[i], &status, 0) == children[i] && status == 0, "child %d ended with %x", i, (unsigned)status);
  }
  for (long i = 0; i < rounds; i++) add_up(i);
  REQUIRE(smddp_send(NULL, 0, SMDDP_INT8, (rank + 1) % size, 1, world, NULL));
  REQUIRE(smddp_wait(pending, 0));
  REQUIRE(smddp_request_free(pending));
  REQUIRE(smddp_deregister(world, registration));
  REQUIRE(smddp_barrier(world, NULL));
  REQUIRE(smddp_finalize(world));
  return 0;
}
