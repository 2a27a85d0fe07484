// Messages between nodes that nobody receives take a bounded part of the receiver's memory, and hold no other sender's message up.
#include "unit/engine/loopback_world.hpp"

#include <sched.h>

#include <thread>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
extern "C" {
#include <cmocka.h>
}

namespace {

using namespace smddp;

constexpr size_t kLong = 100000, kRoom = 1 << 17;  // of which one long message leaves too little for another

class Rank {
 public:
  Rank(test::LoopbackWorld& world, int rank)
      : engine_(std::make_shared<engine::Engine>(world.nodes[static_cast<size_t>(rank)]->group(0), engine::WaitPolicy{true}, false,
                                                 std::move(world.wires[static_cast<size_t>(rank)]))),
        comm_(test::Comm::make(world, world.comms[0], rank, engine_->wire(), kRoom)) {}

  engine::Request* post(engine::RequestKind kind, int peer, int tag, size_t bytes) {
    engine::Request* request = engine::take_request();
    request->kind = kind;
    request->engine = engine_;
    request->timeout_ms = 60000;
    request->deadline = deadline_after_ms(60000);
    request->peer = peer;
    request->tag = tag;
    memory_.push_back(std::make_unique<unsigned char[]>(bytes));
    request->call.sendbuf = request->receive.buffer = memory_.back().get();
    request->call.count = request->receive.capacity = bytes;
    request->receive.source = peer;
    request->receive.tag = tag;
    engine_->submit(*comm_->queue, *request, true);
    return request;
  }
  engine::Request* send(int peer, int tag, size_t bytes) { return post(engine::RequestKind::kSend, peer, tag, bytes); }
  engine::Request* receive(int peer, int tag, size_t bytes) { return post(engine::RequestKind::kRecv, peer, tag, bytes); }

  std::string finish(const char* what, engine::Request* request) {
    const bool ended = engine_->wait(*request, deadline_after_ms(5000));
    const std::string problem = !ended ? format("%s does not end", what) : request->status.text;
    if (ended) engine::release_request(request);
    return problem;
  }

  void look_around(int ms) {
    for (const int64_t limit = deadline_after_ms(ms); now_ns() < limit; sched_yield()) engine_->drive();
  }

  void end() {
    engine_->flush(deadline_after_ms(10000));
    engine_->stop({SMDDP_ERR_ABORTED, "the test is over"});
    engine_->wire()->transport().quiesce(deadline_after_ms(10000));
    engine_->cancel(*comm_->queue, {SMDDP_ERR_ABORTED, "the test is over"});
  }

 private:
  std::vector<std::unique_ptr<unsigned char[]>> memory_;
  std::shared_ptr<engine::Engine> engine_;
  std::unique_ptr<test::Comm> comm_;
};

// Rank 0 fills what rank 2 has for messages without receive; rank 1's message is received all the same.
std::string play(Rank& self, int rank) {
  std::string problem;
  if (rank == 0) {
    for (int i = 0; i < 3 && problem.empty(); ++i) problem = self.finish("a long send", self.send(2, 1, kLong));
    if (problem.empty()) problem = self.finish("the last send", self.send(2, 9, 0));
  } else if (rank == 1) {
    problem = self.finish("the send of rank 1", self.send(2, 2, kLong));
  } else {
    engine::Request* last = self.receive(0, 9, 0);
    self.look_around(200);
    problem = self.finish("the receive from rank 1", self.receive(1, 2, kLong));
    for (int i = 0; i < 3 && problem.empty(); ++i) problem = self.finish("a long receive", self.receive(0, 1, kLong));
    if (problem.empty()) problem = self.finish("the last receive", last);
  }
  self.end();
  return problem;
}

void a_posted_receive_is_served(void**) {
  test::LoopbackWorld world({0, 1, 2}, {}, {.size = 3});
  world.add_comm({0, 1, 2}, 1);
  std::vector<std::unique_ptr<Rank>> ranks;
  std::vector<std::string> problems(3);
  std::vector<std::thread> threads;
  for (int r = 0; r < 3; ++r) world.connect(r);
  for (int r = 0; r < 3; ++r) ranks.push_back(std::make_unique<Rank>(world, r));
  for (size_t r = 0; r < 3; ++r) threads.emplace_back([&, r] { problems[r] = play(*ranks[r], static_cast<int>(r)); });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& problem : problems) {
    if (!problem.empty()) fail_msg("%s", problem.c_str());
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(a_posted_receive_is_served)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
