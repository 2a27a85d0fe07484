/* Rank 0 can start no thread once it has joined: an asynchronous operation is posted all the same and ends in the call that waits for it. */
#include "support/rank.h"

#include <pthread.h>
#include <sys/resource.h>

enum { COUNT = 1 << 20 };

static void *stay(void *arg) {
  (void)arg;
  sleep_seconds(300);
  return NULL;
}

int main(void) {
  join_job();
  int32_t *in = zeroed(COUNT * sizeof *in), *out = zeroed(COUNT * sizeof *out);
  in[0] = in[COUNT - 1] = rank + 1;
  if (rank == 0) { /* the stacks that the C library keeps for new threads are used up first */
    const struct rlimit none = {1 << 20, 1 << 20};
    pthread_t thread;
    EXPECT(setrlimit(RLIMIT_DATA, &none) == 0, "setrlimit");
    while (pthread_create(&thread, NULL, stay, NULL) == 0) continue;
  } else {
    sleep_seconds(0.5);
  }
  for (int i = 0; i < 3; i++) {
    smddp_request_t request;
    REQUIRE(smddp_allreduce_async(in, out, COUNT, SMDDP_INT32, SMDDP_SUM, world, NULL, &request));
    REQUIRE(smddp_wait(request, 20000));
    REQUIRE(smddp_request_free(request));
    EXPECT(out[0] == size * (size + 1) / 2 && out[COUNT - 1] == out[0], "%d", out[0]);
  }
  REQUIRE(smddp_barrier(world, NULL));
  REQUIRE(smddp_finalize(world));
  return 0;
}
