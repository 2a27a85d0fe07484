/* Communicators until there is no room: argv[1] is how many are made and kept. Every one is made on all ranks or refused on all ranks with
 * SMDDP_ERR_RESOURCE at the same call, and the earlier ones go on working. Then as many are made, used and freed, in an order that differs
 * by rank. */
#include "support/rank.h"

static void use(smddp_comm_t comm) {
  int32_t one = 1, sum = 0;
  REQUIRE(smddp_allreduce(&one, &sum, 1, SMDDP_INT32, SMDDP_SUM, comm, NULL));
  EXPECT(sum == size, "the sum of ones is %d", sum);
}

static void keep(long count) {
  smddp_comm_t *comms = zeroed((size_t)count * sizeof *comms);
  long made = 0;
  smddp_status_t status = SMDDP_SUCCESS;
  for (; made < count && status == SMDDP_SUCCESS; made += status == SMDDP_SUCCESS) {
    status = smddp_comm_split(world, 0, 0, NULL, &comms[made]);
  }
  EXPECT(status == SMDDP_SUCCESS || status == SMDDP_ERR_RESOURCE, "split %ld: %s (%s)", made, smddp_status_string(status), smddp_last_error());
  EXPECT(made > 100, "split %ld: %s", made, smddp_last_error());
  int64_t mine = made, lowest, highest;
  REQUIRE(smddp_allreduce(&mine, &lowest, 1, SMDDP_INT64, SMDDP_MIN, world, NULL));
  REQUIRE(smddp_allreduce(&mine, &highest, 1, SMDDP_INT64, SMDDP_MAX, world, NULL));
  EXPECT(lowest == highest, "%lld communicators on one rank, %lld on another", (long long)lowest, (long long)highest);
  for (long i = 0; i < made; i += made / 50) use(comms[i]);
  use(comms[made - 1]);
  for (long i = 0; i < made; i++) REQUIRE(smddp_comm_free(comms[rank % 2 ? i : made - 1 - i]));
  free(comms);
  if (rank == 0) say("kept %ld", made);
}

static void churn(long count) {
  enum { HELD = 7 };
  smddp_comm_t held[HELD] = {NULL};
  for (long i = 0; i < count; i++) {
    const int slot = (int)(i * (rank + 1) % HELD);
    if (held[slot]) REQUIRE(smddp_comm_free(held[slot]));
    REQUIRE(smddp_comm_split(world, 0, (int)(i % 3) * rank, NULL, &held[slot]));
    use(held[slot]);
  }
  for (int i = 0; i < HELD; i++) {
    if (held[i]) REQUIRE(smddp_comm_free(held[i]));
  }
}

static void no_color(void) {
  static const int colors[4] = {0, SMDDP_COLOR_NONE, 0, 1}, keys[4] = {5, 0, 1, 0};
  smddp_comm_t comm = NULL;
  REQUIRE(smddp_comm_split(world, colors[rank], keys[rank], NULL, &comm));
  EXPECT((comm == NULL) == (rank == 1), "rank 1 alone gets no communicator");
  if (rank == 1) {
    EXPECT_STATUS(SMDDP_ERR_INVALID_ARGUMENT, smddp_barrier(comm, NULL));
  } else {
    int number, members;
    REQUIRE(smddp_comm_rank(comm, &number));
    REQUIRE(smddp_comm_size(comm, &members));
    EXPECT(members == (rank == 3 ? 1 : 2) && number == (rank == 0), "rank %d of %d", number, members);
    int32_t mine = rank, sum = -1;
    REQUIRE(smddp_allreduce(&mine, &sum, 1, SMDDP_INT32, SMDDP_SUM, comm, NULL));
    EXPECT(sum == (rank == 3 ? 3 : 2), "sum of ranks %d", sum);
    REQUIRE(smddp_comm_free(comm));
  }
  comm = world;
  REQUIRE(smddp_comm_split(world, SMDDP_COLOR_NONE, 0, NULL, &comm));
  EXPECT(comm == NULL, "no rank has a colour, yet there is a communicator");
}

int main(int argc, char **argv) {
  const long count = argument(argc, argv, 1, 500);
  join_job();
  keep(count);
  churn(count);
  if (size == 4) no_color();
  REQUIRE(smddp_barrier(world, NULL));
  REQUIRE(smddp_finalize(world));
  return 0;
}
