// TIMEOUT 180
// Ranks that die or stop while they meet, as processes: rank 0 gone is an error at once, another rank gone may come again.
#include "base/log.hpp"
#include "unit/bootstrap/ranks.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <thread>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
extern "C" {
#include <cmocka.h>
}

using namespace smddp;
using namespace smddp::bootstrap;
using namespace smddp::bootstrap::test;

static void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// A rank as a process; its exit status is 0 if the meeting was complete.
static pid_t start_process(const Rank& rank) {
  const pid_t child = fork();
  if (child != 0) return child;
  Rank mine(rank.placement.rank, rank.placement.size, rank.placement.port);
  mine.timeout_ms = rank.timeout_ms;
  _exit(check_meeting(attend(std::move(mine)), rank.placement.size).empty() ? 0 : 1);
}

static int end_of(pid_t child, int signal_number = 0) {
  if (signal_number) kill(child, signal_number);
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

static void dead_root(void**) {
  const int port = free_port();
  const pid_t root = start_process(Rank(0, 4, port));
  std::vector<Attendance> ranks;
  ranks.push_back(start(Rank(1, 4, port)));
  ranks.push_back(start(Rank(2, 4, port)));
  sleep_ms(400);
  const int64_t killed = now_ns();
  end_of(root, SIGKILL);
  for (Attendance& rank : ranks) {
    const Outcome outcome = rank.get();
    assert_code(outcome, SMDDP_ERR_BOOTSTRAP);
    assert_contains(outcome.text, format("rank 0 (host0, pid 1000, 127.0.0.1 port %d) closed the connection before all 4 ranks had come", port).c_str());
  }
  assert_true(now_ns() - killed < 5000000000);
}

static void a_dead_rank_may_come_again(void**) {
  const int port = free_port();
  Attendance root = start(Rank(0, 3, port));
  const pid_t victim = start_process(Rank(1, 3, port));
  sleep_ms(300);
  end_of(victim, SIGKILL);
  Attendance again = start(Rank(1, 3, port));
  sleep_ms(200);
  Attendance last = start(Rank(2, 3, port));
  assert_nothing(check_meeting(again.get(), 3));
  assert_nothing(check_meeting(last.get(), 3));
  assert_nothing(check_meeting(root.get(), 3));
}

static void a_dead_rank_that_stays_away_is_named(void**) {
  const int port = free_port();
  Rank zero(0, 2, port);
  zero.placement.size = 3;
  zero.timeout_ms = 1200;
  Attendance root = start(std::move(zero));
  const pid_t victim = start_process(Rank(1, 3, port));
  sleep_ms(300);
  end_of(victim, SIGKILL);
  const Outcome outcome = root.get();
  assert_code(outcome, SMDDP_ERR_TIMEOUT);
  assert_contains(outcome.text, "rank 0 waited 1200 ms; ranks 1, 2 of 3 did not come");
  assert_contains(outcome.text, "rank 1 (host1, pid 1001) left before all 3 ranks had come");
}

// Clients that find the socket of rank 0 in time but rank 0 itself only after they have asked several times.
static void root_that_is_late_at_its_socket(void**) {
  UniqueFd listener = listen_at(loopback(0));
  const int port = local_address(listener.get()).port();
  std::vector<Attendance> ranks;
  for (int rank = 1; rank < 8; ++rank) ranks.push_back(start(Rank(rank, 8, port)));
  sleep_ms(4000);
  Rank root(0, 8, port);
  root.placement.listener = std::move(listener);
  ranks.push_back(start(std::move(root)));
  assert_nothing(check_all(ranks, 8));
}

// Rank 0 is stopped again and again, for longer than a client waits for an answer: nobody counts twice, nobody is lost.
static void stopped_root(void**) {
  for (const int stop_ms : {900, 1000, 1100, 2500}) {
    const int port = free_port();
    const pid_t root = start_process(Rank(0, 6, port));
    sleep_ms(100);
    kill(root, SIGSTOP);
    std::vector<Attendance> ranks;
    for (int rank = 1; rank < 6; ++rank) ranks.push_back(start(Rank(rank, 6, port)));
    sleep_ms(stop_ms);
    kill(root, SIGCONT);
    const std::string wrong = check_all(ranks, 6);
    const int status = end_of(root);
    assert_nothing(wrong);
    assert_int_equal(status, 0);
  }
}

// Back to back on one port, every other start killed at a random moment.
static void quick_restarts(void**) {
  const int port = free_port();
  for (int i = 0; i < 50; ++i) {
    std::vector<pid_t> processes;
    for (int rank = 0; rank < 3; ++rank) processes.push_back(start_process(Rank(rank, 3, port)));
    const bool killed = i % 2 == 0;
    if (killed) std::this_thread::sleep_for(std::chrono::microseconds(i * 400));
    for (const pid_t process : processes) {
      const int status = end_of(process, killed ? SIGKILL : 0);
      if (!killed && status != 0) fail_msg("start %d: status %d", i, status);
    }
  }
}

// No descriptor of a meeting outlives it, and none of them reaches a program that the process executes.
static void nothing_is_left(void**) {
  const auto count = [] {
    int open = 0;
    for (int fd = 0; fd < 1024; ++fd) open += fcntl(fd, F_GETFD) >= 0;
    return open;
  };
  const int before = count();
  for (int i = 0; i < 20; ++i) {
    const int port = free_port();
    std::vector<Attendance> ranks;
    for (int rank = 0; rank < 3; ++rank) ranks.push_back(start(Rank(rank, 3, port)));
    assert_nothing(check_all(ranks, 3));
  }
  assert_int_equal(count(), before);
  const int port = free_port();
  std::vector<Attendance> ranks;
  ranks.push_back(start(Rank(0, 3, port)));
  ranks.push_back(start(Rank(1, 3, port)));
  int inherited = 0, found = 0;
  for (const int64_t until = deadline_after_ms(10000); found < 3 && now_ns() < until;) {
    sleep_ms(100);
    found = inherited = 0;
    for (int fd = 3; fd < 1024; ++fd) {
      const int flags = fcntl(fd, F_GETFD);
      sockaddr_storage name;
      socklen_t length = sizeof(name);
      if (flags < 0 || getsockname(fd, reinterpret_cast<sockaddr*>(&name), &length) != 0) continue;
      ++found;
      inherited += !(flags & FD_CLOEXEC);
    }
  }
  ranks.push_back(start(Rank(2, 3, port)));
  assert_nothing(check_all(ranks, 3));
  assert_true(found >= 3);
  assert_int_equal(inherited, 0);
}

int main() {
  set_log_level(Level::kError);
  const CMUnitTest tests[] = {
      cmocka_unit_test(dead_root),
      cmocka_unit_test(a_dead_rank_may_come_again),
      cmocka_unit_test(a_dead_rank_that_stays_away_is_named),
      cmocka_unit_test(root_that_is_late_at_its_socket),
      cmocka_unit_test(stopped_root),
      cmocka_unit_test(quick_restarts),
      cmocka_unit_test(nothing_is_left),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
