#include "rank_stream.hpp"

#include <cerrno>
#include <ctime>

namespace smddprun {
namespace {

constexpr int64_t kPatienceMs = 100;
constexpr int kTurns = 16;  // of reading, before others have theirs

}  // namespace

int64_t clock_ms() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

void RankStream::take(std::string_view bytes) {
  const size_t newline = bytes.rfind('\n');
  if (unfinished_.empty() || newline != std::string_view::npos) unfinished_since_ms_ = clock_ms();
  if (newline == std::string_view::npos) {
    unfinished_ += bytes;
    return;
  }
  unfinished_ += bytes.substr(0, newline + 1);
  sink_->append(this, prefix_, unfinished_);
  unfinished_ = bytes.substr(newline + 1);
}

void RankStream::pump() {
  char buffer[65536];
  for (int turn = 0; turn < kTurns && source_ && !sink_->full(); ++turn) {
    const ssize_t length = sink_->broken() ? 0 : read(source_.get(), buffer, sizeof buffer);
    if (length > 0) {
      take({buffer, static_cast<size_t>(length)});
      sink_->flush();
    } else if (length == 0 || errno != EINTR) {
      if (length != 0 && errno == EAGAIN) return;
      close();
    }
  }
}

void RankStream::close() {
  sink_->append(this, prefix_, unfinished_);
  unfinished_.clear();
  source_.reset();
  watched = false;  // closing the only descriptor takes it out of the epoll
}

int64_t RankStream::show_unfinished(int64_t now_ms) {
  if (unfinished_.empty() || !sink_->is_terminal()) return INT64_MAX;
  if (now_ms < unfinished_since_ms_ + kPatienceMs) return unfinished_since_ms_ + kPatienceMs;
  sink_->append(this, prefix_, unfinished_);
  unfinished_.clear();
  return INT64_MAX;
}

}  // namespace smddprun
