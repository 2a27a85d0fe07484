// Messages between the ranks of a board: matched by source and tag in the order in which they were sent. A sent message belongs to the
// library at once (inline in its entry, or copied into the sender's heap), so two ranks that both send first never block each other.
// Each peer has its own share of memory: of one that does not receive, others notice nothing. The caller serialises all calls (the engine's lock).
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

// The ranks that may send here: all members of a communicator, also those that its board does not have.
class Members {
 public:
  virtual ~Members() = default;
  virtual int size() const = 0;
  virtual int rank() const = 0;
  virtual int world_rank(int rank) const = 0;
  virtual int board_rank(int rank) const = 0;         // −1: on another node
  virtual int rank_on_board(int board_rank) const = 0;
  virtual bool has_left(int rank) const = 0;           // and nothing it sent is still on its way
  virtual bool is_dead(int rank) const = 0;
  virtual std::string departed(int rank) const = 0;    // why it left; −1: why anybody did
};

// Where the board has them all.
class BoardMembers final : public Members {
 public:
  explicit BoardMembers(const Board& board) : board_(board) {}
  int size() const override { return board_.size(); }
  int rank() const override { return board_.rank(); }
  int world_rank(int rank) const override { return board_.global_rank(rank); }
  int board_rank(int rank) const override { return rank; }
  int rank_on_board(int board_rank) const override { return board_rank; }
  bool has_left(int rank) const override { return board_.group().has_left(local(rank)); }
  bool is_dead(int rank) const override { return board_.group().state(local(rank)) == RankState::kDead; }
  std::string departed(int rank) const override { return rank < 0 ? board_.group().departed(board_.members()) : board_.group().departed({local(rank)}); }

 private:
  int local(int rank) const { return board_.members()[static_cast<size_t>(rank)]; }
  const Board& board_;
};

class Mail {
 public:
  // buffer_bytes: that messages to each rank, or from each of another node, may take; less where the heap is too small for that.
  Mail(Board& board, const Members& members, uint64_t buffer_bytes);
  ~Mail();

  // Whether nothing can be sent to a rank: the communicator is broken or the rank has left.
  bool refuses(int rank, int tag, size_t bytes, Status& status) const;

  // Takes the message to a rank of the board over: kDone; kAgain while so many bytes to it are in flight that it has to wait; kFailed with status.
  Step send(int rank, int tag, const void* data, size_t bytes, Status& status);

  // Matches a receive with what has come, or remembers it until it is done; it must stay where it is.
  void post(Receive& receive);
  void cancel(Receive& receive);

  // A message from a rank of another node: short, or in a block of this rank's heap that receive_block() gave.
  void arrive(int source, const MailEntry& entry);
  bool awaits(int source, int tag) const;  // whether a receive that is posted takes it
  bool is_full(int peer, size_t bytes);            // so many more would exceed what may be in flight
  uint64_t receive_block(int peer, size_t bytes);  // kNoOffset: no room now
  void drop_block(uint64_t offset);
  unsigned char* block_data(uint64_t offset) const { return board_.group().arena()->at(offset) + sizeof(MailBlock); }

  // Moves what can be moved. True if anything was.
  bool progress();

  uint64_t buffer_bytes() const { return buffer_bytes_; }

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
  struct Block {
    uint64_t offset;
    int peer;  // whose message it is, or to whom
  };
  struct Arrived {
    int source;
    MailEntry entry;
  };
  bool push(int destination, const MailEntry& entry);
  bool take_all();
  void deliver(const Arrived& arrived, Receive& receive);
  void reclaim();

  std::string where() const;

  Board& board_;
  const Members& members_;
  uint64_t buffer_bytes_;
  std::vector<uint64_t> in_flight_bytes_;  // by rank
  std::deque<Outgoing> outgoing_;   // taken over, but the mailbox is full
  std::deque<Arrived> unexpected_;  // in order of arrival
  std::list<Receive*> posted_;      // in order of posting
  std::list<Block> blocks_;         // MailBlocks that receivers may still need
};

}  // namespace smddp::node
