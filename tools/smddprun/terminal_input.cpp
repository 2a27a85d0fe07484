#include "terminal_input.hpp"

#include "exit_status.hpp"

#include <fcntl.h>

#include <cerrno>

namespace smddprun {

TerminalInput::TerminalInput() {
  if (!isatty(STDIN_FILENO)) return;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Failure(with_errno("pipe", errno));
  rank_end_.reset(ends[0]);
  pipe_.reset(ends[1]);
  fcntl(pipe_.get(), F_SETFL, O_NONBLOCK);
}

void TerminalInput::read_terminal() {
  char buffer[4096];
  const ssize_t length = read(STDIN_FILENO, buffer, sizeof buffer);
  if (length > 0) {
    pending_.assign(buffer, static_cast<size_t>(length));
    write_pipe();
  } else if (length == 0) {
    close();
  } else if (errno == EIO) {
    in_background_ = true;  // SIGTTIN is blocked
  }
}

void TerminalInput::write_pipe() {
  const ssize_t written = write(pipe_.get(), pending_.data(), pending_.size());
  if (written >= 0) {
    pending_.erase(0, static_cast<size_t>(written));
  } else if (errno != EAGAIN && errno != EINTR) {
    close();
  }
}

}  // namespace smddprun
