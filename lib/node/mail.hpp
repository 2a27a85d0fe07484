// Messages between the ranks of a board: matched by source and tag in the order in which they were sent. A sent message belongs to the
// library at once (inline in its entry, or copied into the sender's heap), so two ranks that both send first never block each other.
// The caller serialises all calls (the engine's lock).
#pragma once

#include "node/board.hpp"

#include <deque>
#include <list>

namespace smddp::node {

struct Receive {
  void* buffer = nullptr;
  size_t capacity = 0;  // bytes
  int source = SMDDP_ANY_SOURCE;
  int tag = SMDDP_ANY_TAG;

  bool done = false;
  Status status;
  int message_source = 0, message_tag = 0;
  size_t message_bytes = 0;
};

class Mail {
 public:
  explicit Mail(Board& board, uint64_t buffer_bytes) : board_(board), buffer_bytes_(buffer_bytes) {}
  ~Mail();

  // Takes the message over: kDone; kAgain while so many bytes are in flight that it has to wait for receivers; kFailed with status.
  Step send(int destination, int tag, const void* data, size_t bytes, Status& status);

  // Matches a receive with what has come, or remembers it until it is done; it must stay where it is.
  void post(Receive& receive);
  void cancel(Receive& receive);

  // Moves what can be moved. True if anything was.
  bool progress();

  // Whether there is anything to progress.
  bool busy() const { return !outgoing_.empty() || !posted_.empty(); }
  bool has_outgoing() const { return !outgoing_.empty(); }

  // Ends posted receives, and sends to ranks that have left, with an error where they can never complete.
  bool drop_hopeless();

 private:
  struct Outgoing {
    int destination;
    MailEntry entry;
  };
  struct Arrived {
    int source;
    MailEntry entry;
  };
  bool push(int destination, const MailEntry& entry);
  bool take_all();
  void deliver(const Arrived& arrived, Receive& receive);
  void reclaim();

  Board& board_;
  uint64_t buffer_bytes_;
  uint64_t in_flight_bytes_ = 0;
  std::deque<Outgoing> outgoing_;   // taken over, but the mailbox is full
  std::deque<Arrived> unexpected_;  // in order of arrival
  std::list<Receive*> posted_;      // in order of posting
  std::list<uint64_t> blocks_;      // MailBlocks that receivers may still need
};

}  // namespace smddp::node
