/* SMDDP before, within and after the time of an MPI library in one process. Prints "ok" on each rank. */
#include <mpi.h>
#include <smddp/smddp.h>
#include <stdio.h>
#include <stdlib.h>

/* Twice, as a job that starts again would. */
static void sum_by_smddp(void) {
  for (int round = 0; round < 2; round++) {
    smddp_comm_t world;
    int rank, size;
    if (smddp_init(NULL, &world) || smddp_comm_rank(world, &rank) || smddp_comm_size(world, &size)) goto failed;
    float value = (float)rank, sum;
    if (smddp_allreduce(&value, &sum, 1, SMDDP_FLOAT32, SMDDP_SUM, world, NULL) || smddp_finalize(world)) goto failed;
    if (sum != (float)(size * (size - 1) / 2)) exit(3);
  }
  return;
failed:
  fprintf(stderr, "%s\n", smddp_last_error());
  exit(2);
}

int main(void) {
  int rank, size, sum;
  sum_by_smddp();
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  sum_by_smddp();
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (sum != size * (size - 1) / 2) return 4;
  MPI_Finalize();
  puts("ok");
  return 0;
}
