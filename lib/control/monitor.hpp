// Who is alive: one thread a context, always asleep in epoll, watches the connections and processes of the node's ranks. The end of a
// connection or process of a rank that has not finalized is its death, which is marked in the arena for all. A stopped process is not dead.
// The same thread serves the links to other nodes and ends inquiries.
#pragma once

#include "control/inquiries.hpp"
#include "node/group.hpp"

#include <atomic>
#include <thread>
#include <vector>

namespace smddp::control {

class Monitor {
 public:
  // Takes the connections over. links, inquiries: nullable, of a job of several nodes; handler gets notices on the monitor's thread. A
  // group of one without links needs no thread. Throws SYSTEM, RESOURCE.
  Monitor(node::Group& group, std::vector<UniqueFd> connections, const std::vector<int64_t>& pids, Links* links, Inquiries* inquiries,
          Links::Handler handler);
  ~Monitor();

  void stop();

  // Any thread: there is a new inquiry.
  void wake();

  // In a forked child: closes what would hide this process's death from its peers.
  void abandon_in_child();

 private:
  struct Watch {
    UniqueFd fd;
    int local_rank;
    bool connection;
  };
  void add(UniqueFd fd, int local_rank, bool connection);
  void loop();
  void handle(size_t index);

  node::Group& group_;
  Links* links_;
  Inquiries* inquiries_;
  Links::Handler handler_;
  UniqueFd epoll_, wake_;
  std::atomic<bool> stopped_{false};
  std::vector<Watch> watches_;
  std::thread thread_;
};

}  // namespace smddp::control
