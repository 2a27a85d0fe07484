// Frames over non-blocking sockets. Invariant: no call waits; a signal changes nothing; a broken connection never raises SIGPIPE.
#include "bootstrap/frame.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace smddp::bootstrap {

FrameReader::State FrameReader::read(int fd) {
  char buffer[16384];
  for (;;) {
    const ssize_t bytes = ::recv(fd, buffer, std::min(wanted(), sizeof(buffer)), MSG_DONTWAIT);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return State::kMore;
    if (bytes <= 0) return State::kClosed;
    size_t used = 0;
    const State state = feed({buffer, static_cast<size_t>(bytes)}, used);
    if (state != State::kMore) return state;
  }
}

void FrameWriter::add(std::shared_ptr<const std::string> frame) { (first_ ? second_ : first_) = std::move(frame); }

FrameWriter::State FrameWriter::write(int fd) {
  while (first_) {
    const ssize_t bytes = ::send(fd, first_->data() + sent_, first_->size() - sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS)) return State::kMore;
    if (bytes < 0) return State::kBroken;
    sent_ += static_cast<size_t>(bytes);
    if (sent_ == first_->size()) {
      first_ = std::move(second_);
      sent_ = 0;
    }
  }
  return State::kDone;
}

}  // namespace smddp::bootstrap
