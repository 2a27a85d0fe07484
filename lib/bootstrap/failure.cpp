// The end of a meeting's connections. Invariant: nothing is sent on them but one sentence, by a rank that gives up.
#include "base/clock.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/socket.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace smddp::bootstrap {

void tell_failure(const Meeting& meeting, const std::string& sentence) {
  for (const UniqueFd& connection : meeting.connections) {
    // It fits into any socket's buffer; whoever has gone needs it no more.
    if (connection) (void)send(connection.get(), sentence.data(), sentence.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
}

std::optional<std::string> heard_failure(int connection, int wait_ms) {
  std::string sentence;
  const int64_t deadline = deadline_after_ms(wait_ms);
  for (;;) {
    char text[512];
    const ssize_t got = recv(connection, text, sizeof(text), MSG_DONTWAIT);
    if (got > 0) {
      sentence.append(text, static_cast<size_t>(got));
      continue;
    }
    if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) return sentence;
    if (wait_for(connection, POLLIN, deadline)) continue;
    if (!sentence.empty()) return sentence;
    return std::nullopt;
  }
}

}  // namespace smddp::bootstrap
