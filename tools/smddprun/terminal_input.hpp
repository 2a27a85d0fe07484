// Relay of a terminal to rank 0. The rank itself must not read it: its process group is not the terminal's, so that it would be
// stopped. Invariant: nothing is read while the rank has not taken the bytes before.
#pragma once

#include "fd.hpp"

#include <string>

namespace smddprun {

class TerminalInput {
 public:
  // Relays if standard input is a terminal. Throws Failure.
  TerminalInput();

  Fd take_rank_end() { return std::move(rank_end_); }
  bool is_active() const { return static_cast<bool>(pipe_); }
  int pipe_fd() const { return pipe_.get(); }
  bool wants_terminal() const { return is_active() && pending_.empty() && !in_background_; }
  bool wants_pipe() const { return is_active() && !pending_.empty(); }

  void read_terminal();
  void write_pipe();
  void continued() { in_background_ = false; }  // after SIGCONT the launcher may be in the foreground again
  void close() { pipe_.reset(); }

 private:
  Fd rank_end_;
  Fd pipe_;
  std::string pending_;
  bool in_background_ = false;
};

}  // namespace smddprun
