// The end of a meeting's connections: the sentence of a rank that gives up.
#include "base/clock.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/frame.hpp"
#include "bootstrap/socket.hpp"

#include <poll.h>
#include <sys/socket.h>


namespace smddp::bootstrap {

void tell_failure(const Meeting& meeting, const std::string& sentence) {
  const std::string last = encode(Verdict{Reason::kFailed, SMDDP_ERR_PEER_GONE, sentence});
  for (const UniqueFd& connection : meeting.connections) {
    // It fits into any socket's buffer; whoever has gone needs it no more.
    if (connection) (void)send(connection.get(), last.data(), last.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
}

std::optional<std::string> heard_failure(int connection, int wait_ms) {
  FrameReader reader(kMaxReplyBody);
  const int64_t deadline = deadline_after_ms(wait_ms);
  for (;;) {
    const FrameReader::State state = reader.read(connection);
    if (state == FrameReader::State::kMore) {
      if (wait_for(connection, POLLIN, deadline)) continue;
      return std::nullopt;
    }
    Verdict verdict;
    return state == FrameReader::State::kComplete && decode(reader.body(), verdict) ? verdict.text : std::string();
  }
}

}  // namespace smddp::bootstrap
