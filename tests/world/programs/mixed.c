/* Mixed traffic until a rank dies: every collective, messages, splits; 4 B to 4 MiB; blocking and asynchronous; private and shared memory;
 * on the world and on groups of it. argv[1]: seed, the same on all ranks.
 * Says "ready", and after the first failure "failed TIME STATUS MEMBERS SENTENCE", then what a barrier on the world gives,
 * "world TIME STATUS SENTENCE", then "finalized TIME", and ends with status 3. */
#include "calls.h"
#include "support/rank.h"

enum { GROUPS = 4, OUTSTANDING = 4, BYTES = 4 << 20 };

typedef struct group {
  smddp_comm_t comm;
  int rank, size;
  char members[32];
} group_t;

typedef struct pending {
  smddp_request_t request;
  const group_t *group;
} pending_t;

static group_t groups[GROUPS];
static pending_t pending[OUTSTANDING];
static void *memory[OUTSTANDING + 1][2];

_Noreturn static void give_up(const group_t *group, smddp_status_t status, const char *sentence) {
  say("failed %.6f %s %s %s", seconds(), smddp_status_string(status), group->members, sentence);
  const smddp_status_t after = smddp_barrier(world, NULL);
  say("world %.6f %s %s", seconds(), smddp_status_string(after), smddp_last_error());
  REQUIRE(smddp_finalize(world));
  say("finalized %.6f", seconds());
  /* Whatever was outstanding has ended too. */
  for (int i = 0; i < OUTSTANDING; i++) {
    int done = 0;
    if (!pending[i].request) continue;
    smddp_test(pending[i].request, &done);
    EXPECT(done, "request on {%s} is outstanding after smddp_finalize", pending[i].group->members);
    smddp_request_free(pending[i].request);
  }
  exit(3);
}

static void check(const group_t *group, smddp_status_t status) {
  if (status != SMDDP_SUCCESS) give_up(group, status, smddp_last_error());
}

static void make_group(group_t *group, int color) {
  check(&groups[0], smddp_comm_split(world, color, 0, NULL, &group->comm));
  REQUIRE(smddp_comm_rank(group->comm, &group->rank));
  REQUIRE(smddp_comm_size(group->comm, &group->size));
}

static void complete(pending_t *p) {
  if (!p->request) return;
  const smddp_status_t status = smddp_wait(p->request, 0);
  if (status != SMDDP_SUCCESS) give_up(p->group, status, smddp_request_error(p->request));
  smddp_request_free(p->request);
  p->request = NULL;
}

static void collective(uint64_t *seed) {
  const group_t *group = &groups[random_below(seed, GROUPS)];
  call_t call = {(collective_t)random_below(seed, 9), NULL, NULL, 0, SMDDP_FLOAT32, SMDDP_SUM, 0};
  const uint32_t bytes = 4u << random_below(seed, 21);
  const bool async = random_below(seed, 2);
  const int root = (int)random_below(seed, 4);
  const int slot = async ? (int)random_below(seed, OUTSTANDING) : OUTSTANDING;
  int blocks = send_blocks(call.collective, group->size);
  if (blocks < recv_blocks(call.collective, group->size)) blocks = recv_blocks(call.collective, group->size);
  call.root = root % group->size;
  call.count = bytes / 4 / (uint32_t)blocks;
  if (async) complete(&pending[slot]);
  call.sendbuf = memory[slot][0];
  call.recvbuf = memory[slot][1];
  if (!async) {
    check(group, call_blocking(&call, group->comm, NULL));
    return;
  }
  pending[slot].group = group;
  check(group, call_async(&call, group->comm, NULL, &pending[slot].request));
}

static void message(uint64_t *seed) {
  const size_t count = 1u << random_below(seed, 18);
  smddp_request_t request = NULL;
  check(&groups[0], smddp_recv_async(memory[OUTSTANDING][1], count, SMDDP_FLOAT32, (rank + size - 1) % size, 7, world, NULL, &request));
  const smddp_status_t sent = smddp_send(memory[OUTSTANDING][0], count, SMDDP_FLOAT32, (rank + 1) % size, 7, world, NULL);
  const smddp_status_t received = smddp_wait(request, 0);
  if (received != SMDDP_SUCCESS) give_up(&groups[0], received, smddp_request_error(request));
  smddp_request_free(request);
  check(&groups[0], sent);
}

static void split(void) {
  group_t group = groups[0];
  make_group(&group, rank % 3);
  REQUIRE(smddp_comm_free(group.comm));
}

int main(int argc, char **argv) {
  uint64_t seed = (uint64_t)argument(argc, argv, 1, 1) * 7919;
  join_job();
  for (int i = 0; i <= OUTSTANDING; i++) {
    for (int k = 0; k < 2; k++) {
      if (i % 2) memory[i][k] = zeroed(BYTES);
      else REQUIRE(smddp_alloc(world, BYTES, &memory[i][k]));
    }
  }
  groups[0] = (group_t){world, rank, size, "0,1,2,3"};
  snprintf(groups[1].members, sizeof groups[1].members, "%s", rank / 2 ? "2,3" : "0,1");
  snprintf(groups[2].members, sizeof groups[2].members, "%s", rank % 2 ? "1,3" : "0,2");
  snprintf(groups[3].members, sizeof groups[3].members, "%s", rank == 0 ? "0" : "1,2,3");
  make_group(&groups[1], rank / 2);
  make_group(&groups[2], rank % 2);
  make_group(&groups[3], rank != 0);
  check(&groups[0], smddp_barrier(world, NULL));
  say("ready");
  for (;;) {
    const uint32_t kind = random_below(&seed, 20);
    if (kind == 0) split();
    else if (kind <= 2) message(&seed);
    else collective(&seed);
  }
}
