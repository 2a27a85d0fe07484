// One text of each rank to all ranks. Invariant: a rank that fails meanwhile is an error on all, with its sentence if it left one.
#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/bytes.hpp"
#include "bootstrap/frame.hpp"
#include "bootstrap/socket.hpp"

#include <poll.h>

namespace smddp::bootstrap {
namespace {

constexpr size_t kMaxText = 65536;

void write_all(int fd, std::string frame, int64_t deadline) {
  FrameWriter writer;
  writer.add(std::make_shared<const std::string>(std::move(frame)));
  while (writer.write(fd) == FrameWriter::State::kMore) {
    if (!wait_for(fd, POLLOUT, deadline)) return;  // whoever does not read is missed below
  }
}

// Throws if the frame is not what was expected of the rank.
void expect(const FrameReader& reader, FrameReader::State state, Kind kind, const std::string& rank) {
  if (state == FrameReader::State::kComplete && reader.kind() == kind) return;
  Verdict verdict;
  if (state == FrameReader::State::kComplete && reader.kind() == Kind::kVerdict && decode(reader.body(), verdict)) {
    throw Error(SMDDP_ERR_PEER_GONE, verdict.text);
  }
  throw Error(SMDDP_ERR_PEER_GONE, rank + " ended or failed in smddp_init");
}

std::vector<std::string> collect(const Meeting& meeting, const std::string& own, int64_t deadline) {
  const size_t size = meeting.members.size();
  const auto name = [&](size_t rank) { return member_name(static_cast<int>(rank), meeting.ranks()); };
  std::vector<std::string> texts(size);
  texts[0] = own;
  std::vector<FrameReader> readers(size, FrameReader(kMaxText));
  std::vector<pollfd> waiting;
  for (size_t rank = 1; rank < size; ++rank) {
    if (!meeting.connections[rank]) throw Error(SMDDP_ERR_PEER_GONE, name(rank) + " ended in smddp_init");
    waiting.push_back({meeting.connections[rank].get(), POLLIN, 0});
  }
  for (size_t missing = size - 1; missing > 0;) {
    if (poll(waiting.data(), waiting.size(), remaining_ms(deadline)) <= 0 && now_ns() >= deadline) {
      for (size_t rank = 1; rank < size; ++rank) {
        if (waiting[rank - 1].fd < 0) continue;
        throw Error(SMDDP_ERR_TIMEOUT, name(rank) + " has met the others but then said nothing in time (smddp_init)");
      }
    }
    for (size_t rank = 1; rank < size; ++rank) {
      pollfd& entry = waiting[rank - 1];
      if (entry.fd < 0 || entry.revents == 0) continue;
      const FrameReader::State state = readers[rank].read(entry.fd);
      if (state == FrameReader::State::kMore) continue;
      expect(readers[rank], state, Kind::kText, name(rank));
      texts[rank] = readers[rank].body();
      entry.fd = -1;
      --missing;
    }
  }
  return texts;
}

}  // namespace

std::vector<std::string> gather_texts(const Meeting& meeting, int rank, const std::string& own, int64_t deadline) {
  const size_t size = meeting.members.size();
  if (size == 1) return {own};
  if (rank == 0) {
    std::vector<std::string> texts = collect(meeting, own, deadline);
    ByteWriter writer;
    for (const std::string& text : texts) writer.text(text);
    const std::string all = frame(Kind::kTexts, writer.take());
    for (size_t r = 1; r < size; ++r) write_all(meeting.connections[r].get(), all, deadline);
    return texts;
  }
  const int root = meeting.connections[0].get();
  write_all(root, frame(Kind::kText, own), deadline);
  FrameReader reader(size * (kMaxText + 4));
  FrameReader::State state;
  while ((state = reader.read(root)) == FrameReader::State::kMore) {
    if (wait_for(root, POLLIN, deadline)) continue;
    throw Error(SMDDP_ERR_TIMEOUT, member_name(rank, meeting.ranks()) + " waited in vain for what rank 0 gathers from all ranks (smddp_init)");
  }
  expect(reader, state, Kind::kTexts, "rank 0");
  ByteReader body(reader.body());
  std::vector<std::string> texts(size);
  for (std::string& text : texts) text = body.text(kMaxText);
  if (!body.complete()) throw Error(SMDDP_ERR_INTERNAL, member_name(rank, meeting.ranks()) + " cannot read what rank 0 gathered (smddp_init)");
  return texts;
}

std::string reachable_address(const Meeting& meeting, int rank, int64_t deadline) {
  const auto node_of = [&](size_t r) -> const std::string& { return meeting.members[r].node; };
  const std::string& here = node_of(static_cast<size_t>(rank));
  std::string own;
  for (size_t i = 0; i < meeting.connections.size() && own.empty(); ++i) {
    // Within a host, connections may use an address that no other host reaches.
    if (meeting.connections[i] && node_of(rank == 0 ? i : 0) != here) own = local_address(meeting.connections[i].get()).host();
  }
  const std::vector<std::string> all = gather_texts(meeting, rank, own, deadline);
  for (size_t r = 0; r < all.size() && own.empty(); ++r) {
    if (node_of(r) == here) own = all[r];
  }
  for (size_t i = 0; i < meeting.connections.size() && own.empty(); ++i) {  // all are on one host
    if (meeting.connections[i]) own = local_address(meeting.connections[i].get()).host();
  }
  return own;
}

}  // namespace smddp::bootstrap
