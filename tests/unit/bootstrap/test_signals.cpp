// Signals whose handlers do not restart system calls, every millisecond, while ranks meet.
#include "base/log.hpp"
#include "unit/bootstrap/ranks.hpp"

#include <signal.h>
#include <sys/time.h>

#include <atomic>
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

static std::atomic<int> g_signals{0};

static void count_signal(int) { g_signals.fetch_add(1, std::memory_order_relaxed); }

// Every thread of the meeting is hit, not only the one that the kernel likes best.
static void storm(const std::atomic<bool>& stop, const std::vector<pthread_t>& threads) {
  while (!stop) {
    for (const pthread_t thread : threads) pthread_kill(thread, SIGUSR1);
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
}

static void meetings_in_a_storm_of_signals(void**) {
  struct sigaction action {};
  action.sa_handler = count_signal;
  sigaction(SIGALRM, &action, nullptr);
  sigaction(SIGUSR1, &action, nullptr);
  const itimerval every{{0, 1000}, {0, 1000}}, never{};
  setitimer(ITIMER_REAL, &every, nullptr);
  std::string wrong;
  for (int round = 0; round < 15 && wrong.empty(); ++round) {
    constexpr int kSize = 6;
    const int port = free_port();
    std::vector<Outcome> outcomes(kSize);
    std::vector<std::thread> ranks;
    std::vector<pthread_t> handles;
    std::atomic<int> ended{0};
    for (int rank = 0; rank < kSize; ++rank) {
      ranks.emplace_back([&, rank] {
        // The last one is late, so that the others wait in the storm.
        if (rank == kSize - 1) {
          const int64_t until = deadline_after_ms(150);
          while (now_ns() < until) std::this_thread::yield();
        }
        outcomes[static_cast<size_t>(rank)] = attend(Rank(rank, kSize, port, round % 2 ? "localhost" : "127.0.0.1"));
        ++ended;
        // Stays alive until all have ended: the storm aims at its handle.
        while (ended < kSize) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      });
      handles.push_back(ranks.back().native_handle());
    }
    std::atomic<bool> stop{false};
    std::thread sender([&] { storm(stop, handles); });
    while (ended < kSize) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stop = true;
    sender.join();
    for (std::thread& rank : ranks) rank.join();
    for (const Outcome& outcome : outcomes) wrong += check_meeting(outcome, kSize);
  }
  setitimer(ITIMER_REAL, &never, nullptr);
  assert_nothing(wrong);
  assert_true(g_signals > 1000);
}

static void deadlines_hold_in_a_storm_of_signals(void**) {
  const itimerval every{{0, 1000}, {0, 1000}}, never{};
  setitimer(ITIMER_REAL, &every, nullptr);
  const int port = free_port();
  Rank root(0, 2, port), client(1, 2, free_port());
  root.timeout_ms = client.timeout_ms = 700;
  Attendance other = start(std::move(client));
  const Outcome outcome = attend(std::move(root));
  const Outcome lost = other.get();
  setitimer(ITIMER_REAL, &never, nullptr);
  assert_code(outcome, SMDDP_ERR_TIMEOUT);
  assert_code(lost, SMDDP_ERR_TIMEOUT);
  assert_true(outcome.took_ms >= 650 && outcome.took_ms < 4000);
  assert_true(lost.took_ms >= 650 && lost.took_ms < 4000);
}

int main() {
  set_log_level(Level::kError);
  const CMUnitTest tests[] = {
      cmocka_unit_test(meetings_in_a_storm_of_signals),
      cmocka_unit_test(deadlines_hold_in_a_storm_of_signals),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
