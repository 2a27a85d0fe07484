// The measurement of a link: figures that can be, a network that delays, doubles and refuses, another rank that does not come or stops in
// the middle; afterwards the transport serves as before.
#include "base/clock.hpp"
#include "base/error.hpp"
#include "transport/loopback/loopback.hpp"
#include "transport/measure.hpp"

#include <cstdio>
#include <thread>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

using namespace smddp;
using namespace smddp::transport;

namespace {

constexpr uint64_t kId = uint64_t{0xffff} << 48;

struct Pair {
  explicit Pair(const loopback::Faults& faults) : hub(std::make_shared<loopback::Hub>(2, faults)) {
    for (int rank = 0; rank < 2; ++rank) transports[rank] = loopback::make(hub, rank, {});
    const std::vector<std::string> addresses{transports[0]->address(), transports[1]->address()};
    for (int rank = 0; rank < 2; ++rank) transports[rank]->connect(addresses, rank);
  }
  std::shared_ptr<loopback::Hub> hub;
  std::unique_ptr<Transport> transports[2];
};

// A message in each direction, on this thread.
bool still_serves(Pair& pair) {
  int out = 5, in[2] = {0, 0};
  Event events[4];
  bool taken = true;
  for (int rank = 0; rank < 2; ++rank) {
    taken = taken && pair.transports[rank]->receive(1 - rank, 7, &in[rank], sizeof(int), &events[2 * rank]) &&
            pair.transports[rank]->send(1 - rank, 7, &out, sizeof(int), &events[2 * rank + 1]);
  }
  const int64_t limit = deadline_after_ms(10000);
  const auto pending = [&] { return !events[0].done() || !events[1].done() || !events[2].done() || !events[3].done(); };
  while (taken && pending() && now_ns() < limit) {
    pair.transports[0]->progress();
    pair.transports[1]->progress();
  }
  return taken && !pending() && in[0] == 5 && in[1] == 5;
}

struct Outcome {
  bool leader = false, follower = false;
  LinkFigures figures;
  int64_t ms = 0;
};

Outcome measure(Pair& pair, int64_t limit_ms) {
  Outcome outcome;
  const int64_t start = now_ns(), deadline = deadline_after_ms(limit_ms);
  std::thread follower([&] {
    LinkFigures none;
    outcome.follower = measure_link(*pair.transports[1], 0, false, kId, deadline, none);
  });
  outcome.leader = measure_link(*pair.transports[0], 1, true, kId, deadline, outcome.figures);
  follower.join();
  outcome.ms = (now_ns() - start) / 1000000;
  std::printf("%lld ms: latency %.2f us, overhead %.3f us, %.0f bytes/us, share %.2f\n", static_cast<long long>(outcome.ms), outcome.figures.latency_us,
              outcome.figures.overhead_us, outcome.figures.bytes_per_us, outcome.figures.share);
  return outcome;
}

void figures(void**) {
  Pair pair({});
  const Outcome outcome = measure(pair, 30000);
  assert_true(outcome.leader && outcome.follower);
  assert_true(outcome.figures.latency_us + outcome.figures.overhead_us > 0 && outcome.figures.bytes_per_us > 0);
  assert_true(outcome.figures.share >= 0 && outcome.figures.share < 1.5);
  assert_true(still_serves(pair));
  assert_true(measure(pair, 30000).leader);  // the same ids again
}

void faulty_network(void**) {
  loopback::Faults faults;
  faults.delay = 0.2;
  faults.reorder = true;
  faults.duplicate = 0.1;
  faults.again = 0.2;
  for (faults.seed = 1; faults.seed <= 5; ++faults.seed) {
    Pair pair(faults);
    const Outcome outcome = measure(pair, 30000);
    assert_true(outcome.leader && outcome.follower);
    assert_true(still_serves(pair));
  }
}

void nobody_comes(void**) {
  for (const bool leads : {false, true}) {
    Pair pair({});
    LinkFigures figures;
    const int64_t start = now_ns();
    assert_false(measure_link(*pair.transports[0], 1, leads, kId, deadline_after_ms(50), figures));
    assert_true(now_ns() - start < int64_t{10} * 1000000000);
    assert_true(still_serves(pair));
  }
}

void one_stops_in_the_middle(void**) {
  for (const uint64_t items : {3u, 12u, 40u}) {
    loopback::Faults faults;
    faults.victim = 1;
    faults.kill_after = items;
    Pair pair(faults);
    const Outcome outcome = measure(pair, 100);
    if (outcome.leader) fail_msg("a leader of whom the other one was killed after %llu packets is satisfied", static_cast<unsigned long long>(items));
    assert_false(outcome.follower);
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(figures), cmocka_unit_test(faulty_network), cmocka_unit_test(nobody_comes),
                              cmocka_unit_test(one_stops_in_the_middle)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
