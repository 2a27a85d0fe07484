// Messages between nodes that nobody receives take a bounded part of their sender's and receiver's memory, and hold no others up.
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

// Rank 0 fills what rank 2 has for its messages without receive; another one that is awaited is received all the same, and rank 1's too.
std::string play(Rank& self, int rank) {
  std::string problem;
  if (rank == 0) {
    for (const int tag : {1, 2}) {
      if (problem.empty()) problem = self.finish("a long send", self.send(2, tag, kLong));
    }
    if (problem.empty()) problem = self.finish("the last send", self.send(2, 9, 0));
  } else if (rank == 1) {
    problem = self.finish("the send of rank 1", self.send(2, 2, kLong));
  } else {
    engine::Request* last = self.receive(0, 9, 0);
    self.look_around(200);
    problem = self.finish("the receive from rank 1", self.receive(1, 2, kLong));
    for (const int tag : {2, 1}) {
      if (problem.empty()) problem = self.finish("a long receive", self.receive(0, tag, kLong));
    }
    if (problem.empty()) problem = self.finish("the last receive", last);
  }
  self.end();
  return problem;
}

// Rank 1 receives nothing of much that rank 0 sends it until rank 2 has its own.
std::string play_with_one_away(Rank& self, int rank) {
  constexpr int kMessages = 20;
  std::string problem;
  std::vector<engine::Request*> waiting;
  if (rank == 0) {
    for (int i = 0; i < kMessages; ++i) waiting.push_back(self.send(1, 1, kLong));
    for (int i = 0; i < kMessages && problem.empty(); ++i) problem = self.finish("a send to rank 2", self.send(2, 2, kLong));
    for (size_t i = 0; i < waiting.size() && problem.empty(); ++i) problem = self.finish("a send to rank 1", waiting[i]);
  } else if (rank == 1) {
    problem = self.finish("the word of rank 2", self.receive(2, 3, 0));
    for (int i = 0; i < kMessages && problem.empty(); ++i) problem = self.finish("a receive of rank 1", self.receive(0, 1, kLong));
  } else {
    for (int i = 0; i < kMessages && problem.empty(); ++i) problem = self.finish("a receive of rank 2", self.receive(0, 2, kLong));
    if (problem.empty()) problem = self.finish("the word to rank 1", self.send(1, 3, 0));
  }
  self.end();
  return problem;
}

void run(std::string (*play)(Rank&, int)) {
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

void a_posted_receive_is_served(void**) { run(play); }
void one_that_does_not_receive_stops_no_others(void**) { run(play_with_one_away); }

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(a_posted_receive_is_served), cmocka_unit_test(one_that_does_not_receive_stops_no_others)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
