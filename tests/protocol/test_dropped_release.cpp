// Exchanges payloads through entry slots whose word is stored without release. Right by luck on many machines; ThreadSanitizer must see
// that nothing orders the payload. Expected to be reported, see dropped_release.cmake.
#include "protocol/ranks.hpp"

#include <sched.h>

#include <thread>

using namespace smddp;

int main() {
  test::Node node(2);
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r) {
    threads.emplace_back([&node, r] {
      for (uint32_t k = 0; k < 200; ++k) {
        test::Case c;
        c.prepare(r, 2, k, Collective::kAllgather, 4, 0, false);
        node::Operation operation;
        operation.call = c.call;
        while (node.board(r).step(operation) != node::Step::kDone) sched_yield();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}
