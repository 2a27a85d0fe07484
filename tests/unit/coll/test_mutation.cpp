// TIMEOUT 300
// The verifier can fail: schedules broken by hand and at random are caught. SMDDP_TEST_SEED and SMDDP_TEST_MUTANTS change the random part.
#include "schedules.hpp"

#include "base/error.hpp"

#include <cstdarg>
#include <csetjmp>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <random>

extern "C" {
#include <cmocka.h>
}

using namespace smddp;
using Ranks = std::vector<coll::Schedule>;

namespace {

// With counts for which no share is empty, so that every step matters, and with one for each share that makes it longer than the next.
std::string problem_of(const Ranks& ranks, const coll::Shape& shape, const coll::Cost& cost) {
  const uint32_t parts = ranks[0].parts;
  for (const bool in_place : {false, true}) {
    if (in_place && !schedules::has_in_place(ranks[0].collective)) continue;
    for (uint32_t longer = 0; longer < parts; ++longer) {
      const size_t count = 64 * (size_t{parts} * static_cast<size_t>(shape.size()) + longer);
      const coll::Verdict verdict = coll::verify(ranks, shape, {count, 1, 1, in_place});
      if (!verdict.problem.empty()) return verdict.problem;
      if (verdict.traffic.rounds > cost.rounds) return format("%u messages in a row", verdict.traffic.rounds);
      if (verdict.traffic.messages > cost.messages) return format("%u messages", verdict.traffic.messages);
    }
    if (!ranks[0].segmented) continue;
    const std::string problem = coll::verify(ranks, shape, {size_t{3} * 64 * parts * 2, 3, 2, in_place}).problem;
    if (!problem.empty()) return problem;
  }
  return "";
}

struct Subject {
  coll::Shape shape = coll::Shape::flat(5);
  const coll::Algorithm* algorithm;
  int root = 0;
  Ranks ranks;

  explicit Subject(Collective collective, const char* name, coll::Shape where = coll::Shape::flat(5)) : shape(std::move(where)), algorithm(coll::find_algorithm(collective, name)) {
    ranks = schedules::all_ranks(*algorithm, shape);
  }
  std::string problem() const { return problem_of(ranks, shape, algorithm->cost(shape)); }
  coll::ScheduleStep& step(size_t rank, coll::StepKind kind, size_t number = 0) {
    for (auto& step : ranks[rank].steps) {
      if (step.kind == kind && number-- == 0) return step;
    }
    fail_msg("no such step");
    abort();
  }
};

void expect(const Subject& subject, const char* text) {
  const std::string problem = subject.problem();
  if (problem.find(text) == std::string::npos) fail_msg("expected '%s', found '%s'", text, problem.c_str());
}

void broken_dependencies_are_caught(void**) {
  Subject early(Collective::kAllreduce, "sharded");  // reduces before the last contribution has come
  early.step(2, coll::StepKind::kReduce).after.erase(early.step(2, coll::StepKind::kReduce).after.begin());
  expect(early, "at the same time");

  Subject in_place(Collective::kAllreduce, "ring");  // the result overtakes the contribution that is sent from its place
  for (auto& step : in_place.ranks[1].steps) {
    if (step.kind == coll::StepKind::kRecv && step.target.buffer == coll::Buffer::kReceive) step.after.clear();
  }
  expect(in_place, "at the same time");

  Subject circle(Collective::kAllgather, "ring");  // everybody waits to hear before it says anything
  for (auto& schedule : circle.ranks) schedule.steps[1].after.push_back({0});
  expect(circle, "wait in a circle");

  Subject barrier(Collective::kBarrier, "dissemination");
  barrier.step(3, coll::StepKind::kSend, 1).after.clear();
  expect(barrier, "leaves the barrier too early");
}

void broken_messages_are_caught(void**) {
  Subject tag(Collective::kBroadcast, "binomial");
  tag.step(0, coll::StepKind::kSend).tag = 7;
  expect(tag, "sends it no tag 0");

  Subject twice(Collective::kAllreduce, "one_hop");
  twice.ranks[1].steps.push_back(twice.step(1, coll::StepKind::kSend));
  expect(twice, "twice");

  Subject longer(Collective::kReduce, "sharded");
  longer.step(4, coll::StepKind::kSend).inputs[0] = {coll::Buffer::kSend, 0, 1, 0, 2};
  expect(longer, "elements for a message of");

  Subject lost(Collective::kScatter, "one_hop");
  lost.ranks[2].steps.clear();
  expect(lost, "never receives it");
}

void broken_reductions_are_caught(void**) {
  Subject twice(Collective::kAllreduce, "sharded");
  auto& inputs = twice.step(0, coll::StepKind::kReduce).inputs;
  inputs[1] = inputs[0];
  expect(twice, "adds contributions twice");

  Subject missing(Collective::kAllreduce, "sharded");
  missing.step(0, coll::StepKind::kReduce).inputs.pop_back();
  expect(missing, "contributions missing");

  Subject wrong(Collective::kReduceScatter, "one_hop");
  wrong.step(3, coll::StepKind::kSend).inputs[0].block = 2;
  expect(wrong, "adds different elements");

  Subject order(Collective::kAllreduce, "one_hop");
  std::swap(order.step(1, coll::StepKind::kReduce).inputs[0], order.step(1, coll::StepKind::kReduce).inputs[2]);
  expect(order, "not in rank order");

  Subject bits(Collective::kAllreduce, "recursive_doubling");  // only this rank would have other bits
  auto& last = bits.step(4, coll::StepKind::kReduce, 1).inputs;
  std::swap(last[0], last[1]);
  expect(bits, "in another order than elsewhere");

  Subject unfinished(Collective::kAllreduce, "ring");
  for (auto& step : unfinished.ranks[0].steps) step.finish = false;
  expect(unfinished, "never finished");
}

void broken_node_steps_are_caught(void**) {
  const coll::Shape shape = coll::Shape::of_sizes({2, 2});
  Subject lane(Collective::kAllreduce, "hierarchical", shape);
  lane.step(1, coll::StepKind::kNode).target.share = 0;
  expect(lane, "reads 256 undefined elements");

  Subject alone(Collective::kAllreduce, "hierarchical", shape);
  alone.ranks[3].steps.pop_back();
  expect(alone, "node steps");

  Subject root(Collective::kBroadcast, "hierarchical", shape);
  root.step(3, coll::StepKind::kNode).root = 1;
  expect(root, "differs");

  Subject null(Collective::kReduce, "hierarchical", shape);  // only the root has a receive buffer
  null.step(2, coll::StepKind::kNode).target.buffer = coll::Buffer::kReceive;
  expect(null, "of a buffer of 0");
}

void broken_servers_are_caught(void**) {
  const coll::Shape shape = schedules::with_servers(coll::Shape::flat(3), 2);
  Subject missing(Collective::kAllreduce, "servers", shape);  // a server answers before the last rank has spoken
  missing.step(4, coll::StepKind::kReduce).inputs.pop_back();
  expect(missing, "contributions missing");

  Subject early(Collective::kAllreduce, "servers", shape);
  early.step(3, coll::StepKind::kReduce).after.clear();
  expect(early, "at the same time");

  Subject order(Collective::kAllreduce, "servers", shape);
  std::swap(order.step(3, coll::StepKind::kReduce).inputs[0], order.step(3, coll::StepKind::kReduce).inputs[2]);
  expect(order, "not in rank order");

  Subject wrong(Collective::kAllreduce, "servers", shape);  // the shard of the other server
  wrong.step(2, coll::StepKind::kSend).inputs[0].share ^= 1;
  expect(wrong, "adds different elements");

  Subject lost(Collective::kAllreduce, "servers", shape);  // to nobody
  lost.step(1, coll::StepKind::kSend).peer = 5;
  expect(lost, "bad peer 5");

  Subject fewer(Collective::kAllreduce, "servers", shape);
  fewer.ranks.pop_back();
  expect(fewer, "4 schedules for 3 ranks");
}

// What a mutation did; "" if this step has nothing of the kind.
std::string mutate(coll::Schedule& schedule, std::mt19937_64& random) {
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  if (schedule.steps.empty()) return "";
  const size_t index = below(schedule.steps.size());
  coll::ScheduleStep& step = schedule.steps[index];
  const bool message = step.kind == coll::StepKind::kSend || step.kind == coll::StepKind::kRecv;
  std::vector<coll::Slice*> slices;
  for (coll::Slice& input : step.inputs) slices.push_back(&input);
  slices.push_back(&step.target);
  coll::Slice& slice = *slices[below(slices.size())];
  switch (below(9)) {
    case 0:
      if (step.after.empty()) return "";
      step.after.erase(step.after.begin() + static_cast<ptrdiff_t>(below(step.after.size())));
      return "dependency removed";
    case 1: {
      if (step.after.empty() || index == 0) return "";
      coll::Dependency& d = step.after[below(step.after.size())];
      const auto other = static_cast<uint32_t>(below(index));
      if (d.step == other) return "";
      d.step = other;
      return "dependency moved";
    }
    case 2:
      if (step.after.empty()) return "";
      step.after[below(step.after.size())].segments_back = 1;
      return "dependency on the segment before";
    case 3:
      if (!message) return "";
      step.tag += 1;
      return "tag changed";
    case 4:
      if (!message || schedule.size < 3) return "";
      do step.peer = static_cast<int>(below(static_cast<size_t>(schedule.size))); while (step.peer == schedule.rank);
      return "peer changed";
    case 5:
      if (slice.blocks == 0) return "";
      slice.block = static_cast<uint32_t>(below(slice.block + 2));
      return "block changed";
    case 6:
      if (slice.blocks == 0) return "";
      if (below(2)) slice.share = static_cast<uint32_t>(below(schedule.parts)); else slice.buffer = static_cast<coll::Buffer>(below(3));
      return "share or buffer changed";
    case 7:
      if (step.kind != coll::StepKind::kReduce || step.inputs.size() < 2) return "";
      if (below(2)) {
        step.inputs.erase(step.inputs.begin() + static_cast<ptrdiff_t>(below(step.inputs.size())));
        return "input removed";
      }
      step.inputs[below(step.inputs.size())] = step.inputs[below(step.inputs.size())];
      return "input replaced";
    default:
      if (step.kind != coll::StepKind::kReduce && step.node != coll::NodeStep::kReduceShares) return "";
      step.finish = !step.finish;
      return "finish flipped";
  }
}

// For each step those that end before it, within a segment.
std::vector<std::vector<bool>> ancestors(const coll::Schedule& schedule) {
  const size_t n = schedule.steps.size();
  std::vector<std::vector<bool>> before(n, std::vector<bool>(n));
  size_t node = n;
  for (size_t i = 0; i < n; ++i) {
    std::vector<size_t> direct;
    for (const coll::Dependency& d : schedule.steps[i].after) {
      if (d.segments_back == 0) direct.push_back(d.step);
    }
    if (schedule.steps[i].kind == coll::StepKind::kNode) {
      if (node < n) direct.push_back(node);
      node = i;
    }
    for (const size_t j : direct) {
      before[i][j] = true;
      for (size_t k = 0; k < n; ++k) before[i][k] = before[i][k] || before[j][k];
    }
  }
  return before;
}

bool orders_at_least(const coll::Schedule& mutant, const coll::Schedule& whole) {
  const auto now = ancestors(mutant), then = ancestors(whole);
  for (size_t i = 0; i < now.size(); ++i) {
    for (size_t j = 0; j < now.size(); ++j) {
      if (then[i][j] && !now[i][j]) return false;
    }
  }
  return true;
}

// Why a mutant that is not caught is right: NULL if there is no reason.
const char* equivalent(const coll::Algorithm& algorithm, const coll::Shape& shape, const std::string& what, const coll::Schedule& mutant,
                       const coll::Schedule& whole) {
  if (what.find("block") == 0 || what.find("share") == 0) {
    // A copy, a node step of one rank, and a gather of one lane by its owner leave the same elements in two places.
    const bool copies = std::any_of(whole.steps.begin(), whole.steps.end(), [&](const coll::ScheduleStep& step) {
      const bool one_lane = step.node == coll::NodeStep::kGatherShares && whole.lanes == 1;
      return step.kind == coll::StepKind::kCopy || one_lane || (step.kind == coll::StepKind::kNode && shape.node_of(whole.rank).size() == 1);
    });
    return copies ? "the same elements are in two places, and the other one serves as well" : nullptr;
  }
  if (what.find("dependency") != 0) return nullptr;
  if (std::string(algorithm.name) == "pairwise") return "pairwise orders its rounds only to have fewer messages at a time";
  if (std::string(algorithm.name) == "servers" && orders_at_least(mutant, whole)) return "servers orders segments only to fill a link in both directions";
  return orders_at_least(mutant, whole) ? "the dependency is on a step that comes even later" : nullptr;
}

bool alike(const coll::Schedule& a, const coll::Schedule& b) { return coll::print(a) == coll::print(b); }

uint64_t number_from(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 0) : otherwise;
}

void mutants_are_caught(uint64_t seed) {
  const uint64_t wanted = number_from("SMDDP_TEST_MUTANTS", 2000);
  print_message("SMDDP_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  std::vector<coll::Shape> shapes = schedules::uneven_shapes();
  for (int p = 2; p <= 9; ++p) shapes.push_back(coll::Shape::flat(p));
  for (size_t i = 0, plain = shapes.size(); i < plain; ++i) shapes.push_back(schedules::with_servers(shapes[i], 1 + static_cast<int>(i) % 3));
  std::map<std::string, int> caught, harmless;
  for (uint64_t done = 0; done < wanted;) {
    const coll::Algorithm& algorithm = coll::algorithms()[random() % coll::algorithms().size()];
    const coll::Shape& shape = shapes[random() % shapes.size()];
    if (algorithm.fits && !algorithm.fits(shape)) continue;
    const int root = schedules::has_root(algorithm.collective) ? static_cast<int>(random() % static_cast<uint64_t>(shape.size())) : 0;
    Ranks ranks = schedules::all_ranks(algorithm, shape, root);
    coll::Schedule& victim = ranks[random() % ranks.size()];
    const coll::Schedule whole = victim;
    const std::string what = mutate(victim, random);
    if (what.empty() || alike(whole, victim)) continue;
    ++done;
    if (problem_of(ranks, shape, algorithm.cost(shape)).empty()) {
      if (const char* why = equivalent(algorithm, shape, what, victim, whole)) {
        ++harmless[why];
        continue;
      }
      fail_msg("%s survives: %s %s, %s, root %d\n%sbefore\n%s", what.c_str(), collective_name(algorithm.collective), algorithm.name,
               coll::describe(shape).c_str(), root, coll::print(victim).c_str(), coll::print(whole).c_str());
    }
    ++caught[what];
  }
  for (const auto& [what, count] : caught) print_message("%5d  %s\n", count, what.c_str());
  for (const auto& [why, count] : harmless) print_message("%5d  change nothing: %s\n", count, why.c_str());
}

void fixed_mutants_are_caught(void**) { mutants_are_caught(20201109); }
void random_mutants_are_caught(void**) { mutants_are_caught(number_from("SMDDP_TEST_SEED", std::random_device()())); }

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(broken_dependencies_are_caught), cmocka_unit_test(broken_messages_are_caught),
                              cmocka_unit_test(broken_reductions_are_caught), cmocka_unit_test(broken_node_steps_are_caught), cmocka_unit_test(broken_servers_are_caught),
                              cmocka_unit_test(fixed_mutants_are_caught), cmocka_unit_test(random_mutants_are_caught)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
