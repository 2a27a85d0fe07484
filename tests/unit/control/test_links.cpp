// Ranks as threads, joined by the links of the graph: notices reach everybody once and in order, whoever is dead or stopped; what becomes
// of ranks to whom no way is left; inquiries, also where a rank dies that was to pass an answer on.
#include "base/clock.hpp"
#include "control/graph.hpp"
#include "control/inquiries.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

using namespace smddp;
using namespace smddp::control;

namespace {

class Rank {
 public:
  Rank(int rank, int size, std::vector<UniqueFd> connections) : links(rank, size, neighbours(rank, size), std::move(connections)), rank_(rank), epoll_(epoll_create1(0)) {
    Inquiries::Sources sources;
    sources.report = [this](uint64_t comm) {
      Report report;
      report.known = comm == 5;
      report.begun = report.ended = static_cast<uint32_t>(rank_ == 1 ? 2 : 3);
      return report;
    };
    sources.departed = [](int) { return std::string(); };
    sources.end = [this](uint64_t, const Status& verdict) {
      verdicts.push_back(verdict);
      Notice notice;
      notice.rank = rank_;
      notice.code = verdict.code;
      notice.text = verdict.text;
      links.send(notice);
    };
    inquiries = std::make_unique<Inquiries>(links, rank, std::vector<std::string>(static_cast<size_t>(size), "h"), std::move(sources));
    links.watch(epoll_.get(), 0);
    resume();
  }
  ~Rank() { end(); }

  // Its process is stopped: connections are open, nobody reads.
  void stop() {
    stopped_.store(true);
    if (thread_.joinable()) thread_.join();
  }
  void resume() {
    stopped_.store(false);
    thread_ = std::thread([this] { run(); });
  }
  // Its process has ended.
  void end() {
    stop();
    links.abandon_in_child();
  }

  size_t count() const { return heard_count.load(); }

  Links links;
  std::unique_ptr<Inquiries> inquiries;
  std::vector<Notice> heard;    // read after stop()
  std::vector<Status> verdicts;
  std::atomic<size_t> heard_count{0}, inquiry_count{0};

 private:
  void run() {
    while (!stopped_.load()) {
      epoll_event events[16];
      const int count = epoll_wait(epoll_.get(), events, 16, 1);
      for (int i = 0; i < count; ++i) {
        links.handle(events[i].data.u64, [this](const Notice& notice) {
          if (notice.kind == Notice::Kind::kInquiry) {
            inquiries->hear(notice);
            inquiry_count.fetch_add(1);
            return;
          }
          if (notice.kind == Notice::Kind::kAnswer) return inquiries->take(notice);
          heard.push_back(notice);
          heard_count.fetch_add(1);
        });
      }
      inquiries->expire();
    }
  }

  const int rank_;
  UniqueFd epoll_;
  std::atomic<bool> stopped_{false};
  std::thread thread_;
};

struct World {
  explicit World(int size) {
    std::vector<std::vector<UniqueFd>> ends(static_cast<size_t>(size));
    std::vector<std::vector<int>> graph;
    for (int r = 0; r < size; ++r) graph.push_back(neighbours(r, size));
    for (int r = 0; r < size; ++r) ends[static_cast<size_t>(r)].resize(graph[static_cast<size_t>(r)].size());
    const auto place = [&](int of, int in) -> UniqueFd& {
      const auto& list = graph[static_cast<size_t>(in)];
      return ends[static_cast<size_t>(in)][static_cast<size_t>(std::find(list.begin(), list.end(), of) - list.begin())];
    };
    for (int r = 0; r < size; ++r) {
      for (const int other : graph[static_cast<size_t>(r)]) {
        if (other < r) continue;
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) fail_msg("socketpair");
        place(other, r).reset(pair[0]);
        place(r, other).reset(pair[1]);
      }
    }
    for (int r = 0; r < size; ++r) ranks.push_back(std::make_unique<Rank>(r, size, std::move(ends[static_cast<size_t>(r)])));
  }

  // Until every rank but those left out has heard so many notices.
  bool wait(size_t count, const std::vector<int>& without = {}) {
    for (const int64_t limit = deadline_after_ms(20000); now_ns() < limit; poll(nullptr, 0, 1)) {
      bool all = true;
      for (size_t r = 0; r < ranks.size(); ++r) {
        if (std::find(without.begin(), without.end(), static_cast<int>(r)) == without.end()) all = all && ranks[r]->count() >= count;
      }
      if (all) return true;
    }
    return false;
  }
  void stop() {
    poll(nullptr, 0, 30);  // whatever comes twice comes now
    for (auto& rank : ranks) rank->stop();
  }

  std::vector<std::unique_ptr<Rank>> ranks;
};

Notice failure(int rank, uint64_t number) {
  Notice notice;
  notice.rank = rank;
  notice.comm = number;
  notice.text = "because";
  return notice;
}

void everybody_hears_everything_in_order(void**) {
  for (const int size : {2, 3, 7, 12}) {
    World world(size);
    constexpr uint64_t kEach = 50;
    for (uint64_t i = 1; i <= kEach; ++i) {
      for (int r = 0; r < size; ++r) world.ranks[static_cast<size_t>(r)]->links.send(failure(r, i));
    }
    assert_true(world.wait(kEach * static_cast<size_t>(size - 1)));
    world.stop();
    for (int r = 0; r < size; ++r) {
      std::vector<uint64_t> last(static_cast<size_t>(size), 0);
      for (const Notice& notice : world.ranks[static_cast<size_t>(r)]->heard) {
        assert_int_equal(notice.comm, ++last[static_cast<size_t>(notice.rank)]);
        assert_int_equal(notice.origin, notice.rank);
        assert_string_equal(notice.text.c_str(), "because");
      }
      for (int other = 0; other < size; ++other) assert_int_equal(last[static_cast<size_t>(other)], other == r ? 0 : kEach);
    }
  }
}

// Rank 0 as good as any other.
void the_dead_and_the_stopped_hold_nobody_up(void**) {
  constexpr int kSize = 16;
  World world(kSize);
  world.ranks[0]->end();
  assert_true(world.wait(1, {0}));
  world.ranks[7]->stop();
  world.ranks[8]->stop();
  world.ranks[3]->links.send(failure(3, 9));
  world.ranks[5]->end();
  assert_true(world.wait(2, {0, 3, 5, 7, 8}));
  for (const int64_t limit = deadline_after_ms(20000); now_ns() < limit && world.ranks[4]->count() < 3;) poll(nullptr, 0, 1);
  world.stop();
  for (int r = 1; r < kSize; ++r) {
    if (r == 5 || r == 7 || r == 8) continue;
    const auto& heard = world.ranks[static_cast<size_t>(r)]->heard;
    std::vector<int> times(kSize, 0);
    int failures = 0;
    for (const Notice& notice : heard) {
      if (notice.kind == Notice::Kind::kFailure) {
        ++failures;
        continue;
      }
      assert_int_equal(notice.kind, Notice::Kind::kDied);
      assert_string_equal(notice.text.c_str(), format("rank %d died (connection closed)", notice.rank).c_str());
      ++times[static_cast<size_t>(notice.rank)];
    }
    assert_int_equal(failures, r == 3 ? 0 : 1);
    assert_true(times[0] >= 1 && times[0] <= 8);
    for (const int living : {1, 2, 3, 4, 6, 7, 8, 9, 10}) assert_int_equal(times[static_cast<size_t>(living)], 0);
  }
}

void finalized_is_not_dead(void**) {
  World world(5);
  Notice notice;
  notice.kind = Notice::Kind::kFinalized;
  notice.rank = 2;
  notice.text = "rank 2 has finalized";
  world.ranks[2]->links.send(notice);
  world.ranks[2]->links.flush(deadline_after_ms(1000));
  world.ranks[2]->end();
  assert_true(world.wait(1, {2}));
  world.stop();
  for (const int r : {0, 1, 3, 4}) {
    const auto& heard = world.ranks[static_cast<size_t>(r)]->heard;
    assert_int_equal(heard.size(), 1);
    assert_int_equal(heard[0].kind, Notice::Kind::kFinalized);
  }
}

// All around rank 6 die: the others cannot hear of it any more, nor it of them.
void whom_no_way_reaches_is_lost(void**) {
  World world(12);
  for (const int around : neighbours(6, 12)) world.ranks[static_cast<size_t>(around)]->end();
  const auto lost = [&](int r, int whom) {
    for (const Notice& notice : world.ranks[static_cast<size_t>(r)]->heard) {
      if (notice.kind == Notice::Kind::kDied && notice.rank == whom) return notice.text;
    }
    return std::string();
  };
  assert_true(world.wait(neighbours(6, 12).size() + 1, neighbours(6, 12)));
  world.stop();
  for (const int r : {0, 1, 3, 9, 11}) {
    assert_non_null(strstr(lost(r, 6).c_str(), "rank 6 cannot be reached any more: rank "));
    assert_non_null(strstr(lost(6, r).c_str(), format("rank %d cannot be reached any more: rank ", r).c_str()));
    for (const int other : {0, 1, 3, 9, 11}) assert_true(r == other || lost(r, other).empty());
  }
}

Question question_of(int rank, Reason reason) {
  Question question;
  question.comm = 5;
  question.name = "world";
  question.members = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  question.rank = rank;
  question.reason = reason;
  question.sequence = 3;
  question.call.collective = Collective::kBarrier;
  question.timeout_ms = 100;
  return question;
}

// Several ask at once: one sentence; a stopped one is named and costs the time of an answer, no more.
void one_verdict(void**) {
  for (const bool stopped : {false, true}) {
    World world(10);
    if (stopped) world.ranks[4]->stop();
    const int64_t begin = now_ns();
    for (const int r : {2, 5, 6, 9}) world.ranks[static_cast<size_t>(r)]->inquiries->ask(question_of(r, Reason::kTimeout));
    assert_true(world.wait(1, {2, 4, 5}));
    const int64_t took = now_ns() - begin;
    world.stop();
    size_t verdicts = 0;
    for (auto& rank : world.ranks) verdicts += rank->verdicts.size();
    assert_int_equal(verdicts, 1);
    assert_int_equal(world.ranks[2]->verdicts.size(), 1);
    const std::string expected = std::string("timed out: rank 2 waited 100 ms in barrier() #3 on comm 'world': rank 1 has not called it (its last call is another call #2)") +
                                 (stopped ? ", rank 4 on host h does not answer: its process is stopped or its host hangs" : "");
    assert_string_equal(world.ranks[2]->verdicts[0].text.c_str(), expected.c_str());
    assert_string_equal(world.ranks[7]->heard[0].text.c_str(), expected.c_str());
    assert_true(took < 5000000000);
    if (stopped) assert_true(took >= Inquiries::kAnswerMs * 1000000);
  }
}

// A look says nothing where all is well, and does not keep a rank from asking for good.
void looks_are_silent(void**) {
  World world(10);
  world.ranks[3]->inquiries->ask(question_of(3, Reason::kLook));
  poll(nullptr, 0, 100);
  world.ranks[6]->inquiries->ask(question_of(6, Reason::kTimeout));
  assert_true(world.wait(1, {6}));
  world.stop();
  for (size_t r = 0; r < 10; ++r) assert_int_equal(world.ranks[r]->verdicts.size(), r == 6);
}

// Rank 1 dies after it has passed the inquiry on to rank 3, and before the answer.
void an_answer_may_be_lost_on_its_way(void**) {
  World world(6);
  const auto& neighbours_of_3 = neighbours(3, 6);
  assert_true(std::find(neighbours_of_3.begin(), neighbours_of_3.end(), 0) == neighbours_of_3.end());
  const auto asked = [&](size_t rank) {
    for (const int64_t limit = deadline_after_ms(20000); now_ns() < limit && world.ranks[rank]->inquiry_count.load() == 0;) poll(nullptr, 0, 1);
    return world.ranks[rank]->inquiry_count.load() > 0;
  };
  for (const size_t r : {2, 3, 4, 5}) world.ranks[r]->stop();
  Question question = question_of(0, Reason::kTimeout);
  question.members = {0, 2, 3, 4, 5};
  world.ranks[0]->inquiries->ask(question);
  assert_true(asked(1));
  world.ranks[0]->stop();
  world.ranks[1]->stop();
  world.ranks[3]->resume();
  assert_true(asked(3));
  world.ranks[1]->end();
  for (const size_t r : {0, 2, 4, 5}) world.ranks[r]->resume();
  assert_true(world.wait(2, {0, 1}));  // the death and the verdict
  world.stop();
  assert_int_equal(world.ranks[0]->verdicts.size(), 1);
  assert_string_equal(world.ranks[0]->verdicts[0].text.c_str(),
                      "timed out: rank 0 waited 100 ms in barrier() #3 on comm 'world': all have called it but are slow");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(everybody_hears_everything_in_order), cmocka_unit_test(the_dead_and_the_stopped_hold_nobody_up),
                              cmocka_unit_test(finalized_is_not_dead), cmocka_unit_test(whom_no_way_reaches_is_lost), cmocka_unit_test(one_verdict),
                              cmocka_unit_test(looks_are_silent), cmocka_unit_test(an_answer_may_be_lost_on_its_way)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
