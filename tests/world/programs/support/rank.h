/* What the rank programs share: joining the job, and ending with status 1 and a sentence when something is not as it must be. */
#ifndef SMDDP_TESTS_WORLD_RANK_H
#define SMDDP_TESTS_WORLD_RANK_H

#include <smddp/smddp.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern smddp_comm_t world;
extern int rank, size;

/* smddp_init from the launcher's environment; sets the three above. */
void join_job(void);

/* Writes "rank N: file:line: sentence" to standard error and ends with status 1. */
_Noreturn void die(const char *file, int line, const char *pattern, ...) __attribute__((format(printf, 3, 4)));

#define EXPECT(condition, ...)                                    \
  do {                                                            \
    if (!(condition)) die(__FILE__, __LINE__, __VA_ARGS__);       \
  } while (0)

/* The call returns the status; its sentence, unless that is success, is in smddp_last_error() afterwards. */
#define EXPECT_STATUS(expected, call)                                                                                            \
  do {                                                                                                                           \
    const smddp_status_t status_ = (call);                                                                                       \
    if (status_ != (expected))                                                                                                   \
      die(__FILE__, __LINE__, "%s: %s (%s), expected %s", #call, smddp_status_string(status_), smddp_last_error(),               \
          smddp_status_string(expected));                                                                                        \
  } while (0)

#define REQUIRE(call) EXPECT_STATUS(SMDDP_SUCCESS, call)

#define EXPECT_SAYS(words)                                                                                            \
  EXPECT(strstr(smddp_last_error(), (words)), "'%s' is not in the sentence '%s'", (words), smddp_last_error())

/* One line on standard output, at once. */
void say(const char *pattern, ...) __attribute__((format(printf, 1, 2)));

/* Monotonic clock. */
double seconds(void);
void sleep_seconds(double duration);

/* A small generator: the same seed, the same numbers on every rank. */
uint32_t random_below(uint64_t *state, uint32_t limit);

/* Argument number i of main as a number, or otherwise. */
long argument(int argc, char **argv, int i, long otherwise);

/* Zeroed memory; ends the rank if there is none. */
void *zeroed(size_t bytes);

/* Number of entries of a folder, such as /proc/self/fd. */
int entries_of(const char *folder);

/* A line "Name:  value kB" of /proc/self/status, in KiB. */
long status_kib(const char *name);

#endif
