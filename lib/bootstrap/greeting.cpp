// Invariant: only a frame of ours with a right checksum counts as an answer of rank 0.
#include "bootstrap/greeting.hpp"

#include "base/error.hpp"

#include <poll.h>

#include <cerrno>
#include <cstring>

namespace smddp::bootstrap {
namespace {

using State = FrameReader::State;

Greeting ended(Greeted outcome, std::string detail) {
  Greeting greeting;
  greeting.outcome = outcome;
  greeting.detail = std::move(detail);
  return greeting;
}

Greeting judge(const FrameReader& reader, State state, UniqueFd fd) {
  if (state == State::kClosed) return ended(Greeted::kLost, "the connection was closed without an answer");
  if (state == State::kVersion) {
    return ended(Greeted::kVersion, format("rank 0 has bootstrap version %d, this rank has %d: they run different versions of the library",
                                           reader.version(), kFrameVersion));
  }
  Greeting greeting;
  if (state == State::kComplete && reader.kind() == Kind::kVerdict && decode(reader.body(), greeting.verdict)) {
    greeting.outcome = Greeted::kRefused;
    greeting.detail = greeting.verdict.text;
    return greeting;
  }
  if (state == State::kComplete && reader.kind() == Kind::kAccepted && decode(reader.body(), greeting.accepted)) {
    // One byte into an empty buffer: it goes out whole or the connection is gone.
    ssize_t sent;
    do sent = ::send(fd.get(), &kConfirmed, 1, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent != 1) return ended(Greeted::kLost, "the connection was closed after an answer");
    greeting.outcome = Greeted::kAccepted;
    greeting.fd = std::move(fd);
    return greeting;
  }
  return ended(Greeted::kStranger, "another program answers there");
}

}  // namespace

Greeting greet(const Address& address, const std::string& hello_frame, int64_t deadline) {
  UniqueFd fd = connect_to(address, deadline);
  if (!fd) {
    const int error = errno;
    Greeting greeting = ended(Greeted::kNobody, strerror(error));
    greeting.error = error;
    return greeting;
  }
  FrameWriter writer;
  FrameReader reader(kMaxReplyBody);
  writer.add(std::make_shared<const std::string>(hello_frame));
  for (;;) {
    // A verdict may arrive before all was written, so a broken pipe is judged by what can be read.
    const bool writing = writer.write(fd.get()) == FrameWriter::State::kMore;
    const State state = reader.read(fd.get());
    if (state != State::kMore) return judge(reader, state, std::move(fd));
    if (!wait_for(fd.get(), static_cast<short>(POLLIN | (writing ? POLLOUT : 0)), deadline)) {
      return ended(Greeted::kSilent, "a program accepts connections there but does not answer");
    }
  }
}

}  // namespace smddp::bootstrap
