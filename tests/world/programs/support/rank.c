#include "rank.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <time.h>

smddp_comm_t world;
int rank = -1, size;

void die(const char *file, int line, const char *pattern, ...) {
  char text[2000];
  va_list arguments;
  va_start(arguments, pattern);
  vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  const char *slash = strrchr(file, '/');
  fprintf(stderr, "rank %d: %s:%d: %s\n", rank, slash ? slash + 1 : file, line, text);
  exit(1);
}

void join_job(void) {
  REQUIRE(smddp_init(NULL, &world));
  REQUIRE(smddp_comm_rank(world, &rank));
  REQUIRE(smddp_comm_size(world, &size));
}

void say(const char *pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  vprintf(pattern, arguments);
  va_end(arguments);
  putchar('\n');
  fflush(stdout);
}

double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void sleep_seconds(double duration) {
  const double end = seconds() + duration;
  for (double left; (left = end - seconds()) > 0;) {
    const struct timespec nap = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
    nanosleep(&nap, NULL);
  }
}

uint32_t random_below(uint64_t *state, uint32_t limit) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(((*state >> 32) * limit) >> 32);
}

long argument(int argc, char **argv, int i, long otherwise) { return i < argc ? strtol(argv[i], NULL, 10) : otherwise; }

void *zeroed(size_t bytes) {
  void *memory = calloc(1, bytes ? bytes : 1);
  EXPECT(memory, "no memory for %zu bytes", bytes);
  /* Reachable to the end of the program, so that a rank need not free what it uses until then: no leak. */
  static void *volatile kept[256];
  static atomic_size_t count;
  const size_t place = atomic_fetch_add(&count, 1);
  if (place < sizeof kept / sizeof *kept) kept[place] = memory;
  return memory;
}

int entries_of(const char *folder) {
  DIR *directory = opendir(folder);
  EXPECT(directory, "cannot open %s", folder);
  int count = 0;
  while (readdir(directory)) count++;
  closedir(directory);
  return count;
}

long status_kib(const char *name) {
  FILE *file = fopen("/proc/self/status", "r");
  EXPECT(file, "cannot open /proc/self/status");
  char line[256];
  long value = -1;
  const size_t length = strlen(name);
  while (fgets(line, sizeof line, file)) {
    if (strncmp(line, name, length) == 0 && line[length] == ':') value = strtol(line + length + 1, NULL, 10);
  }
  fclose(file);
  EXPECT(value >= 0, "no %s in /proc/self/status", name);
  return value;
}
