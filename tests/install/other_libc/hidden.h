/* Included before everything else: a C library without the extensions of glibc that others lack. Whoever names one of these is refused. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#undef RTLD_NEXT
#pragma GCC poison RTLD_NEXT posix_fallocate pthread_setaffinity_np getauxval
