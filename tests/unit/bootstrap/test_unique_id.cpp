// Unique ids: ranks meet by one; bytes that are no id and a rank 0 that is not the creator are refused by name.
#include "base/log.hpp"
#include "unit/bootstrap/environment.hpp"
#include "unit/bootstrap/ranks.hpp"

#include <sys/wait.h>

#include <cstring>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
extern "C" {
#include <cmocka.h>
}

using namespace smddp;
using namespace smddp::bootstrap;
using namespace smddp::bootstrap::test;

static smddp_init_options_t with_id(const smddp_unique_id_t& id, int rank, int size) {
  smddp_init_options_t options = SMDDP_INIT_STRUCT(options);
  options.rank = rank;
  options.size = size;
  options.unique_id = &id;
  return options;
}

static Outcome try_placement(const smddp_init_options_t& options) {
  Outcome outcome;
  try {
    placement(&options);
  } catch (const Error& error) {
    outcome.code = error.code();
    outcome.text = error.what();
  }
  return outcome;
}

static Rank member_of(const smddp_unique_id_t& id, int rank, int size) {
  Rank made(rank, size, 0);
  const smddp_init_options_t options = with_id(id, rank, size);
  made.placement = placement(&options);
  return made;
}

static void ranks_meet_by_it(void**) {
  set_only({});
  for (const int size : {1, 2, 5}) {
    const smddp_unique_id_t id = create_unique_id();
    std::vector<Attendance> ranks;
    for (int rank = size - 1; rank >= 0; --rank) ranks.push_back(start(member_of(id, rank, size)));
    assert_nothing(check_all(ranks, size));
  }
}

static void two_jobs_at_once(void**) {
  const smddp_unique_id_t a = create_unique_id(), b = create_unique_id();
  assert_true(std::memcmp(a.bytes, b.bytes, sizeof(a.bytes)) != 0);
  std::vector<Attendance> first, second;
  for (int rank = 0; rank < 3; ++rank) {
    second.push_back(start(member_of(b, rank, 3)));
    first.push_back(start(member_of(a, rank, 3)));
  }
  assert_nothing(check_all(first, 3));
  assert_nothing(check_all(second, 3));
}

static void processes_meet_by_it(void**) {
  const smddp_unique_id_t id = create_unique_id();
  pid_t children[2];
  for (int i = 0; i < 2; ++i) {
    children[i] = fork();
    if (children[i] == 0) _exit(check_meeting(attend(member_of(id, i + 1, 3)), 3).empty() ? 0 : 1);
  }
  assert_nothing(check_meeting(attend(member_of(id, 0, 3)), 3));
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
  }
}

static void every_changed_byte_is_found(void**) {
  const smddp_unique_id_t good = create_unique_id();
  for (size_t i = 0; i < sizeof(good.bytes); ++i) {
    smddp_unique_id_t id = good;
    id.bytes[i] = static_cast<char>(id.bytes[i] ^ 0x20);
    const Outcome outcome = try_placement(with_id(id, 1, 2));
    assert_code(outcome, SMDDP_ERR_INVALID_ARGUMENT);
    assert_contains(outcome.text, "was not made by smddp_unique_id_create");
  }
  smddp_unique_id_t zero{};
  assert_contains(try_placement(with_id(zero, 1, 2)).text, "all its bytes are 0");
}

static void needs_rank_and_size(void**) {
  const smddp_unique_id_t id = create_unique_id();
  const Outcome outcome = try_placement(with_id(id, 0, 0));
  assert_code(outcome, SMDDP_ERR_INVALID_ARGUMENT);
  assert_contains(outcome.text, "options.unique_id needs options.size");
}

static void used_twice(void**) {
  const smddp_unique_id_t id = create_unique_id();
  assert_code(try_placement(with_id(id, 0, 2)), SMDDP_SUCCESS);
  const Outcome outcome = try_placement(with_id(id, 0, 2));
  assert_code(outcome, SMDDP_ERR_INVALID_USAGE);
  assert_contains(outcome.text, "has been used");
}

static void rank_zero_elsewhere(void**) {
  const smddp_unique_id_t id = create_unique_id();
  const pid_t child = fork();
  if (child == 0) {
    const Outcome outcome = try_placement(with_id(id, 0, 2));
    const bool right = outcome.code == SMDDP_ERR_INVALID_USAGE && contains(outcome.text, "the process that makes a unique id must become rank 0") &&
                       contains(outcome.text, "process " + std::to_string(getppid()));
    _exit(right ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  assert_int_equal(status, 0);
}

static void interface_can_be_chosen(void**) {
  set_only({{"SMDDP_BOOTSTRAP_INTERFACE", "lo"}});
  const Rank client = member_of(create_unique_id(), 1, 2);
  assert_true(client.placement.address == "127.0.0.1" || client.placement.address == "::1");
  for (const char* all : {"^", ",", "^,"}) {
    set_only({{"SMDDP_BOOTSTRAP_INTERFACE", all}});
    create_unique_id();
  }
  for (const char* none : {"nosuch0", "lox", "nosuch,lox"}) {
    set_only({{"SMDDP_BOOTSTRAP_INTERFACE", none}});
    Outcome outcome;
    try {
      create_unique_id();
    } catch (const Error& error) {
      outcome.code = error.code();
      outcome.text = error.what();
    }
    assert_code(outcome, SMDDP_ERR_INVALID_ARGUMENT);
    assert_contains(outcome.text, format("SMDDP_BOOTSTRAP_INTERFACE='%s'", none).c_str());
    assert_contains(outcome.text, "lo");
  }
  set_only({});
}

int main() {
  set_log_level(Level::kError);
  const CMUnitTest tests[] = {
      cmocka_unit_test(ranks_meet_by_it),    cmocka_unit_test(two_jobs_at_once), cmocka_unit_test(processes_meet_by_it),
      cmocka_unit_test(every_changed_byte_is_found), cmocka_unit_test(needs_rank_and_size), cmocka_unit_test(used_twice),
      cmocka_unit_test(rank_zero_elsewhere), cmocka_unit_test(interface_can_be_chosen),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
