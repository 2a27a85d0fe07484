/* Says "mask FIRST LAST SAME": the processors this rank's main thread may use before smddp_init, and whether they are the same after it and
 * after smddp_finalize, for a thread that begins in between, and for the threads of the library. */
#define _GNU_SOURCE
#include "support/rank.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>

static cpu_set_t mask(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT(sched_getaffinity(0, sizeof set, &set) == 0, "sched_getaffinity");
  return set;
}

static void *mask_of_thread(void *set) {
  *(cpu_set_t *)set = mask();
  return NULL;
}

/* Whether every thread of this process has the mask. */
static bool all_have(const cpu_set_t *expected) {
  DIR *tasks = opendir("/proc/self/task");
  EXPECT(tasks, "cannot open /proc/self/task");
  bool equal = true;
  for (struct dirent *task; (task = readdir(tasks));) {
    cpu_set_t set;
    CPU_ZERO(&set);
    const long number = strtol(task->d_name, NULL, 10);
    if (number && sched_getaffinity((pid_t)number, sizeof set, &set) == 0) equal = equal && CPU_EQUAL(&set, expected);
  }
  closedir(tasks);
  return equal;
}

int main(void) {
  const cpu_set_t before = mask();
  join_job();
  float one = 1, sum;
  REQUIRE(smddp_allreduce(&one, &sum, 1, SMDDP_FLOAT32, SMDDP_SUM, world, NULL));
  EXPECT(sum == (float)size, "the sum of ones is %g", (double)sum);
  const cpu_set_t inside = mask();
  cpu_set_t of_thread;
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, mask_of_thread, &of_thread) == 0, "no thread");
  pthread_join(thread, NULL);
  smddp_request_t request;
  REQUIRE(smddp_recv_async(NULL, 0, SMDDP_INT8, (rank + 1) % size, 1, world, NULL, &request)); /* so that there is a progress thread */
  const bool all = all_have(&before);
  REQUIRE(smddp_send(NULL, 0, SMDDP_INT8, (rank + size - 1) % size, 1, world, NULL));
  REQUIRE(smddp_wait(request, 0));
  REQUIRE(smddp_request_free(request));
  REQUIRE(smddp_finalize(world));
  const cpu_set_t after = mask();
  int first = -1, last = -1;
  for (int i = 0; i < CPU_SETSIZE; i++) {
    if (!CPU_ISSET(i, &before)) continue;
    if (first < 0) first = i;
    last = i;
  }
  say("mask %d %d %d", first, last, all && CPU_EQUAL(&before, &inside) && CPU_EQUAL(&before, &of_thread) && CPU_EQUAL(&before, &after));
  return 0;
}
