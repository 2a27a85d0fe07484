/* Preloaded: a library that is subtly wrong, so that smddp-bench must notice. SMDDP_TEST_CORRUPT says how:
 *   flip      one bit of the last element of an allreduce's result
 *   stale     every allreduce after the third returns the third's result
 *   beyond    one byte behind the result
 *   input     one bit of the input
 *   fail      the fifth allreduce returns an error */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <smddp/smddp.h>
#include <stdlib.h>
#include <string.h>

typedef smddp_status_t (*allreduce_t)(const void *, void *, size_t, smddp_dtype_t, smddp_op_t, smddp_comm_t,
                                      const smddp_call_options_t *);

static char kept[1 << 16];

SMDDP_EXPORT smddp_status_t smddp_allreduce(const void *sendbuf, void *recvbuf, size_t count, smddp_dtype_t dtype, smddp_op_t op,
                                            smddp_comm_t comm, const smddp_call_options_t *options) {
  static int calls = 0;
  const allreduce_t real = (allreduce_t)dlsym(RTLD_NEXT, "smddp_allreduce");
  const char *how = getenv("SMDDP_TEST_CORRUPT");
  if (dtype != SMDDP_FLOAT32 || !how) return real(sendbuf, recvbuf, count, dtype, op, comm, options);
  ++calls;
  if (strcmp(how, "fail") == 0 && calls == 5) return real(sendbuf, recvbuf, count, (smddp_dtype_t)999, op, comm, options);
  const smddp_status_t status = real(sendbuf, recvbuf, count, dtype, op, comm, options);
  const size_t bytes = count * 4;
  if (count == 0) return status;
  if (strcmp(how, "flip") == 0) ((char *)recvbuf)[bytes - 1] ^= 1;
  if (strcmp(how, "beyond") == 0) ((char *)recvbuf)[bytes] = 0;
  if (strcmp(how, "input") == 0) ((char *)sendbuf)[0] ^= 1;
  if (strcmp(how, "stale") == 0 && bytes <= sizeof kept) {
    if (calls == 3) memcpy(kept, recvbuf, bytes);
    if (calls > 3) memcpy(recvbuf, kept, bytes);
  }
  return status;
}
