/* Signals that the program blocks in all its threads are not taken by a thread of the library, though that has started before. */
#include "support/rank.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { COUNT = 1 << 20 };

int main(void) {
  join_job();
  int32_t *in = zeroed(COUNT * sizeof *in), *out = zeroed(COUNT * sizeof *out);
  smddp_request_t request;
  if (rank) sleep_seconds(0.5); /* the first rank's operation goes on with its progress thread */
  REQUIRE(smddp_allreduce_async(in, out, COUNT, SMDDP_INT32, SMDDP_SUM, world, NULL, &request));
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  const int fd = signalfd(-1, &set, SFD_NONBLOCK);
  struct signalfd_siginfo info;
  EXPECT(fd >= 0, "signalfd");
  EXPECT(kill(getpid(), SIGUSR1) == 0, "kill");
  EXPECT(read(fd, &info, sizeof info) == (ssize_t)sizeof info && info.ssi_signo == SIGUSR1, "the signal did not come");
  REQUIRE(smddp_wait(request, 20000));
  REQUIRE(smddp_request_free(request));
  REQUIRE(smddp_finalize(world));
  return 0;
}
