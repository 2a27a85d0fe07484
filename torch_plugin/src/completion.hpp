// The thread that ends asynchronous work. Invariant: futures complete here or in a user's wait(), never on a thread of the library,
// because their callbacks may issue and wait for further collectives.
#pragma once
#include <c10/util/intrusive_ptr.h>

namespace torch_plugin {

class SmddpWork;

namespace completion {

// Starts the thread if it does not run; the first asynchronous call that does not end at once does so.
void start();

// Hands over work whose operations have all ended. Never blocks; any thread.
void push(c10::intrusive_ptr<SmddpWork> work);

// Whether the caller is the completion thread. A collective that a callback calls there runs to its end at once.
bool on_thread();

// Ends the thread after the callback it may be in; work that comes later is dropped. For the end of the interpreter.
void stop();

// In a forked child: the thread does not exist there.
void forget();

}  // namespace completion
}  // namespace torch_plugin
