/* An exchange of everybody with everybody; rank 0 says how many descriptors it has, and its limit. argv[1]: how many more the program itself has
 * opened before. */
#include "support/rank.h"

#include <sys/resource.h>
#include <unistd.h>

int main(int argc, char **argv) {
  for (long i = argument(argc, argv, 1, 0); i > 0; i--) EXPECT(dup(0) >= 0, "no descriptor");
  join_job();
  int32_t *in = zeroed((size_t)size * 4), *out = zeroed((size_t)size * 4);
  for (int r = 0; r < size; r++) in[r] = rank * 1000 + r;
  REQUIRE(smddp_alltoall(in, out, 1, SMDDP_INT32, world, NULL));
  for (int r = 0; r < size; r++) EXPECT(out[r] == r * 1000 + rank, "[%d] is %d", r, out[r]);
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  if (rank == 0) say("descriptors %d limit %llu", entries_of("/proc/self/fd") - 3, (unsigned long long)limit.rlim_cur);
  REQUIRE(smddp_finalize(world));
  return 0;
}
