// One schedule by itself: what is malformed is named, and printing says what happens.
#include "coll/allreduce/allreduce.hpp"
#include "coll/node.hpp"

#include <cstdarg>
#include <csetjmp>
#include <cstddef>
#include <cstring>

extern "C" {
#include <cmocka.h>
}

using namespace smddp;

namespace {

coll::Schedule hierarchical(int rank) { return coll::hierarchical_allreduce({coll::Shape::of_sizes({3}), rank}); }

void broken_ones_are_found(void**) {
  coll::Schedule schedule = hierarchical(1);
  assert_string_equal(coll::check(schedule).c_str(), "");
  schedule.steps[1].after = {{1, 0}};  // itself, in the same segment
  assert_string_not_equal(coll::check(schedule).c_str(), "");

  schedule = hierarchical(1);
  schedule.steps[1].after = {{1, 1}};  // itself, one segment back
  assert_string_equal(coll::check(schedule).c_str(), "");

  schedule = hierarchical(1);
  schedule.steps[0].target.share = 3;
  assert_string_not_equal(coll::check(schedule).c_str(), "");

  schedule = hierarchical(1);
  schedule.steps[0].node = coll::NodeStep::kNone;
  assert_string_not_equal(coll::check(schedule).c_str(), "");

  schedule = hierarchical(1);
  schedule.steps[0].target.buffer = coll::Buffer::kSend;
  assert_string_not_equal(coll::check(schedule).c_str(), "");

  schedule = hierarchical(1);
  schedule.steps[1].inputs[0] = {coll::Buffer::kScratch, 0, 1, 1, 1};  // there is none
  assert_string_not_equal(coll::check(schedule).c_str(), "");

  schedule = hierarchical(1);
  schedule.steps[1].kind = coll::StepKind::kSend;
  schedule.steps[1].node = coll::NodeStep::kNone;
  schedule.steps[1].target = coll::kNothing;
  schedule.steps[1].peer = 1;  // to itself
  assert_string_not_equal(coll::check(schedule).c_str(), "");

  schedule = coll::node_schedule(Collective::kAllreduce, {coll::Shape::of_sizes({2}), 0});
  assert_string_equal(coll::check(schedule).c_str(), "");
  schedule.steps.push_back(schedule.steps[0]);
  assert_string_not_equal(coll::check(schedule).c_str(), "");
}

void printing_names_the_steps(void**) {
  const coll::Shape shape = coll::Shape::of_sizes({2, 2});
  const std::string text = coll::print(coll::hierarchical_allreduce({shape, 1}));
  for (const char* line : {"allreduce, algorithm hierarchical, rank 1 of 4, 4 shares, 2 lanes, scratch 1 × 1 share, for each segment",
                           "   0  node reduce shares send to receive shares 2-3", "   1  recv from 3 tag 0: scratch slot 0 share 2",
                           "   2  send to 3 tag 0: receive share 3  (after 0)", "   4  reduce receive share 2 + scratch slot 0 share 2 to receive share 2, finished  (after 1, 0)",
                           "   6  node gather shares receive shares 2-3 to receive"}) {
    if (!std::strstr(text.c_str(), line)) fail_msg("no '%s' in\n%s", line, text.c_str());
  }
}

void printing_names_servers(void**) {
  coll::Shape shape = coll::Shape::flat(3);
  shape.servers = 2;
  const std::string server = coll::print(coll::servers_allreduce({shape, 4})), rank = coll::print(coll::servers_allreduce({shape, 1}));
  for (const char* line : {"allreduce, algorithm servers, server 1 of 2 for 3 ranks, 2 shares, scratch 3 × 1 share, for each segment",
                           "   0  recv from 0 tag 0: scratch slot 0 share 1", "   3  reduce scratch slot 0 share 1 + scratch slot 1 share 1 + "}) {
    if (!std::strstr(server.c_str(), line)) fail_msg("no '%s' in\n%s", line, server.c_str());
  }
  for (const char* line : {"allreduce, algorithm servers, rank 1 of 3, 2 shares, for each segment", "   0  send to server 1 tag 0: send share 1",
                           "recv from server 0 tag 0: receive share 0"}) {
    if (!std::strstr(rank.c_str(), line)) fail_msg("no '%s' in\n%s", line, rank.c_str());
  }
}

void shapes(void**) {
  const coll::Shape mixed = coll::Shape::of_labels({7, 3, 7, 3, 3, 9});
  assert_string_equal(coll::describe(mixed).c_str(), "6 ranks on 3 nodes: 2+3+1");
  assert_int_equal(mixed.lanes(), 1);
  assert_int_equal(mixed.local_of(4), 2);
  assert_true(mixed.node_of(4) == std::vector<int>({1, 3, 4}));
  assert_int_equal(coll::Shape::of_sizes({3, 2}).lanes(), 2);
  assert_int_equal(coll::Shape::flat(5).node_count(), 5);
  coll::Shape served = coll::Shape::flat(2);
  served.servers = 1;
  assert_string_equal(coll::describe(served).c_str(), "2 ranks on 2 nodes: 1+1, and 1 server");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(broken_ones_are_found), cmocka_unit_test(printing_names_the_steps), cmocka_unit_test(printing_names_servers), cmocka_unit_test(shapes)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
