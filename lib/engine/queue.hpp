// What is outstanding on one communicator: collectives in call order, messages in any. The engine's lock guards everything but queued.
#pragma once

#include "engine/request.hpp"
#include "node/board.hpp"
#include "node/mail.hpp"

#include <deque>
#include <list>

namespace smddp::engine {

class Queue {
 public:
  Queue(node::Board& board, uint64_t p2p_buffer_bytes) : board(board), mail(board, p2p_buffer_bytes) {}

  bool idle() const { return collectives.empty() && sends.empty() && receives.empty() && !mail.has_outgoing(); }

  node::Board& board;
  node::Mail mail;
  std::deque<Request*> collectives;
  std::list<Request*> sends;     // that wait for buffer space
  std::list<Request*> receives;  // that have no message yet
  uint32_t events_seen = 0;
  bool active = false;                  // in the engine's list
  std::atomic<uint32_t> queued{0};      // collectives: a blocking call goes its short way only past an empty queue
};

}  // namespace smddp::engine
