/* One collective with every type, operation, count, placement and form against the plain reference. */
#ifndef SMDDP_TESTS_API_SWEEP_H
#define SMDDP_TESTS_API_SWEEP_H

#include "calls.h"

/* On the main thread, for 1, 2, 3, 4 and 7 ranks: all types × operations × counts {0, 1, p − 1, p, 1000, 5000, 100000}, out of place, in
 * place and mixed over the ranks, blocking and asynchronous. Asserts; also that bytes around the result, and the sendbuf of a call
 * out of place, are untouched. */
void sweep(collective_t collective);

#endif
