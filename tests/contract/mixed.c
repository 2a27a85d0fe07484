/* A program that has the library inside and exports its symbols loads libsmddp.so beside it: both copies work, each with its own state,
 * and a call of one copy on the other's communicator is right or refused. Argument: the shared library. */
#include <smddp/smddp.h>

#include <dlfcn.h>
#include <stdio.h>

static int fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 2) return fail("usage", "mixed LIBRARY");
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  if (!library) return fail("dlopen", dlerror());
  __typeof__(&smddp_init) init = (__typeof__(&smddp_init))dlsym(library, "smddp_init");
  __typeof__(&smddp_allreduce) allreduce = (__typeof__(&smddp_allreduce))dlsym(library, "smddp_allreduce");
  __typeof__(&smddp_finalize) finalize = (__typeof__(&smddp_finalize))dlsym(library, "smddp_finalize");
  __typeof__(&smddp_last_error) last_error = (__typeof__(&smddp_last_error))dlsym(library, "smddp_last_error");
  if (!init || !allreduce || !finalize || !last_error) return fail("dlsym", dlerror());
  if (init == smddp_init) return fail("dlsym", "both copies are one");

  smddp_comm_t inside, outside;
  int value = 5;
  if (smddp_init(NULL, &inside)) return fail("smddp_init inside", smddp_last_error());
  if (init(NULL, &outside)) return fail("smddp_init outside", last_error());
  for (int round = 0; round < 100; round++) {
    if (smddp_allreduce(&value, &value, 1, SMDDP_INT32, SMDDP_SUM, inside, NULL)) return fail("inside", smddp_last_error());
    if (allreduce(&value, &value, 1, SMDDP_INT32, SMDDP_SUM, outside, NULL)) return fail("outside", last_error());
  }
  if (value != 5) return fail("allreduce", "wrong sum");
  smddp_status_t status = allreduce(&value, &value, 1, SMDDP_INT32, SMDDP_SUM, inside, NULL);
  if (status != SMDDP_SUCCESS && status != SMDDP_ERR_INVALID_ARGUMENT && status != SMDDP_ERR_INVALID_USAGE) return fail("across", last_error());
  if (value != 5) return fail("across", "wrong sum");
  if (finalize(outside)) return fail("smddp_finalize outside", last_error());
  if (smddp_allreduce(&value, &value, 1, SMDDP_INT32, SMDDP_SUM, inside, NULL)) return fail("inside, alone", smddp_last_error());
  if (smddp_finalize(inside)) return fail("smddp_finalize inside", smddp_last_error());
  puts("two copies, two jobs");
  return 0;
}
