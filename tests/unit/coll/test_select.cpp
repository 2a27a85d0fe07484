// The choice follows the model: few messages where latency counts, few bytes where bandwidth does, hierarchical where ranks share a node;
// it says why, and an override is obeyed or refused with the names that exist.
#include "coll/select.hpp"

#include "base/error.hpp"

#include <cstdarg>
#include <csetjmp>
#include <cstddef>
#include <cstring>

extern "C" {
#include <cmocka.h>
}

using namespace smddp;
using coll::Shape;

namespace {

const coll::Network kFabric{};

std::string chosen(Collective collective, size_t bytes, const Shape& shape, bool half = false) {
  return coll::choose(collective, bytes, half, shape, kFabric).algorithm->name;
}

void equal(const std::string& found, const char* expected) { assert_string_equal(found.c_str(), expected); }

void latency_and_bandwidth(void**) {
  const Shape eight = Shape::flat(8);
  equal(chosen(Collective::kAllreduce, 4, eight), "one_hop");
  equal(chosen(Collective::kAllreduce, 1 << 20, eight), "sharded");
  equal(chosen(Collective::kAllreduce, 4, Shape::flat(400)), "recursive_doubling");  // 399 messages take longer to post than 9 in a row
  equal(chosen(Collective::kAllreduce, 1 << 16, Shape::flat(512)), "halving_doubling");
  equal(chosen(Collective::kAllreduce, 1 << 16, Shape::flat(512), true), "sharded");  // rounds once
  equal(chosen(Collective::kBroadcast, 64, eight), "one_hop");
  equal(chosen(Collective::kBroadcast, 64, Shape::flat(400)), "binomial");
  equal(chosen(Collective::kBroadcast, 1 << 24, eight), "scatter_allgather");
  equal(chosen(Collective::kReduce, 1 << 24, eight), "sharded");
  equal(chosen(Collective::kAllgather, 8, Shape::flat(400)), "bruck");
  equal(chosen(Collective::kBarrier, 0, eight), "dissemination");
}

void nodes_with_several_ranks(void**) {
  const Shape nodes = Shape::of_sizes({8, 8, 8, 8});
  for (const Collective collective : {Collective::kAllreduce, Collective::kBroadcast, Collective::kAllgather, Collective::kReduceScatter}) {
    if (chosen(collective, 1 << 22, nodes).find("hierarchical") != 0) fail_msg("%s: %s", collective_name(collective), chosen(collective, 1 << 22, nodes).c_str());
  }
  equal(chosen(Collective::kAllreduce, 1 << 22, nodes), "hierarchical");
  equal(chosen(Collective::kAllreduce, 64, nodes), "hierarchical_one_hop");
  assert_null(coll::choose(Collective::kAllreduce, 1 << 20, false, Shape::of_sizes({4}), kFabric).algorithm);
}

// A power of two is judged by itself, not by what its double takes; sizes between two of them go with the nearest.
void sizes_that_share_a_choice(void**) {
  const Shape three = Shape::flat(3);
  equal(chosen(Collective::kAllreduce, 16384, three), "one_hop");
  equal(chosen(Collective::kAllreduce, 32768, three), "sharded");
  coll::Selection selection(three, kFabric);
  for (const size_t bytes : {12000, 16384, 20000}) equal(selection.of(Collective::kAllreduce, bytes, false).algorithm->name, "one_hop");
  for (const size_t bytes : {24000, 32768, 40000}) equal(selection.of(Collective::kAllreduce, bytes, false).algorithm->name, "sharded");
}

// A message in a row less is worth some time, but no part of a long one: figures measured between two hosts over TCP.
void alike_within_a_wait(void**) {
  coll::Network network = kFabric;
  network.latency_us = 1.9;
  network.overhead_us = 5.3;
  network.bytes_per_us = 2500;
  network.added_per_us = 58000;
  const Shape two = Shape::flat(2);
  equal(coll::choose(Collective::kAllreduce, 1 << 18, false, two, network).algorithm->name, "one_hop");
  equal(coll::choose(Collective::kAllreduce, 1 << 22, false, two, network).algorithm->name, "sharded");
}

// Segments serve to work while the link does, and to bound memory.
void segments(void**) {
  coll::Network card = kFabric;
  card.overlap = 1;
  const Shape nodes = Shape::of_sizes({8, 8, 8, 8});
  for (const coll::Algorithm& algorithm : coll::algorithms()) {
    if (algorithm.fits && !algorithm.fits(nodes)) continue;
    coll::Selection selection(nodes, kFabric), overlapping(nodes, card);
    for (size_t bytes = 1 << 10; bytes < size_t{1} << 33; bytes *= 2) {
      const size_t plain = selection.of(algorithm.collective, bytes - 1, false, &algorithm).segment_bytes;
      const size_t cut = overlapping.of(algorithm.collective, bytes - 1, false, &algorithm).segment_bytes;
      const bool may_cut = !(algorithm.traits & coll::kWhole);
      const bool bounds = may_cut && bytes > size_t{64} << 20;
      if ((plain != 0) != bounds || plain % 4096 || plain > size_t{64} << 20) fail_msg("%s of %zu bytes: segments of %zu", algorithm.name, bytes, plain);
      if (cut && (!may_cut || cut < 16384 || cut >= bytes || cut % 4096)) fail_msg("%s of %zu bytes: segments of %zu", algorithm.name, bytes, cut);
    }
  }
  // A node's only rank has no more than 1 MiB under way at a time.
  coll::Selection alone(Shape::of_sizes({1, 1, 1}), kFabric);
  for (size_t bytes = 1 << 10; bytes < size_t{1} << 33; bytes *= 2) {
    const size_t cut = alone.of(Collective::kAllreduce, bytes - 1, false, coll::find_algorithm(Collective::kAllreduce, "sharded")).segment_bytes;
    if ((cut != 0) != (bytes > 1 << 20) || cut > 1 << 20) fail_msg("%zu bytes: segments of %zu", bytes, cut);
  }
  const coll::Choice large = coll::choose(Collective::kAllreduce, 1 << 26, false, nodes, card);
  equal(large.algorithm->name, "hierarchical");
  assert_true(large.segment_bytes >= 16384 && large.segment_bytes < 1 << 24);
}

// On slow links servers are taken once there are enough of them, in segments, so that both directions are used; nowhere else.
void servers(void**) {
  coll::Network slow = kFabric;
  slow.bytes_per_us = 125;
  const auto choice = [&](Shape shape, int servers, size_t bytes) {
    shape.servers = servers;
    return coll::choose(Collective::kAllreduce, bytes, false, shape, slow);
  };
  const coll::Choice four = choice(Shape::flat(4), 4, 25 << 20);
  equal(four.algorithm->name, "servers");
  assert_true(four.segment_bytes > 0 && four.segment_bytes <= (25 << 20) / 4);
  assert_true(four.expected_us < 0.8 * choice(Shape::flat(4), 0, 25 << 20).expected_us);
  equal(choice(Shape::flat(4), 1, 25 << 20).algorithm->name, "sharded");  // one server's link carries what all ranks send
  equal(choice(Shape::flat(4), 4, 4).algorithm->name, "one_hop");
  equal(choice(Shape::of_sizes({2, 2, 2, 2}), 4, 25 << 20).algorithm->name, "servers");
  assert_null(choice(Shape::of_sizes({4}), 4, 25 << 20).algorithm);
}

void never_dearer_with_more_bandwidth(void**) {
  coll::Network fast = kFabric;
  fast.bytes_per_us *= 10;
  const Shape shape = Shape::of_sizes({2, 2});
  coll::Selection slow(shape, kFabric), quick(shape, fast);
  for (const coll::Algorithm& algorithm : coll::algorithms()) {
    double before = 0;
    for (size_t bytes = 1; bytes < size_t{1} << 33; bytes *= 4) {
      const double slow_us = slow.of(algorithm.collective, bytes, false, &algorithm).expected_us;
      assert_true(quick.of(algorithm.collective, bytes, false, &algorithm).expected_us <= slow_us);
      assert_true(slow_us >= before);
      before = slow_us;
    }
  }
}

void explains_itself(void**) {
  const std::string line = coll::explain(Collective::kAllreduce, 1 << 20, false, Shape::of_sizes({2, 2}), kFabric);
  for (const char* part : {"allreduce of 1048576 bytes, 4 ranks on 2 nodes: 2+2: hierarchical", " us; next "}) {
    if (!std::strstr(line.c_str(), part)) fail_msg("no '%s' in '%s'", part, line.c_str());
  }
  assert_null(std::strchr(line.c_str(), '\n'));
  assert_non_null(std::strstr(coll::explain(Collective::kReduce, 1, false, Shape::of_sizes({3}), kFabric).c_str(), "node group"));
}

std::string error_of(Collective collective, const char* name, const Shape& shape) {
  try {
    coll::algorithm_named(collective, name, shape);
  } catch (const Error& error) {
    assert_int_equal(error.code(), SMDDP_ERR_INVALID_ARGUMENT);
    return error.what();
  }
  return "";
}

void overrides(void**) {
  const coll::Algorithm* ring = coll::find_algorithm(Collective::kAllreduce, "ring");
  coll::Overrides wanted{};
  wanted[static_cast<size_t>(Collective::kAllreduce)] = ring;
  wanted[static_cast<size_t>(Collective::kReduceScatter)] = coll::find_algorithm(Collective::kReduceScatter, "recursive_halving");
  coll::Selection selection(Shape::flat(6), kFabric, wanted), free(Shape::flat(6), kFabric);
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{4095}, size_t{4096}, SIZE_MAX}) {
    assert_non_null(free.of(Collective::kAllreduce, bytes, false).algorithm);
    for (const bool half : {false, true}) {
      equal(selection.of(Collective::kAllreduce, bytes, half).algorithm->name, "ring");
      equal(free.of(Collective::kAllreduce, bytes, half, ring).algorithm->name, "ring");
    }
    equal(selection.of(Collective::kAllreduce, bytes, false, coll::find_algorithm(Collective::kAllreduce, "sharded")).algorithm->name, "sharded");
  }
  equal(free.of(Collective::kAllreduce, 4, false).algorithm->name, "one_hop");  // what one call wants is for that call
  equal(selection.of(Collective::kReduceScatter, 1 << 20, false).algorithm->name, "one_hop");  // recursive_halving does not fit 6 ranks
  equal(error_of(Collective::kAllreduce, "rung", Shape::flat(4)),
        "allreduce has no algorithm 'rung'; it has sharded, hierarchical, hierarchical_one_hop, one_hop, ring, recursive_doubling, halving_doubling, servers");
  equal(error_of(Collective::kAllreduce, "servers", Shape::flat(4)), "allreduce by servers is not for 4 ranks on 4 nodes: 1+1+1+1");
  equal(error_of(Collective::kReduceScatter, "recursive_halving", Shape::flat(6)),
        "reduce_scatter by recursive_halving is not for 6 ranks on 6 nodes: 1+1+1+1+1+1");
  equal(error_of(Collective::kReduceScatter, "recursive_halving", Shape::flat(8)), "");
  equal(error_of(Collective::kReduceScatter, "recursive_halving", Shape::of_sizes({6})), "");  // on one node none of them runs
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(latency_and_bandwidth), cmocka_unit_test(nodes_with_several_ranks),
                              cmocka_unit_test(sizes_that_share_a_choice), cmocka_unit_test(alike_within_a_wait), cmocka_unit_test(segments),
                              cmocka_unit_test(servers),
                              cmocka_unit_test(never_dearer_with_more_bandwidth), cmocka_unit_test(explains_itself), cmocka_unit_test(overrides)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
