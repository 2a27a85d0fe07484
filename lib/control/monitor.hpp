// Who is alive: one thread a context, always asleep in epoll, watches the connections and processes of the node's ranks. The end of a
// connection or process of a rank that has not finalized is its death, which is marked in the arena for all. A stopped process is not dead.
#pragma once

#include "control/links.hpp"
#include "node/group.hpp"

#include <memory>
#include <thread>
#include <vector>

namespace smddp::control {

class Monitor {
 public:
  // Takes the connections over. links: nullable, to other nodes; handler gets their notices on the monitor's thread. A group of one
  // without links needs no thread. Throws SYSTEM, RESOURCE.
  Monitor(node::Group& group, std::vector<UniqueFd> connections, const std::vector<int64_t>& pids, std::unique_ptr<Links> links,
          Links::Handler handler);
  ~Monitor();

  void stop();
  Links* links() { return links_.get(); }

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
  std::unique_ptr<Links> links_;
  Links::Handler handler_;
  UniqueFd epoll_, stop_;
  std::vector<Watch> watches_;
  std::thread thread_;
};

}  // namespace smddp::control
