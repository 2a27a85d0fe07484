// What ranks say to each other when they meet: frames of a 24-byte header and a body, little-endian. Invariant: the header's layout is
// the same in every version of the bootstrap, so that ranks of different versions can say so; nothing is allocated that did not arrive.
//
//   client                     rank 0
//   Hello            ->
//                    <-        Accepted, at once            or Verdict
//   kConfirmed, one byte  ->   now this rank counts as one that has come: it will not give up before its deadline
//                    <-        Table, when all have come    or Verdict, at the deadline
//
// Afterwards a Text of each rank and the Texts of all (gather_texts), or a Verdict from a rank that fails. Connections between other ranks
// begin with a Peer of the rank that connects (connect_peers), then carry notices of the control plane.
#pragma once

#include "base/types.hpp"
#include "bootstrap/bootstrap.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace smddp::bootstrap {

constexpr uint16_t kFrameVersion = 1;
constexpr size_t kHeaderBytes = 24;  // magic 8, version 2, kind 2, body bytes 4, checksum of all of it 8

// Longest texts; meet() refuses longer ones before anything is sent.
constexpr size_t kMaxJobId = 1024, kMaxNode = 1024, kMaxHost = 256, kMaxCpus = 8192, kMaxParameters = 16384;
constexpr size_t kMaxHelloBody = 128 + kMaxJobId + kMaxNode + kMaxHost + kMaxCpus + kMaxParameters;
constexpr size_t kMaxReplyBody = 8192;

constexpr char kConfirmed = 0x06;

enum class Kind : uint16_t { kNone = 0, kHello = 1, kAccepted = 2, kVerdict = 3, kTable = 4, kText = 5, kTexts = 6, kNotice = 7, kPeer = 8 };

struct Hello {
  uint64_t token = 0;  // random, of this call of meet(): tells a client that comes again from another one with its rank
  int32_t rank = 0;
  int32_t size = 0;
  uint32_t protocol = 0;
  int64_t timeout_ms = 0;  // of the client's meet(); −1 for none
  int64_t left_ms = 0;     // what is left of it
  Member member;
  std::string job_id;
  std::string parameters;
  int servers = 0;  // of size, the last; not sent, as the parameters tell

  std::string name() const { return member_name(rank, size - servers); }
  int kin() const { return rank < size - servers ? size - servers : servers; }  // how many ranks, or servers, there are
};

struct Accepted {
  std::string host;  // of rank 0
  int64_t pid = 0;
};

enum class Reason : uint8_t { kFailed = 0, kJob = 1, kSize = 2, kRank = 3, kDuplicate = 4, kVersion = 5 };

struct Verdict {
  Reason reason = Reason::kFailed;
  smddp_status_t code = SMDDP_ERR_BOOTSTRAP;
  std::string text;
};

// A whole frame around a body.
std::string frame(Kind kind, std::string body);

std::string encode(const Hello& hello);
std::string encode(const Accepted& accepted);
std::string encode(const Verdict& verdict);
std::string encode(const Meeting& meeting);

bool decode(std::string_view body, Hello& hello);
bool decode(std::string_view body, Accepted& accepted);
bool decode(std::string_view body, Verdict& verdict);
// size: number of members that there must be.
bool decode(std::string_view body, int size, Meeting& meeting);

// Takes one frame from a non-blocking socket, as it comes, and never reads beyond it.
class FrameReader {
 public:
  enum class State { kMore, kComplete, kClosed, kGarbage, kVersion };

  explicit FrameReader(size_t most_body_bytes) : most_body_bytes_(most_body_bytes) {}
  State read(int fd);
  // The same for bytes that are there; says in used how many belonged to the frame.
  State feed(std::string_view bytes, size_t& used);
  void restart(size_t most_body_bytes);

  Kind kind() const { return kind_; }
  int version() const { return version_; }
  const std::string& body() const { return body_; }

 private:
  State examine();
  size_t wanted() const;

  size_t most_body_bytes_;
  std::string header_, body_;
  size_t body_bytes_ = 0;
  Kind kind_ = Kind::kNone;
  int version_ = 0;
};

// Frames on their way out. They are shared: one table goes to all.
class FrameWriter {
 public:
  enum class State { kMore, kDone, kBroken };
  void add(std::shared_ptr<const std::string> frame);
  State write(int fd);
  bool done() const { return !first_; }

 private:
  std::shared_ptr<const std::string> first_, second_;  // Accepted, and the Table or Verdict behind it
  size_t sent_ = 0;
};

}  // namespace smddp::bootstrap
