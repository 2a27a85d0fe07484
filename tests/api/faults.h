/* The documented errors that all collectives have in common, provoked one by one. Both run on the main thread and assert. */
#ifndef SMDDP_TESTS_API_FAULTS_H
#define SMDDP_TESTS_API_FAULTS_H

#include "calls.h"

/* Wrong arguments: each is refused on the rank itself, in both forms, and the communicator works on. */
void argument_faults(collective_t collective);

/* Ranks that call different things: SMDDP_ERR_MISMATCH on every rank, with both sides in the sentence. A rank whose part was done before
 * gets it from its next operation. */
void mismatches(collective_t collective);

#endif
