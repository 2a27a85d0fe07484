// What the launcher and its agents on other hosts tell each other through the remote command's standard streams. Invariant: neither side
// ever waits for the other; what cannot be written yet is kept.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace smddprun {

enum class FrameKind : uint32_t {
  // To an agent: everything about its ranks; a Command; bytes for rank 0's standard input and their end; nobody reads that stream.
  kPlan, kCommand, kInput, kInputEnd, kClosed,
  // From an agent: where the ranks meet; an Event; bytes that a rank wrote; how many bytes of input rank 0 has taken; why it gives up.
  kPlace, kEvent, kOutput, kTaken, kFailed
};

struct Frame {
  FrameKind kind;
  std::string body;
};

// The parts of a body, in one order on both sides.
class Packer {
 public:
  template <typename T>
  Packer& number(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Packer& text(std::string_view text) {
    number(static_cast<uint32_t>(text.size()));
    bytes_ += text;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}

  // Zero and empty once the body has been too short.
  template <typename T>
  T number() {
    T value{};
    const std::string_view part = take(sizeof value);
    if (!part.empty()) std::memcpy(&value, part.data(), sizeof value);
    return value;
  }
  std::string text() { return std::string(take(number<uint32_t>())); }
  std::string_view rest() { return take(bytes_.size()); }
  bool failed() const { return failed_; }

 private:
  std::string_view take(size_t length) {
    if (length > bytes_.size()) failed_ = true;
    if (failed_) return {};
    const std::string_view part = bytes_.substr(0, length);
    bytes_.remove_prefix(length);
    return part;
  }

  std::string_view bytes_;
  bool failed_ = false;
};

// Bytes on their way to a descriptor that does not block.
class OutQueue {
 public:
  void add(std::string_view bytes) { bytes_ += bytes; }
  void add(FrameKind kind, std::string_view body);
  // Writes as much as goes; false if nobody reads any more.
  bool flush(int fd);
  bool pending() const { return head_ < bytes_.size(); }
  bool full() const { return bytes_.size() - head_ > kLimitBytes; }

 private:
  static constexpr size_t kLimitBytes = 1 << 20;
  std::string bytes_;
  size_t head_ = 0;
};

// Frames from a descriptor that does not block.
class FrameReader {
 public:
  // With a marker, what comes before it is left out: a remote shell may have a greeting of its own.
  explicit FrameReader(std::string_view marker = {}) : marker_(marker) {}

  // Takes in what is there; false at its end.
  bool fill(int fd);
  // Whether the marker has come.
  bool begun() const { return marker_.empty(); }
  // The next whole frame, if there is one. Throws Failure for what is none.
  std::optional<Frame> next();

 private:
  std::string_view marker_;
  std::string bytes_;
  size_t head_ = 0;
};

// What an agent says first.
constexpr std::string_view kAgentMarker = "\1smddprun agent, version 1\n";

}  // namespace smddprun
