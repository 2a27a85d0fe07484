// What ranks of one node share in memory: every layout, size and ordering rule of the shared-memory protocol, and its version.
// Invariant: each word has one writer; a reader that acquires a word sees all that its writer wrote before releasing it.
//
// Order of an operation with sequence number s on a board: the rank writes history[s % 16], then the payload of slot[s % 4], then the
// slot's word (release). Peers compare the whole word. Slot s % 4 may be written again, for s + 4, only when every peer has consumed s:
// known from a later operation in which everybody read everybody, or from the peers' consumed lines.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace smddp::node {

constexpr uint32_t kProtocolVersion = 4;
constexpr uint64_t kArenaMagic = 0x31414e4552415053;  // "SPARENA1"

constexpr size_t kLineBytes = 128;  // two cache lines: the prefetcher fetches them as a pair
constexpr size_t kPageBytes = 4096;
constexpr int kSlots = 4;
constexpr int kHistory = 16;
constexpr size_t kInlineBytes = 112;
constexpr size_t kLinePayload = 56;
constexpr size_t kMaxEagerBytes = 64 * 1024;
constexpr size_t kFailureText = 1004, kCauseText = 256;
constexpr int kMailEntries = 8;
constexpr size_t kMailInlineBytes = 96;

// ---- The board of one communicator ----

// One rank's entry into one operation: two cache lines, each with a word and payload. Data of up to 56 bytes, and descriptors, need
// only the first; the second line is written before the first line's word.
struct alignas(kLineBytes) Slot {
  std::atomic<uint64_t> word;  // sequence << 32 | signature
  unsigned char payload[kLinePayload];
  std::atomic<uint64_t> second_word;
  unsigned char second_payload[kLinePayload];

  void write(const void* data, size_t bytes, uint64_t value) {
    const size_t first = bytes < kLinePayload ? bytes : kLinePayload;
    if (bytes > first) {
      std::memcpy(second_payload, static_cast<const unsigned char*>(data) + first, bytes - first);
      second_word.store(value, std::memory_order_release);
    }
    if (first) std::memcpy(payload, data, first);
  }
  void read(unsigned char* data, size_t bytes) const {
    std::memcpy(data, payload, kLinePayload);
    std::memcpy(data + kLinePayload, second_payload, bytes - kLinePayload);
  }
};

constexpr bool uses_second_line(size_t bytes) { return bytes > kLinePayload && bytes <= kInlineBytes; }

// Largest contribution that travels with its entry, in a buffer beside the slots: above, cutting the work among the ranks pays.
constexpr size_t eager_bytes(int ranks) {
  return ranks <= 2 ? kMaxEagerBytes : ranks <= 4 ? kMaxEagerBytes / 2 : ranks <= 8 ? kMaxEagerBytes / 4 : kMaxEagerBytes / 8;
}

// What a slot carries when the data is larger than the eager buffer. Offsets count from the start of the arena; kNoOffset: not there.
struct Descriptor {
  uint64_t send_offset;    // sendbuf, if it lies in the arena
  uint64_t recv_offset;    // recvbuf, likewise
  uint64_t window_offset;  // this rank's window for this operation
};
constexpr uint64_t kNoOffset = ~uint64_t{0};

// How far a rank is in the stream of large operations; all counters only grow, over the life of the board. Single writer.
struct alignas(kLineBytes) Progress {
  std::atomic<uint64_t> posted;    // segments of contributions that peers may read
  std::atomic<uint64_t> reduced;   // segments of this rank's share that are complete, hence may be read
  std::atomic<uint64_t> gathered;  // segments that this rank has read from all others
  std::atomic<uint32_t> consumed;  // sequence up to which this rank needs no slot of others; written by operations without a full exchange
};

// One call, as the mismatch sentence and the analyser need it. Relaxed atomics: read by others only to explain an error.
struct CallRecord {
  std::atomic<uint64_t> count;
  std::atomic<uint64_t> call;  // collective 8 | op 16 | dtype 16 | algorithm 8 | unused 16 (low to high)
  std::atomic<uint64_t> root_and_sequence;
  std::atomic<uint64_t> reserved;
};

enum class FailureState : uint32_t { kNone = 0, kClaimed = 1, kReady = 2 };

struct alignas(kLineBytes) BoardHeader {
  std::atomic<uint32_t> failure;  // FailureState; the first to claim writes the sentence
  std::atomic<uint32_t> left;     // members that have freed the communicator
  int32_t code;                   // smddp_status_t
  int32_t origin;                 // rank in the communicator that found or caused it
  int32_t members;                // of the communicator
  char text[kFailureText];
};

struct MailEntry {
  uint64_t bytes;
  uint64_t offset;  // of a MailBlock in the arena, or kNoOffset: the bytes are inline
  int32_t tag;
  uint32_t reserved;
  unsigned char payload[kMailInlineBytes];
};

// In front of a message that is too long for its entry; belongs to the sender's heap until the receiver sets released.
struct alignas(kLineBytes) MailBlock {
  std::atomic<uint32_t> released;
};

// Messages from one rank to another.
struct Mailbox {
  alignas(kLineBytes) std::atomic<uint64_t> written;  // by the sender
  alignas(kLineBytes) std::atomic<uint64_t> taken;    // by the receiver
  alignas(kLineBytes) MailEntry entries[kMailEntries];
};

// ---- The arena ----

enum class RankState : uint32_t { kAbsent = 0, kJoined = 1, kFinalized = 2, kDead = 3 };

struct alignas(kLineBytes) RankLine {
  std::atomic<uint32_t> state;        // RankState
  std::atomic<uint32_t> order;        // value of events when the rank died or finalized: who was first
  std::atomic<uint32_t> reason;       // DeathReason
  std::atomic<int32_t> pid;           // in the rank's own name space, for messages
  alignas(64) std::atomic<uint32_t> sleeping;  // threads of this rank that wait for its doorbell
  alignas(kLineBytes) char cause[kCauseText];  // of a rank that finalized: the death on another node that it knew of; written before state
};

enum class DeathReason : uint32_t { kConnection = 0, kProcess = 1 };

struct alignas(kLineBytes) ArenaHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t ranks;        // of this node
  uint64_t heap_offset;  // of rank 0's heap
  uint64_t heap_bytes;   // of each rank's heap
  uint64_t board_offset; // of the world communicator's board
  std::atomic<uint64_t> stream_bytes;  // from this size on, what a peer reads next is written past the caches; by rank 0, once
  alignas(kLineBytes) std::atomic<uint32_t> events;    // deaths, finalizes, failures: read-mostly, polled by every waiter
  alignas(kLineBytes) std::atomic<uint32_t> sleepers;  // ranks with sleeping threads: read-mostly, read after every publication
};

static_assert(sizeof(Slot) == kLineBytes && offsetof(Slot, second_word) == 64 && kInlineBytes == 2 * kLinePayload);
static_assert(sizeof(Descriptor) <= kLinePayload);
static_assert(sizeof(Progress) == kLineBytes);
static_assert(sizeof(CallRecord) == 32);
static_assert(sizeof(BoardHeader) % kLineBytes == 0 && sizeof(BoardHeader) == 1024);
static_assert(sizeof(MailEntry) == 120);
static_assert(sizeof(Mailbox) % kLineBytes == 0);
static_assert(sizeof(RankLine) == kLineBytes + kCauseText);
static_assert(sizeof(ArenaHeader) == 3 * kLineBytes);
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

// Byte offsets of a board's parts for a communicator of n ranks.
struct BoardLayout {
  size_t slots, progress, history, eager, mail, bytes;
  explicit constexpr BoardLayout(size_t n)
      : slots(sizeof(BoardHeader)),
        progress(slots + kSlots * n * sizeof(Slot)),
        history(progress + n * sizeof(Progress)),
        eager((history + n * kHistory * sizeof(CallRecord) + kPageBytes - 1) / kPageBytes * kPageBytes),
        mail(eager + kSlots * n * eager_bytes(static_cast<int>(n))),
        bytes((mail + n * n * sizeof(Mailbox) + kPageBytes - 1) / kPageBytes * kPageBytes) {}
};

}  // namespace smddp::node
