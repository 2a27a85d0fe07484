// What is outstanding on one communicator: collectives in call order, messages in any. The engine's lock guards everything but queued.
#pragma once

#include "control/analysis.hpp"
#include "engine/remote_mail.hpp"
#include "engine/request.hpp"
#include "engine/route_members.hpp"
#include "node/board.hpp"
#include "node/mail.hpp"

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>

namespace smddp::engine {

// How long a collective of several nodes has kept this rank waiting, and what was done about it.
struct Wait {
  uint32_t sequence = 0;      // of the collective
  int64_t look_time = 0;      // when to have a look at the others
  int64_t look_pause_ms = 0;
  int64_t verdict_limit = 0;  // at the deadline the analyser was asked: until when it may take; 0: it was not
  bool disputed = false;      // it was asked for a mismatch
};

class Queue {
 public:
  // route: of a communicator with ranks on several nodes, else NULL.
  Queue(node::Board& board, uint64_t p2p_buffer_bytes, std::unique_ptr<Route> way = nullptr)
      : board(board), route(std::move(way)), members(make_members()), mail(board, *members, p2p_buffer_bytes) {
    if (route) remote = std::make_unique<RemoteMail>(*route, mail, *members);
  }

  bool idle() const {
    return collectives.empty() && sends.empty() && receives.empty() && !mail.has_outgoing() && !(remote && remote->has_outgoing());
  }

  // Breaks the communicator on all members: the board for those of this node, tell for those of others.
  void fail(smddp_status_t code, const std::string& text) {
    board.fail(code, text);
    if (tell && !told.exchange(true)) {
      const Status status = board.failure(nullptr);  // the first sentence is everybody's
      tell(status);
    }
  }

  node::Board& board;
  const std::unique_ptr<Route> route;
  const std::unique_ptr<node::Members> members;
  node::Mail mail;
  std::unique_ptr<RemoteMail> remote;  // where there is a route
  std::function<void(const Status&)> tell;
  std::function<void(control::Question)> ask;  // where there is a route: the analyser, which fails all members if that is its verdict
  Wait front_wait;                      // where there is a route
  std::atomic<bool> told{false};
  std::deque<Request*> collectives;
  std::map<int, std::list<Request*>> sends;  // that wait for buffer space, by receiver
  std::list<Request*> receives;              // that have no message yet
  uint32_t events_seen = 0;
  bool active = false;                  // in the engine's list
  std::atomic<uint32_t> queued{0};      // collectives: a blocking call goes its short way only past an empty queue

 private:
  std::unique_ptr<node::Members> make_members() const {
    if (route) return std::make_unique<RouteMembers>(board, *route);
    return std::make_unique<node::BoardMembers>(board);
  }
};

}  // namespace smddp::engine
