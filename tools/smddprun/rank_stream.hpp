// Standard output or error of one rank on its way to a sink. Invariant: the sink gets whole lines; the beginning of a line only when
// the stream ends, or on a terminal when the rest is slow to come (a prompt, a progress bar).
#pragma once

#include "fd.hpp"
#include "sink.hpp"

#include <cstdint>

namespace smddprun {

class RankStream {
 public:
  RankStream(Fd source, Sink& sink, std::string prefix)
      : source_(std::move(source)), sink_(&sink), prefix_(std::move(prefix)) {}

  // Takes what the source has, until the sink is full or others must have their turn. Closes at the end of the source or when the sink is broken.
  void pump();
  void close();

  // On a terminal: shows an unfinished line that is older than the patience. Returns when to come back, or INT64_MAX.
  int64_t show_unfinished(int64_t now_ms);

  int fd() const { return source_.get(); }
  bool is_open() const { return static_cast<bool>(source_); }
  Sink& sink() const { return *sink_; }

  bool watched = false;  // the launcher's epoll has it

 private:
  void take(std::string_view bytes);

  Fd source_;
  Sink* sink_;
  std::string prefix_;
  std::string unfinished_;
  int64_t unfinished_since_ms_ = 0;
};

int64_t clock_ms();

}  // namespace smddprun
