// Ranks that meet as they should: any number, in any order, over names and both families, and with every difference named.
#include "base/log.hpp"
#include "unit/bootstrap/ranks.hpp"

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

static void one_rank_needs_no_network(void**) {
  Rank rank(0, 1, 0, "");
  assert_nothing(check_meeting(attend(std::move(rank)), 1));
}

static void any_number_meets(void**) {
  for (const int size : {2, 3, 4, 7, 64, 100}) {
    const int port = free_port();
    std::vector<Attendance> ranks;
    for (int rank = size - 1; rank >= 0; --rank) ranks.push_back(start(Rank(rank, size, port)));
    assert_nothing(check_all(ranks, size));
  }
}

static void nonces_differ_between_meetings(void**) {
  std::vector<std::array<uint8_t, 16>> nonces;
  for (int i = 0; i < 10; ++i) {
    const int port = free_port();
    Attendance root = start(Rank(0, 2, port));
    const Outcome client = attend(Rank(1, 2, port));
    root.get();
    for (const auto& nonce : nonces) assert_true(nonce != client.meeting.nonce);
    nonces.push_back(client.meeting.nonce);
  }
}

static void one_port_serves_start_after_start(void**) {
  const int port = free_port();
  for (int i = 0; i < 50; ++i) {
    std::vector<Attendance> ranks;
    for (int rank = 0; rank < 3; ++rank) ranks.push_back(start(Rank(rank, 3, port)));
    assert_nothing(check_all(ranks, 3));
  }
}

static void names_and_brackets(void**) {
  for (const char* address : {"localhost", "127.0.0.1", "[127.0.0.1]"}) {
    const int port = free_port();
    std::vector<Attendance> ranks;
    for (int rank = 0; rank < 3; ++rank) ranks.push_back(start(Rank(rank, 3, port, address)));
    assert_nothing(check_all(ranks, 3));
  }
}

static void address_of_no_interface_means_all(void**) {
  const int port = free_port();
  Rank root(0, 2, port, "192.0.2.77");
  Attendance rank0 = start(std::move(root));
  assert_nothing(check_meeting(attend(Rank(1, 2, port)), 2));
  assert_nothing(check_meeting(rank0.get(), 2));
}

static void bad_addresses_are_named(void**) {
  for (const char* address : {"no.such.name.invalid.", "fe80::1%nosuch0", "[::1", "10.0.0.1:29500", "a b"}) {
    Rank root(0, 2, free_port(), address);
    root.timeout_ms = 3000;
    const Outcome outcome = attend(std::move(root));
    assert_code(outcome, SMDDP_ERR_BOOTSTRAP);
    assert_contains(outcome.text, address);
    Rank client(1, 2, free_port(), address);
    client.timeout_ms = 1000;
    const Outcome other = attend(std::move(client));
    assert_true(other.code == SMDDP_ERR_BOOTSTRAP || other.code == SMDDP_ERR_TIMEOUT);
    assert_contains(other.text, address);
    assert_true(other.took_ms < 5000);
  }
}

static void late_root_and_late_clients(void**) {
  const int port = free_port();
  std::vector<Attendance> ranks;
  for (const int rank : {2, 0, 3, 1}) {
    ranks.push_back(start(Rank(rank, 4, port)));
    sleep_ms(300);
  }
  assert_nothing(check_all(ranks, 4));
}

static void missing_ranks_are_named_on_all(void**) {
  const int port = free_port();
  Rank root(0, 5, port), one(1, 5, port);
  root.timeout_ms = 600;
  one.timeout_ms = 5000;
  Attendance rank0 = start(std::move(root));
  const Outcome client = attend(std::move(one));
  const Outcome outcome = rank0.get();
  assert_code(outcome, SMDDP_ERR_TIMEOUT);
  assert_code(client, SMDDP_ERR_TIMEOUT);
  assert_contains(outcome.text, "rank 0 waited 600 ms; ranks 2-4 of 5 did not come");
  assert_contains(client.text, "rank 0 waited 600 ms; ranks 2-4 of 5 did not come");
  assert_true(outcome.took_ms >= 500 && outcome.took_ms < 4000);
  assert_true(client.took_ms < 4000);
}

static void earliest_deadline_counts_for_all(void**) {
  const int port = free_port();
  Rank root(0, 3, port), two(2, 3, port);
  two.timeout_ms = 4000;  // rank 0 speaks 200 ms before, which a busy machine may need
  Attendance rank0 = start(std::move(root));
  const Outcome client = attend(std::move(two));
  const Outcome outcome = rank0.get();
  assert_code(client, SMDDP_ERR_TIMEOUT);
  assert_code(outcome, SMDDP_ERR_TIMEOUT);
  assert_contains(client.text, "rank 2 waited 4000 ms; rank 1 of 3 did not come");
  assert_contains(outcome.text, "rank 2 waited 4000 ms; rank 1 of 3 did not come");
  assert_true(client.took_ms < 10000);
}

static void no_root_at_all(void**) {
  Rank client(1, 2, free_port());
  client.timeout_ms = 400;
  const Outcome outcome = attend(std::move(client));
  assert_code(outcome, SMDDP_ERR_TIMEOUT);
  assert_contains(outcome.text, "found no rank 0 at 127.0.0.1 port");
  assert_contains(outcome.text, "Connection refused");
  assert_true(outcome.took_ms >= 400 && outcome.took_ms < 4000);
}

// Rank 0 and 1 of 3 wait; the intruder must be refused with these words, and rank 2 completes the meeting all the same.
static void refused(Rank intruder, smddp_status_t code, const std::vector<std::string>& words) {
  const int port = intruder.placement.port;
  std::vector<Attendance> ranks;
  ranks.push_back(start(Rank(0, 3, port)));
  ranks.push_back(start(Rank(1, 3, port)));
  sleep_ms(300);
  const Outcome outcome = attend(std::move(intruder));
  assert_code(outcome, code);
  for (const std::string& word : words) assert_contains(outcome.text, word.c_str());
  assert_true(outcome.took_ms < 5000);
  ranks.push_back(start(Rank(2, 3, port)));
  assert_nothing(check_all(ranks, 3));
}

static void duplicate_rank(void**) {
  Rank intruder(1, 3, free_port());
  intruder.member.host = "other";
  intruder.member.pid = 77;
  refused(std::move(intruder), SMDDP_ERR_BOOTSTRAP, {"duplicate rank 1", "host1, pid 1001", "other, pid 77"});
}

static void duplicate_rank_zero(void**) {
  refused(Rank(0, 3, free_port()), SMDDP_ERR_BOOTSTRAP, {"in use", "duplicate rank 0", "host0, pid 1000"});
}

static void other_job(void**) {
  Rank intruder(2, 3, free_port());
  intruder.placement.job_id = "job B";
  refused(std::move(intruder), SMDDP_ERR_BOOTSTRAP, {"job id differs", "'job A'", "'job B'"});
}

static void root_of_other_job(void**) {
  Rank intruder(0, 3, free_port());
  intruder.placement.job_id = "job B";
  refused(std::move(intruder), SMDDP_ERR_BOOTSTRAP, {"in use", "another job", "'job A'"});
}

static void other_size(void**) {
  refused(Rank(2, 4, free_port()), SMDDP_ERR_BOOTSTRAP, {"number of ranks differs", "3 on rank 0", "4 on rank 2 (host2, pid 1002)"});
}

// A mismatch inside the job fails it on all ranks.
static void all_fail(Rank odd, const std::vector<std::string>& words) {
  const int port = odd.placement.port;
  std::vector<Attendance> ranks;
  ranks.push_back(start(Rank(0, 3, port)));
  ranks.push_back(start(Rank(1, 3, port)));
  sleep_ms(200);
  ranks.push_back(start(std::move(odd)));
  for (Attendance& rank : ranks) {
    const Outcome outcome = rank.get();
    assert_code(outcome, SMDDP_ERR_VERSION);
    for (const std::string& word : words) assert_contains(outcome.text, word.c_str());
    assert_true(outcome.took_ms < 10000);
  }
}

// Those who come after a mismatch hear of it too, and one that comes again, mended, makes good for it.
static void ranks_after_a_mismatch(void**) {
  for (const bool mended : {false, true}) {
    const int port = free_port();
    std::vector<Attendance> ranks;
    ranks.push_back(start(Rank(0, 4, port)));
    Rank odd(2, 4, port);
    odd.protocol = 8;
    assert_code(attend(std::move(odd)), SMDDP_ERR_VERSION);
    ranks.push_back(start(Rank(1, 4, port)));
    if (mended) ranks.push_back(start(Rank(2, 4, port)));
    sleep_ms(300);
    ranks.push_back(start(Rank(3, 4, port)));
    if (mended) {
      assert_nothing(check_all(ranks, 4));
      continue;
    }
    for (Attendance& rank : ranks) {
      const Outcome outcome = rank.get();
      assert_code(outcome, SMDDP_ERR_VERSION);
      assert_contains(outcome.text, "8 on rank 2");
      assert_true(outcome.took_ms < 10000);
    }
  }
}

static void other_protocol(void**) {
  Rank odd(2, 3, free_port());
  odd.protocol = 8;
  all_fail(std::move(odd), {"protocol version differs", "7 on rank 0", "8 on rank 2"});
}

static void other_parameter(void**) {
  Rank odd(2, 3, free_port());
  odd.parameters = "SMDDP_A=1\nSMDDP_B=3\n";
  all_fail(std::move(odd), {"SMDDP_B differs: '2' on rank 0, '3' on rank 2 (host2, pid 1002)"});
}

static void unknown_parameter(void**) {
  Rank odd(2, 3, free_port());
  odd.parameters = "SMDDP_A=1\nSMDDP_B=2\nSMDDP_C=5\n";
  all_fail(std::move(odd), {"SMDDP_C differs: not known on rank 0, '5' on rank 2"});
}

static void long_texts_are_refused_before_the_network(void**) {
  Rank rank(1, 2, free_port());
  rank.placement.job_id = std::string(1025, 'x');
  const Outcome outcome = attend(std::move(rank));
  assert_code(outcome, SMDDP_ERR_INVALID_ARGUMENT);
  assert_contains(outcome.text, "job id has 1025 characters, at most 1024");
}

// A claimed size costs nothing.
static void huge_world(void**) {
  for (const int size : {100000, INT32_MAX}) {
    const int port = free_port();
    Rank root(0, size, port), client(1, size, port);
    root.timeout_ms = client.timeout_ms = 500;
    Attendance rank0 = start(std::move(root));
    const Outcome other = attend(std::move(client));
    const Outcome outcome = rank0.get();
    assert_code(outcome, SMDDP_ERR_TIMEOUT);
    assert_code(other, SMDDP_ERR_TIMEOUT);
    assert_contains(outcome.text, format("ranks 2-%d of %d did not come", size - 1, size).c_str());
    assert_true(outcome.text.size() < 300);
  }
}

int main() {
  set_log_level(Level::kError);
  const CMUnitTest tests[] = {
      cmocka_unit_test(one_rank_needs_no_network),
      cmocka_unit_test(any_number_meets),
      cmocka_unit_test(nonces_differ_between_meetings),
      cmocka_unit_test(one_port_serves_start_after_start),
      cmocka_unit_test(names_and_brackets),
      cmocka_unit_test(address_of_no_interface_means_all),
      cmocka_unit_test(bad_addresses_are_named),
      cmocka_unit_test(late_root_and_late_clients),
      cmocka_unit_test(missing_ranks_are_named_on_all),
      cmocka_unit_test(earliest_deadline_counts_for_all),
      cmocka_unit_test(no_root_at_all),
      cmocka_unit_test(duplicate_rank),
      cmocka_unit_test(duplicate_rank_zero),
      cmocka_unit_test(other_job),
      cmocka_unit_test(root_of_other_job),
      cmocka_unit_test(other_size),
      cmocka_unit_test(ranks_after_a_mismatch),
      cmocka_unit_test(other_protocol),
      cmocka_unit_test(other_parameter),
      cmocka_unit_test(unknown_parameter),
      cmocka_unit_test(long_texts_are_refused_before_the_network),
      cmocka_unit_test(huge_world),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
