/* Registrations that do not agree between ranks, overlap or repeat: they are local, so nobody waits for anybody. */
#include "support/rank.h"

int main(void) {
  static float x[4096], out[4096];
  join_job();
  smddp_registration_t first = NULL, second = NULL, part = NULL;
  REQUIRE(smddp_register(world, x, sizeof x, &first));
  REQUIRE(smddp_barrier(world, NULL));
  if (rank == 0) REQUIRE(smddp_deregister(world, first));
  const double begin = seconds();
  REQUIRE(smddp_register(world, x, sizeof x, &second));
  REQUIRE(smddp_register(world, x + 100, sizeof x / 2, &part));
  for (int i = 0; i < 4096; i++) x[i] = 1;
  REQUIRE(smddp_allreduce(x, out, 4096, SMDDP_FLOAT32, SMDDP_SUM, world, NULL));
  EXPECT(out[0] == (float)size && out[4095] == (float)size, "%g and %g", (double)out[0], (double)out[4095]);
  REQUIRE(smddp_deregister(world, second));
  REQUIRE(smddp_deregister(world, NULL));
  EXPECT_STATUS(SMDDP_ERR_INVALID_ARGUMENT, smddp_deregister(world, second)); /* once each */
  if (rank == 0) EXPECT_STATUS(SMDDP_ERR_INVALID_ARGUMENT, smddp_deregister(world, first));
  else REQUIRE(smddp_deregister(world, first));
  REQUIRE(smddp_allreduce(x, out, 4096, SMDDP_FLOAT32, SMDDP_SUM, world, NULL)); /* part is still registered */
  EXPECT(seconds() - begin < 5, "it took %.1f s", seconds() - begin);
  REQUIRE(smddp_deregister(world, part));
  REQUIRE(smddp_finalize(world));
  return 0;
}
