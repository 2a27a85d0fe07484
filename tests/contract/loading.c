/* Loads libsmddp.so at run time, uses it as a job of one rank and unloads it, twice. Arguments: the library, "local" or "global". */
#include <smddp/smddp.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define LOAD(name)                                                             \
  __typeof__(&name) my_##name = (__typeof__(&name))dlsym(library, #name); \
  if (!my_##name) return fail(#name, dlerror())

static int fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  return 1;
}

static int use(const char *path, int mode) {
  void *library = dlopen(path, mode);
  if (!library) return fail("dlopen", dlerror());
  LOAD(smddp_init);
  LOAD(smddp_allreduce);
  LOAD(smddp_finalize);
  LOAD(smddp_last_error);
  int visible = dlsym(RTLD_DEFAULT, "smddp_init") != NULL;
  if (visible != (mode & RTLD_GLOBAL ? 1 : 0)) return fail("RTLD_DEFAULT", visible ? "finds a local library" : "does not find a global one");

  smddp_comm_t world;
  float value = 3.0f;
  if (my_smddp_init(NULL, &world)) return fail("smddp_init", my_smddp_last_error());
  if (my_smddp_allreduce(&value, &value, 1, SMDDP_FLOAT32, SMDDP_SUM, world, NULL)) return fail("smddp_allreduce", my_smddp_last_error());
  if (value != 3.0f) return fail("smddp_allreduce", "wrong sum");
  if (my_smddp_finalize(world)) return fail("smddp_finalize", my_smddp_last_error());
  if (dlclose(library)) return fail("dlclose", dlerror());
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 3) return fail("usage", "loading LIBRARY local|global");
  int mode = RTLD_NOW | (strcmp(argv[2], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL);
  for (int round = 0; round < 2; round++) {
    if (use(argv[1], mode)) return 1;
  }
  puts("loaded, used and unloaded twice");
  return 0;
}
