/* Preloaded: a kernel in which nearly every call that may fail with EINTR does. Of each function only every SMDDP_TEST_INTERRUPT-th call gets
 * through; at exit the process says how often each was interrupted: "interrupted accept4 12 connect 3 …". */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define EXPORT __attribute__((visibility("default")))
#define FUNCTIONS(X) X(accept4) X(connect) X(epoll_wait) X(fallocate) X(poll) X(ppoll) X(recv) X(recvmsg) X(send) X(sendmsg)

enum {
#define NUMBER(name) name##_,
  FUNCTIONS(NUMBER) COUNT
};
static const char *const names[] = {
#define NAME(name) #name,
    FUNCTIONS(NAME)};
static atomic_ulong calls[COUNT], interrupted[COUNT];

static bool interrupts(int function) {
  const char *text = getenv("SMDDP_TEST_INTERRUPT");
  const unsigned long every = text ? strtoul(text, NULL, 10) : 0;
  if (every < 2 || (atomic_fetch_add(&calls[function], 1) + 1) % every == 0) return false;
  atomic_fetch_add(&interrupted[function], 1);
  errno = EINTR;
  return true;
}

__attribute__((destructor)) static void report(void) {
  printf("interrupted");
  for (int i = 0; i < COUNT; i++) printf(" %s %lu", names[i], atomic_load(&interrupted[i]));
  printf("\n");
}

/* Defines a function that fails or calls the next library's. */
#define DEFINE(type, name, parameters, arguments)                                   \
  EXPORT type name parameters {                                                     \
    if (interrupts(name##_)) return -1;                                             \
    return ((type(*) parameters)dlsym(RTLD_NEXT, #name))arguments;                  \
  }

DEFINE(int, accept4, (int fd, struct sockaddr *address, socklen_t *length, int flags), (fd, address, length, flags))
DEFINE(int, epoll_wait, (int fd, struct epoll_event *events, int most, int timeout), (fd, events, most, timeout))
DEFINE(int, fallocate, (int fd, int mode, off_t offset, off_t length), (fd, mode, offset, length))
DEFINE(int, poll, (struct pollfd * entries, nfds_t count, int timeout), (entries, count, timeout))
DEFINE(int, ppoll, (struct pollfd * entries, nfds_t count, const struct timespec *timeout, const sigset_t *mask), (entries, count, timeout, mask))
DEFINE(ssize_t, recv, (int fd, void *data, size_t bytes, int flags), (fd, data, bytes, flags))
DEFINE(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags))
DEFINE(ssize_t, send, (int fd, const void *data, size_t bytes, int flags), (fd, data, bytes, flags))
DEFINE(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))

/* A TCP connection goes on being made after EINTR; a local one is not made; a datagram socket is never interrupted. */
EXPORT int connect(int fd, const struct sockaddr *address, socklen_t length) {
  int (*const next)(int, const struct sockaddr *, socklen_t) = (int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "connect");
  int type = 0;
  socklen_t size = sizeof type;
  if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type == SOCK_DGRAM) return next(fd, address, length);
  if (address->sa_family == AF_UNIX) return interrupts(connect_) ? -1 : next(fd, address, length);
  const int result = next(fd, address, length), error = errno;
  if ((result == 0 || error == EINPROGRESS) && interrupts(connect_)) return -1;
  errno = error;
  return result;
}
