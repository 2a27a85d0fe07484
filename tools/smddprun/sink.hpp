// One of the launcher's own output streams. Invariant: it never blocks the launcher, and bytes of two owners never share a line.
#pragma once

#include <string>
#include <string_view>

namespace smddprun {

class Sink {
 public:
  explicit Sink(int fd);

  // Queues bytes of owner, with prefix before every line. If another owner has left its line open, ends that line first.
  void append(const void* owner, std::string_view prefix, std::string_view bytes);

  // Writes as much as goes without waiting.
  void flush();

  int fd() const { return fd_; }
  bool pending() const { return head_ < queue_.size(); }
  bool full() const { return queue_.size() - head_ > kLimitBytes; }  // the ranks' turn to wait
  bool broken() const { return broken_; }                            // nobody reads any more
  bool is_terminal() const { return terminal_; }
  void discard();

 private:
  static constexpr size_t kLimitBytes = 1 << 20;

  ssize_t write_some();

  int fd_;
  bool terminal_;
  bool socket_;
  bool regular_;
  bool broken_ = false;
  const void* open_ = nullptr;  // who has written the beginning of the current line
  std::string queue_;
  size_t head_ = 0;
};

// Whether two descriptors lead to the same pipe, terminal or socket.
bool same_stream(int a, int b);

}  // namespace smddprun
