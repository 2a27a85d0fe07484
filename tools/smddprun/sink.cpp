#include "sink.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace smddprun {

Sink::Sink(int fd) : fd_(fd), terminal_(isatty(fd)) {
  struct stat info {};
  fstat(fd, &info);
  socket_ = S_ISSOCK(info.st_mode);
  regular_ = S_ISREG(info.st_mode);
}

void Sink::append(const void* owner, std::string_view prefix, std::string_view bytes) {
  if (broken_ || bytes.empty()) return;
  if (open_ && open_ != owner) queue_ += '\n';
  bool at_start = open_ != owner;
  if (prefix.empty()) {
    queue_ += bytes;
  } else {
    for (size_t begin = 0; begin < bytes.size();) {
      const size_t end = std::min(bytes.find('\n', begin), bytes.size() - 1) + 1;
      if (at_start) queue_ += prefix;
      queue_ += bytes.substr(begin, end - begin);
      begin = end;
      at_start = true;
    }
  }
  open_ = bytes.back() == '\n' ? nullptr : owner;
}

ssize_t Sink::write_some() {
  const char* data = queue_.data() + head_;
  const size_t length = queue_.size() - head_;
  if (socket_) return send(fd_, data, length, MSG_DONTWAIT | MSG_NOSIGNAL);
  // A pipe that polls writable takes PIPE_BUF bytes at once. O_NONBLOCK is no way: it would hold for all who share the stream.
  pollfd writable{fd_, POLLOUT, 0};
  const int ready = poll(&writable, 1, 0);
  if (ready == 0) errno = EAGAIN;
  if (ready <= 0) return -1;
  return write(fd_, data, regular_ ? length : std::min<size_t>(length, 4096));
}

void Sink::flush() {
  while (pending()) {
    const ssize_t written = write_some();
    if (written >= 0) {
      head_ += static_cast<size_t>(written);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      broken_ = true;
      discard();
    }
  }
  if (!pending() || head_ > kLimitBytes) {
    queue_.erase(0, head_);
    head_ = 0;
  }
}

void Sink::discard() {
  queue_.clear();
  head_ = 0;
}

bool same_stream(int a, int b) {
  struct stat x {}, y {};
  if (fstat(a, &x) != 0 || fstat(b, &y) != 0 || S_ISREG(x.st_mode)) return false;
  return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

}  // namespace smddprun
