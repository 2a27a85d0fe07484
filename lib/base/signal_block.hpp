// Keeps signals from the threads that are started while it lives: they belong to the program's own threads.
#pragma once

#include <csignal>
#include <initializer_list>

namespace smddp {

class SignalBlock {
 public:
  // but: signals that such threads take all the same.
  explicit SignalBlock(std::initializer_list<int> but = {}) {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int signal : but) sigdelset(&blocked, signal);
    pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }
  ~SignalBlock() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalBlock(const SignalBlock&) = delete;
  SignalBlock& operator=(const SignalBlock&) = delete;

 private:
  sigset_t before_;
};

}  // namespace smddp
