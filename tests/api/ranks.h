/* Ranks as threads of one process, for tests of the C API.
 *
 * CMocka's asserts may run on the main thread only: a rank that finds a fault writes it down with CHECK and leaves its function, and
 * assert_ranks on the main thread fails with what all ranks wrote. Nothing waits for ever: the world's deadline is TEST_TIMEOUT_MS. */
#ifndef SMDDP_TESTS_API_RANKS_H
#define SMDDP_TESTS_API_RANKS_H

#include <smddp/smddp.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TEST_SLOWNESS 4
#else
#define TEST_SLOWNESS 1
#endif
#define TEST_TIMEOUT_MS (30000 * TEST_SLOWNESS)
#define MAX_RANKS 8

typedef struct rank {
  int number, size;
  smddp_comm_t world;
  void *arg;
  struct run *run;
  char fault[1024]; /* empty: none */
} rank_t;

typedef void (*rank_function_t)(rank_t *rank);

/* Runs function on size ranks, each a thread with a world communicator that is finalized after it. Returns NULL, or the faults, which are
 * valid until the next call. options: nullable; thread_mode and timeout_ms are taken from it. */
const char *run_ranks(int size, rank_function_t function, void *arg, const smddp_init_options_t *options);

#define assert_ranks(size, function, arg)                             \
  do {                                                                \
    const char *faults_ = run_ranks((size), (function), (arg), NULL); \
    if (faults_) fail_msg("%d ranks:\n%s", (size), faults_);          \
  } while (0)

/* Waits for all ranks of the run without the library. Gives the rank a fault if another one failed instead of coming. */
void meet(rank_t *rank);

/* Writes a fault down; the first one of a rank stays. */
void set_fault(rank_t *rank, const char *file, int line, const char *pattern, ...) __attribute__((format(printf, 4, 5)));

/* Whether status is what is expected; writes a fault with the sentence otherwise. */
bool status_is(rank_t *rank, const char *file, int line, const char *call, smddp_status_t status, smddp_status_t expected);

/* In functions that return void: leave with a fault unless the condition holds, the text giving what was seen. */
#define CHECK(rank, condition, ...)                        \
  do {                                                     \
    if (!(condition)) {                                    \
      set_fault((rank), __FILE__, __LINE__, __VA_ARGS__);  \
      return;                                              \
    }                                                      \
  } while (0)

/* Leave unless the call returns the status. */
#define CHECK_STATUS(rank, expected, call)                                               \
  do {                                                                                   \
    if (!status_is((rank), __FILE__, __LINE__, #call, (call), (expected))) return;       \
  } while (0)

/* Leave unless this thread's last error holds the words. */
#define CHECK_SENTENCE(rank, words)                                                                                            \
  CHECK(rank, strstr(smddp_last_error(), (words)), "'%s' is not in the sentence '%s'", (words), smddp_last_error())

/* Leave where the call wrote a fault down. */
#define CHECK_CALL(rank, call)       \
  do {                               \
    call;                            \
    if ((rank)->fault[0]) return;    \
  } while (0)

/* Milliseconds of the monotonic clock. */
int64_t now_ms(void);
void sleep_ms(int milliseconds);

/* A port that was free a moment ago; asserts. */
int free_port(void);

/* One rank without a launcher, for tests that need no peers; asserts. */
smddp_comm_t single_rank(void);

/* On the main thread: the call returns the status and, unless that is success, leaves a sentence. */
#define assert_status(expected, call)                                                                                     \
  do {                                                                                                                    \
    smddp_status_t status_ = (call);                                                                                      \
    if (status_ != (expected))                                                                                            \
      fail_msg("%s: %s (%s), expected %s", #call, smddp_status_string(status_), smddp_last_error(),                       \
               smddp_status_string(expected));                                                                            \
    if (status_ != SMDDP_SUCCESS && !smddp_last_error()[0]) fail_msg("%s: no sentence", #call);                           \
  } while (0)

#endif
