/* Algorithms by the option of a call, on ranks of several nodes: the one that is named runs, another one is counted nowhere, wrong names are
 * refused before anything is sent, and a communicator inside a node takes a name without effect. argv[1] = "differ": then the last rank
 * names another one than the rest, which is an error on all. */
#include "support/rank.h"

enum { COUNT = 3000 };

static float in[COUNT], out[COUNT];

static smddp_status_t sum_by(smddp_comm_t comm, const char *algorithm) {
  smddp_call_options_t options = SMDDP_INIT_STRUCT(options);
  options.algorithm = algorithm;
  return smddp_allreduce(in, out, COUNT, SMDDP_FLOAT32, SMDDP_SUM, comm, &options);
}

static uint64_t counter(smddp_comm_t comm, const char *name) {
  uint64_t value = 0;
  REQUIRE(smddp_comm_counter(comm, name, &value));
  return value;
}

static void each_name(void) {
  static const char *const names[] = {"sharded", "hierarchical", "hierarchical_one_hop", "one_hop", "ring", "recursive_doubling", "halving_doubling"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char name[64];
    snprintf(name, sizeof name, "allreduce:%s", names[i]);
    const uint64_t before = counter(world, name), messages = counter(world, "wire_messages_sent"), bytes = counter(world, "wire_bytes_received");
    memset(out, 0, sizeof out);
    REQUIRE(sum_by(world, names[i]));
    for (int k = 0; k < COUNT; k++)
      EXPECT(out[k] == (float)(size * k + size * (size - 1) / 2), "%s: [%d] is %g", names[i], k, (double)out[k]);
    EXPECT(counter(world, name) == before + 1, "%s was counted %llu times", name, (unsigned long long)(counter(world, name) - before));
    EXPECT(counter(world, "wire_messages_sent") > messages && counter(world, "wire_bytes_received") > bytes, "%s: nothing went over the wire", name);
  }
}

static void wrong_names(void) {
  const uint64_t messages = counter(world, "wire_messages_sent");
  EXPECT_STATUS(SMDDP_ERR_INVALID_ARGUMENT, sum_by(world, "rung"));
  EXPECT_SAYS("smddp_allreduce: options->algorithm: allreduce has no algorithm 'rung'; it has sharded, hierarchical");
  if (size == 3) {
    smddp_call_options_t options = SMDDP_INIT_STRUCT(options);
    options.algorithm = "recursive_halving";
    EXPECT_STATUS(SMDDP_ERR_INVALID_ARGUMENT, smddp_reduce_scatter(in, out, 10, SMDDP_FLOAT32, SMDDP_SUM, world, &options));
    EXPECT_SAYS("reduce_scatter by recursive_halving is not for 3 ranks");
  }
  EXPECT(counter(world, "wire_messages_sent") == messages, "something was sent");
  REQUIRE(smddp_comm_status(world));
}

/* Ranks of one node among themselves; and each communicator counts for itself. */
static void inside_a_node(void) {
  int local = 0;
  smddp_comm_t node = NULL, copy = NULL;
  REQUIRE(smddp_comm_local_size(world, &local));
  int color = rank;
  for (int peer = size - 1; peer >= 0; peer--) {
    const char *transport = NULL;
    REQUIRE(smddp_comm_transport(world, peer, &transport));
    if (strcmp(transport, "self") == 0 || strcmp(transport, "shared memory") == 0) color = peer;
  }
  REQUIRE(smddp_comm_split(world, color, 0, NULL, &node));
  REQUIRE(sum_by(node, "ring"));
  EXPECT(out[1] - out[0] == (float)local, "a sum over %d ranks grows by %g", local, (double)(out[1] - out[0]));
  EXPECT(counter(node, "allreduce:ring") == 0 && counter(node, "wire_messages_sent") == 0, "a ring ran inside a node");
  EXPECT_STATUS(SMDDP_ERR_INVALID_ARGUMENT, sum_by(node, "rung"));
  REQUIRE(smddp_comm_free(node));
  REQUIRE(smddp_comm_dup(world, NULL, &copy));
  EXPECT(counter(copy, "wire_messages_sent") == 0 && counter(copy, "wire_bytes_received") == 0, "a new communicator has a past");
  REQUIRE(smddp_comm_free(copy));
}

int main(int argc, char **argv) {
  join_job();
  for (int k = 0; k < COUNT; k++) in[k] = (float)(k + rank);
  if (argc > 1 && strcmp(argv[1], "differ") == 0) {
    const smddp_status_t status = sum_by(world, rank == size - 1 ? "ring" : "sharded");
    EXPECT(status == SMDDP_ERR_MISMATCH, "%s (%s)", smddp_status_string(status), smddp_last_error());
    EXPECT_SAYS("sharded");
    EXPECT_SAYS("ring");
    say("differs");
    smddp_finalize(world);
    return 0;
  }
  each_name();
  wrong_names();
  inside_a_node();
  REQUIRE(smddp_finalize(world));
  return 0;
}
