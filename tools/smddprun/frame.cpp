// A frame is kind and length of its body, 32 bits each in the order of this machine, and the body.
#include "frame.hpp"

#include "exit_status.hpp"

#include <unistd.h>

#include <cerrno>

namespace smddprun {
namespace {

constexpr uint32_t kLongestBody = 64 << 20;
constexpr size_t kHeader = 2 * sizeof(uint32_t);

}  // namespace

void OutQueue::add(FrameKind kind, std::string_view body) {
  bytes_ += Packer().number(kind).number(static_cast<uint32_t>(body.size())).bytes();
  bytes_ += body;
}

bool OutQueue::flush(int fd) {
  while (pending()) {
    const ssize_t written = write(fd, bytes_.data() + head_, bytes_.size() - head_);
    if (written >= 0) head_ += static_cast<size_t>(written);
    else if (errno == EAGAIN) break;
    else if (errno != EINTR) return false;
  }
  if (!pending() || head_ > kLimitBytes) {
    bytes_.erase(0, head_);
    head_ = 0;
  }
  return true;
}

bool FrameReader::fill(int fd) {
  char buffer[65536];
  for (int turn = 0; turn < 16; ++turn) {
    const ssize_t length = read(fd, buffer, sizeof buffer);
    if (length == 0 || (length < 0 && errno != EAGAIN && errno != EINTR)) return false;
    if (length < 0 && errno == EAGAIN) break;
    if (length > 0) bytes_.append(buffer, static_cast<size_t>(length));
  }
  return true;
}

std::optional<Frame> FrameReader::next() {
  if (!marker_.empty()) {
    const size_t found = bytes_.find(marker_);
    if (found == std::string::npos) {
      if (bytes_.size() > kLongestBody) throw Failure("the remote command says something else than smddprun");
      return std::nullopt;
    }
    head_ = found + marker_.size();
    marker_ = {};
  }
  Unpacker header(std::string_view(bytes_).substr(head_));
  const auto kind = header.number<FrameKind>();
  const auto length = header.number<uint32_t>();
  if (header.failed()) return std::nullopt;
  if (length > kLongestBody || kind > FrameKind::kFailed) throw Failure("what the other smddprun says cannot be read");
  if (bytes_.size() - head_ - kHeader < length) return std::nullopt;
  Frame frame{kind, bytes_.substr(head_ + kHeader, length)};
  head_ += kHeader + length;
  if (head_ > bytes_.size() / 2) {
    bytes_.erase(0, head_);
    head_ = 0;
  }
  return frame;
}

}  // namespace smddprun
