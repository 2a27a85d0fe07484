// Who publishes a flag looks for sleepers next, and who goes to sleep looks at the flags once more: neither may miss the other, so there is a
// fence between store and look on both sides. The publisher's would cost a third of a small operation, as it waits until the line of the
// flag has come over from another core. Hence the sleeper's fence is one for all: it runs on every CPU that runs a rank (membarrier(2)), in
// some microseconds, and the publisher needs none.
#pragma once

namespace smddp::node {

// Makes this process one that fence_all() of any process reaches. False where the kernel does not have it, or a container forbids it: then
// every rank of the node publishes with a fence of its own.
bool accept_fences();

// On all CPUs that run a process which accepts it. No error: a process that has accepted can call it.
void fence_all();

}  // namespace smddp::node
