// TIMEOUT 600
// Every algorithm is proved for 1 to 17 ranks, with 1 to 4 servers where it has any, nodes of all kinds, counts from 0 on, every root, buffers apart and in place, and several
// segments under way; and it sends what its Cost line says.
#include "schedules.hpp"

#include "base/error.hpp"

#include <cmath>
#include <cstdarg>
#include <csetjmp>
#include <cstddef>

extern "C" {
#include <cmocka.h>
}

using namespace smddp;

namespace {

// Without optimisation, as under sanitizers, a trial takes ten times as long: then fewer ranks and roots.
#ifdef __OPTIMIZE__
constexpr bool kAll = true;
#else
constexpr bool kAll = false;
#endif

size_t g_trials = 0;

void prove(const coll::Algorithm& algorithm, const std::vector<coll::Schedule>& ranks, const coll::Shape& shape, const coll::Trial& trial) {
  ++g_trials;
  const coll::Verdict verdict = coll::verify(ranks, shape, trial);
  if (verdict.problem.empty()) return;
  fail_msg("%s %s, %s, root %d, %zu elements in %u segments, window %u%s: %s\n%s", collective_name(algorithm.collective), algorithm.name,
           coll::describe(shape).c_str(), ranks[0].root, trial.count, trial.segments, trial.window, trial.in_place ? ", in place" : "",
           verdict.problem.c_str(), coll::print(ranks[0]).c_str());
}

void prove_all(const coll::Algorithm& algorithm, const coll::Shape& shape) {
  if (algorithm.fits && !algorithm.fits(shape)) return;
  const auto p = static_cast<size_t>(shape.size());
  for (int root = 0; root < (schedules::has_root(algorithm.collective) ? shape.size() : 1); root += kAll ? 1 : 5) {
    const auto ranks = schedules::all_ranks(algorithm, shape, root);
    assert_int_equal(ranks[0].segmented, !(algorithm.traits & coll::kWhole));
    assert_string_equal(ranks[0].algorithm, algorithm.name);
    for (const bool in_place : {false, true}) {
      if (in_place && !schedules::has_in_place(algorithm.collective)) continue;
      for (const size_t count : {size_t{0}, size_t{1}, p - 1, p, size_t{1000}, 64 * p * p}) prove(algorithm, ranks, shape, {count, 1, 1, in_place});
      for (uint32_t segments = 2; ranks[0].segmented && segments <= 4; ++segments) {
        for (uint32_t window = 1; window <= 4; ++window) prove(algorithm, ranks, shape, {64 * p * 2 * segments - 70, segments, window, in_place});
      }
    }
  }
}

void every_algorithm_is_right(void**) {
  for (const coll::Algorithm& algorithm : coll::algorithms()) {
    for (int p = 1; p <= 17; p += kAll || p < 5 ? 1 : 4) prove_all(algorithm, coll::Shape::flat(p));
    for (const coll::Shape& shape : schedules::uneven_shapes()) prove_all(algorithm, shape);
  }
  print_message("%zu trials of %zu algorithms\n", g_trials, coll::algorithms().size());
}

void servers_are_right(void**) {
  const coll::Algorithm& servers = *coll::find_algorithm(Collective::kAllreduce, "servers");
  for (int count = 1; count <= 4; ++count) {
    for (int p = 1; p <= 17; p += kAll || p < 5 ? 1 : 4) prove_all(servers, schedules::with_servers(coll::Shape::flat(p), count));
    for (const coll::Shape& shape : schedules::uneven_shapes()) prove_all(servers, schedules::with_servers(shape, count));
  }
}

void check_cost(const coll::Algorithm& algorithm, const coll::Shape& shape) {
  if (shape.node_count() < 2 || (algorithm.fits && !algorithm.fits(shape))) return;
  // So that all shares have the same length.
  const size_t count = 64 * 720720;
  const coll::Cost cost = algorithm.cost(shape);
  coll::Traffic most;
  double node_steps = 0;
  for (int root = 0; root < (schedules::has_root(algorithm.collective) ? shape.size() : 1); ++root) {
    const auto ranks = schedules::all_ranks(algorithm, shape, root);
    if (count / 64 % ranks[0].parts) return;
    const coll::Traffic traffic = coll::verify(ranks, shape, {count}).traffic;
    most.rounds = std::max(most.rounds, traffic.rounds);
    most.messages = std::max(most.messages, traffic.messages);
    most.sent_elements = std::max(most.sent_elements, traffic.sent_elements);
    most.received_elements = std::max(most.received_elements, traffic.received_elements);
    most.added_elements = std::max(most.added_elements, traffic.added_elements);
    for (const auto& schedule : ranks) {
      const auto is_node_step = [](const coll::ScheduleStep& step) { return step.kind == coll::StepKind::kNode; };
      node_steps = std::max(node_steps, static_cast<double>(std::count_if(schedule.steps.begin(), schedule.steps.end(), is_node_step)));
    }
  }
  const auto equal = [&](const char* what, double said, double found) {
    if (std::fabs(said - found) > 1e-9 * (1 + std::fabs(found))) {
      fail_msg("%s %s, %s: %s %g, its Cost line says %g", collective_name(algorithm.collective), algorithm.name, coll::describe(shape).c_str(),
               what, found, said);
    }
  };
  const auto in_n = [&](size_t elements) { return static_cast<double>(elements) / static_cast<double>(count); };
  equal("messages in a row", cost.rounds, most.rounds);
  equal("messages", cost.messages, most.messages);
  equal("elements sent", cost.sent, in_n(most.sent_elements));
  equal("elements received", cost.received, in_n(most.received_elements));
  equal("elements added", cost.added, in_n(most.added_elements));
  equal("node steps", cost.node_steps, node_steps);
}

void costs_are_as_promised(void**) {
  for (const coll::Algorithm& algorithm : coll::algorithms()) {
    for (int p = 2; p <= 16; p += kAll ? 1 : 3) check_cost(algorithm, coll::Shape::flat(p));
    for (const coll::Shape& shape : schedules::uneven_shapes()) check_cost(algorithm, shape);
  }
  for (int count = 1; count <= 4; ++count) {
    const coll::Algorithm& servers = *coll::find_algorithm(Collective::kAllreduce, "servers");
    for (int p = 2; p <= 16; p += kAll ? 1 : 3) check_cost(servers, schedules::with_servers(coll::Shape::flat(p), count));
    for (const coll::Shape& shape : schedules::uneven_shapes()) check_cost(servers, schedules::with_servers(shape, count));
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(costs_are_as_promised), cmocka_unit_test(every_algorithm_is_right),
                              cmocka_unit_test(servers_are_right)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
