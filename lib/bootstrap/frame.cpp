// Invariant: what encode makes, decode takes; decode takes nothing that is short, long or beyond a limit.
#include "bootstrap/frame.hpp"

#include "bootstrap/bytes.hpp"

namespace smddp::bootstrap {
namespace {

constexpr char kMagic[] = {'S', 'M', 'D', 'D', 'P', '-', 'B', '\n'};

void write_member(ByteWriter& writer, const Member& member) {
  writer.number(member.pid);
  writer.text(member.node);
  writer.text(member.host);
  writer.text(member.cpus);
}

void read_member(ByteReader& reader, Member& member) {
  member.pid = reader.number<int64_t>();
  member.node = reader.text(kMaxNode);
  member.host = reader.text(kMaxHost);
  member.cpus = reader.text(kMaxCpus);
}

}  // namespace

std::string frame(Kind kind, std::string body) {
  ByteWriter writer;
  writer.raw(kMagic, sizeof(kMagic));
  writer.number(kFrameVersion);
  writer.number(static_cast<uint16_t>(kind));
  writer.number(static_cast<uint32_t>(body.size()));
  std::string bytes = writer.take();
  writer.raw(bytes.data(), bytes.size());
  writer.number(checksum(bytes) ^ checksum(body));
  return writer.take() + body;
}

std::string encode(const Hello& hello) {
  ByteWriter writer;
  writer.number(hello.token);
  writer.number(hello.rank);
  writer.number(hello.size);
  writer.number(hello.protocol);
  writer.number(hello.timeout_ms);
  writer.number(hello.left_ms);
  write_member(writer, hello.member);
  writer.text(hello.job_id);
  writer.text(hello.parameters);
  return frame(Kind::kHello, writer.take());
}

bool decode(std::string_view body, Hello& hello) {
  ByteReader reader(body);
  hello.token = reader.number<uint64_t>();
  hello.rank = reader.number<int32_t>();
  hello.size = reader.number<int32_t>();
  hello.protocol = reader.number<uint32_t>();
  hello.timeout_ms = reader.number<int64_t>();
  hello.left_ms = reader.number<int64_t>();
  read_member(reader, hello.member);
  hello.job_id = reader.text(kMaxJobId);
  hello.parameters = reader.text(kMaxParameters);
  return reader.complete();
}

std::string encode(const Accepted& accepted) {
  ByteWriter writer;
  writer.number(accepted.pid);
  writer.text(accepted.host);
  return frame(Kind::kAccepted, writer.take());
}

bool decode(std::string_view body, Accepted& accepted) {
  ByteReader reader(body);
  accepted.pid = reader.number<int64_t>();
  accepted.host = reader.text(kMaxHost);
  return reader.complete();
}

std::string encode(const Verdict& verdict) {
  ByteWriter writer;
  writer.number(static_cast<uint8_t>(verdict.reason));
  writer.number(static_cast<uint32_t>(verdict.code));
  writer.text(std::string_view(verdict.text).substr(0, kMaxReplyBody - 64));
  return frame(Kind::kVerdict, writer.take());
}

bool decode(std::string_view body, Verdict& verdict) {
  ByteReader reader(body);
  const auto reason = reader.number<uint8_t>();
  const auto code = reader.number<uint32_t>();
  verdict.text = reader.text(kMaxReplyBody);
  if (!reader.complete() || reason > static_cast<uint8_t>(Reason::kVersion)) return false;
  if (code < SMDDP_ERR_INVALID_ARGUMENT || code > SMDDP_ERR_DEVICE) return false;
  verdict.reason = static_cast<Reason>(reason);
  verdict.code = static_cast<smddp_status_t>(code);
  return true;
}

std::string encode(const Meeting& meeting) {
  ByteWriter writer;
  writer.raw(meeting.nonce.data(), meeting.nonce.size());
  writer.number(static_cast<uint32_t>(meeting.members.size()));
  for (const Member& member : meeting.members) write_member(writer, member);
  return frame(Kind::kTable, writer.take());
}

bool decode(std::string_view body, int size, Meeting& meeting) {
  ByteReader reader(body);
  reader.raw(meeting.nonce.data(), meeting.nonce.size());
  if (reader.number<uint32_t>() != static_cast<uint32_t>(size)) return false;
  meeting.members.clear();
  for (int rank = 0; rank < size && !reader.failed(); ++rank) read_member(reader, meeting.members.emplace_back());
  return reader.complete();
}

void FrameReader::restart(size_t most_body_bytes) { *this = FrameReader(most_body_bytes); }

size_t FrameReader::wanted() const {
  if (header_.size() < kHeaderBytes) return kHeaderBytes - header_.size();
  return body_bytes_ - body_.size();
}

// Judges what is there as early as it can: the first wrong byte ends it.
FrameReader::State FrameReader::examine() {
  const size_t known = std::min(header_.size(), sizeof(kMagic));
  if (std::memcmp(header_.data(), kMagic, known) != 0) return State::kGarbage;
  if (header_.size() < kHeaderBytes) return State::kMore;
  ByteReader reader(std::string_view(header_).substr(sizeof(kMagic)));
  version_ = reader.number<uint16_t>();
  kind_ = static_cast<Kind>(reader.number<uint16_t>());
  body_bytes_ = reader.number<uint32_t>();
  if (version_ != kFrameVersion) return State::kVersion;
  if (body_bytes_ > most_body_bytes_) return State::kGarbage;
  if (body_.size() < body_bytes_) return State::kMore;
  const uint64_t expected = checksum(std::string_view(header_).substr(0, kHeaderBytes - 8)) ^ checksum(body_);
  return reader.number<uint64_t>() == expected ? State::kComplete : State::kGarbage;
}

FrameReader::State FrameReader::feed(std::string_view bytes, size_t& used) {
  used = 0;
  State state = State::kMore;
  while (state == State::kMore && used < bytes.size()) {
    const std::string_view part = bytes.substr(used, wanted());
    (header_.size() < kHeaderBytes ? header_ : body_).append(part);
    used += part.size();
    state = examine();
  }
  return state;
}

}  // namespace smddp::bootstrap
