// Where rank, size, address, port and job id come from, and the words for every way in which they can be wrong.
#include "base/log.hpp"
#include "bootstrap/pmix.hpp"
#include "bootstrap/slurm.hpp"
#include "unit/bootstrap/environment.hpp"
#include "unit/bootstrap/ranks.hpp"

#include <fcntl.h>

#include <algorithm>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
extern "C" {
#include <cmocka.h>
}

using namespace smddp;
using namespace smddp::bootstrap;
using namespace smddp::bootstrap::test;

using Variables = std::initializer_list<std::pair<const char*, const char*>>;

static void expect(const Placement& p, int rank, int size, const char* address, int port, int ports, const char* job, const char* origin) {
  assert_int_equal(p.rank, rank);
  assert_int_equal(p.size, size);
  assert_string_equal(p.address.c_str(), address);
  assert_int_equal(p.port, port);
  assert_int_equal(p.port_count, ports);
  assert_string_equal(p.job_id.c_str(), job);
  assert_string_equal(p.origin.c_str(), origin);
}

static void expect_error(const smddp_init_options_t* options, smddp_status_t code, std::initializer_list<const char*> words) {
  Outcome outcome;
  try {
    placement(options);
  } catch (const Error& error) {
    outcome.code = error.code();
    outcome.text = error.what();
  }
  assert_code(outcome, code);
  for (const char* word : words) assert_contains(outcome.text, word);
}

static void expect_wrong(Variables variables, std::initializer_list<const char*> words) {
  set_only(variables);
  expect_error(nullptr, SMDDP_ERR_INVALID_ARGUMENT, words);
}

static void nothing_set_is_one_rank(void**) {
  set_only({});
  expect(placement(nullptr), 0, 1, "", 0, 1, "", "one process");
}

// Started by hand it cannot know whether the ranks are torchrun's, which meet above MASTER_PORT.
static void a_server_asks_above_the_master_port_too(void**) {
  set_only({{"SMDDP_SERVERS", "2"}, {"SMDDP_SERVER", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "head"}, {"MASTER_PORT", "29500"}, {"SMDDP_JOB_ID", "mine"}});
  const Placement p = placement(nullptr, Role::kServer);
  assert_int_equal(p.rank, 5);
  assert_int_equal(p.port, 29500);
  assert_true(p.port_count > 1);
}

static void plain_variables(void**) {
  set_only({{"RANK", "2"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "head"}, {"MASTER_PORT", "29500"}});
  const Placement p = placement(nullptr);
  expect(p, 2, 4, "head", 29500, 1, "", "RANK and WORLD_SIZE");
  const std::vector<std::string> notes = {"RANK=2", "WORLD_SIZE=4", "MASTER_ADDR=head", "MASTER_PORT=29500"};
  assert_true(p.notes == notes);
}

static void torchrun(void**) {
  set_only({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "head"}, {"MASTER_PORT", "29500"}, {"TORCHELASTIC_RUN_ID", "none"},
            {"TORCHELASTIC_RESTART_COUNT", "3"}});
  expect(placement(nullptr), 0, 2, "head", 29501, 8, "none.3.29500", "torchrun");
  setenv("MASTER_PORT", "65530", 1);
  expect(placement(nullptr), 0, 2, "head", 65531, 5, "none.3.65530", "torchrun");
  setenv("SMDDP_BOOTSTRAP_PORT", "4000", 1);
  expect(placement(nullptr), 0, 2, "head", 4000, 1, "none.3.65530", "torchrun");
  setenv("SMDDP_BOOTSTRAP_PORT", "0", 1);
  expect(placement(nullptr), 0, 2, "head", 65531, 5, "none.3.65530", "torchrun");
  setenv("MASTER_PORT", "65535", 1);
  expect_error(nullptr, SMDDP_ERR_INVALID_ARGUMENT, {"MASTER_PORT=65535", "SMDDP_BOOTSTRAP_PORT"});
}

static void smddprun(void**) {
  const UniqueFd listener = listen_everywhere(0);
  const std::string port = std::to_string(local_address(listener.get()).port()), fd = std::to_string(listener.get());
  fcntl(listener.get(), F_SETFD, 0);
  set_only({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "other"}, {"MASTER_PORT", "1"}, {"SMDDP_JOB_ID", "run 7"},
            {"SMDDP_BOOTSTRAP_ADDRESS", "127.0.0.1"}, {"SMDDP_BOOTSTRAP_PORT", port.c_str()}, {"SMDDP_BOOTSTRAP_FD", fd.c_str()}});
  // Twice: a later context of the process meets at the same socket.
  for (int i = 0; i < 2; ++i) {
    const Placement p = placement(nullptr);
    expect(p, 0, 2, "127.0.0.1", local_address(listener.get()).port(), 1, "run 7", "smddprun");
    assert_true(p.listener.get() >= 0 && p.listener.get() != listener.get());
    assert_true(fcntl(p.listener.get(), F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(listener.get(), F_GETFD) & FD_CLOEXEC);
  }
  setenv("RANK", "1", 1);
  assert_true(placement(nullptr).listener.get() < 0);
  setenv("RANK", "0", 1);
  for (const char* wrong : {"0", "999", "1048576"}) {
    setenv("SMDDP_BOOTSTRAP_FD", wrong, 1);
    const Placement p = placement(nullptr);
    assert_true(p.listener.get() < 0);
    assert_contains(p.notes.back(), "is not a socket that listens");
  }
  setenv("SMDDP_BOOTSTRAP_FD", "7x", 1);
  expect_error(nullptr, SMDDP_ERR_INVALID_ARGUMENT, {"SMDDP_BOOTSTRAP_FD='7x'"});
}

static void other_launchers(void**) {
  set_only({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "3"}, {"PMIX_NAMESPACE", "prterun-1"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "5"}});
  expect(placement(nullptr), 1, 3, "h", 5, 1, "prterun-1", "Open MPI");
  set_only({{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"SMDDP_BOOTSTRAP_ADDRESS", "h"}, {"SMDDP_BOOTSTRAP_PORT", "6"}});
  expect(placement(nullptr), 2, 3, "h", 6, 1, "", "PMI");
  set_only({{"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "3"}, {"SLURM_STEP_ID", "4"}, {"SLURM_JOB_ID", "77"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "5"}});
  expect(placement(nullptr), 2, 3, "h", 5, 1, "77.4", "Slurm");
}

static void slurm_outside_of_a_step_is_no_launcher(void**) {
  set_only({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "3"}});
  expect(placement(nullptr), 0, 1, "", 0, 1, "", "one process");
  setenv("SLURM_STEP_ID", "4294967291", 1);
  expect(placement(nullptr), 0, 1, "", 0, 1, "", "one process");
}

static void launchers_that_carry_the_place_to_meet(void**) {
  set_only({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "3"}, {"PMIX_NAMESPACE", "prterun-1"}});
  if (pmix_is_built_in()) {
    expect(placement(nullptr), 1, 3, "", 0, 1, "prterun-1", "Open MPI");
    assert_int_equal(placement(nullptr).exchange, Exchange::kPmix);
  }
  set_only({{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"PMI_FD", "7"}});
  expect(placement(nullptr), 2, 3, "", 0, 1, "", "PMI");
  assert_int_equal(placement(nullptr).exchange, Exchange::kPmi);
  // What smddprun makes of it.
  set_only({{"RANK", "2"}, {"WORLD_SIZE", "3"}, {"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"PMI_FD", "7"}});
  expect(placement(nullptr), 2, 3, "", 0, 1, "", "RANK and WORLD_SIZE");
  assert_int_equal(placement(nullptr).exchange, Exchange::kPmi);
  // Variables and options that say it come first.
  set_only({{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"PMI_FD", "7"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "5"}});
  expect(placement(nullptr), 2, 3, "h", 5, 1, "", "PMI");
  assert_int_equal(placement(nullptr).exchange, Exchange::kNone);
  // A launcher that means another job does not know the place of this one.
  set_only({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"PMI_FD", "7"}});
  expect_error(nullptr, SMDDP_ERR_INVALID_ARGUMENT, {"WORLD_SIZE=2", "MASTER_ADDR"});
}

static void slurm_meets_on_its_first_host(void**) {
  set_only({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "3"}, {"SLURM_STEP_ID", "2"}, {"SLURM_JOB_ID", "77"}, {"SLURM_STEP_NODELIST", "n[07-09],x"},
            {"SLURMD_NODENAME", "n08"}});
  const int port = slurm_port(77, 2);
  expect(placement(nullptr), 1, 3, "n07", port, kPortsToTry, "77.2", "Slurm");
  // Its own PMI is left to MPI.
  setenv("PMI_RANK", "1", 1);
  setenv("PMI_SIZE", "3", 1);
  setenv("PMI_FD", "9", 1);
  setenv("PMI_JOBID", "77.2", 1);
  expect(placement(nullptr), 1, 3, "n07", port, kPortsToTry, "77.2", "Slurm");
  assert_int_equal(placement(nullptr).exchange, Exchange::kNone);
  // Hydra that a Slurm step started is not Slurm's.
  unsetenv("PMI_JOBID");
  assert_int_equal(placement(nullptr).exchange, Exchange::kPmi);
  unsetenv("PMI_RANK");
  unsetenv("PMI_SIZE");
  setenv("SMDDP_BOOTSTRAP_PORT", "4000", 1);
  expect(placement(nullptr), 1, 3, "n07", 4000, 1, "77.2", "Slurm");
  unsetenv("SMDDP_BOOTSTRAP_PORT");
  // What smddprun makes of it.
  setenv("RANK", "1", 1);
  setenv("WORLD_SIZE", "3", 1);
  expect(placement(nullptr), 1, 3, "n07", port, kPortsToTry, "77.2", "RANK and WORLD_SIZE");
  unsetenv("RANK");
  unsetenv("WORLD_SIZE");
  setenv("SLURM_PROCID", "0", 1);
  expect_error(nullptr, SMDDP_ERR_UNSUPPORTED, {"SLURMD_NODENAME=n08 has rank 0", "SLURM_STEP_NODELIST=n[07-09],x begins with n07"});
  setenv("SLURM_STEP_NODELIST", "n[07", 1);
  expect_error(nullptr, SMDDP_ERR_INVALID_ARGUMENT, {"SLURM_STEP_NODELIST='n[07'", "'[' without ']'"});
}

static void launchers_without_a_place_to_meet(void**) {
  set_only({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "3"}});
  expect_error(nullptr, SMDDP_ERR_UNSUPPORTED, {"Open MPI gives rank 1 of 3", "set MASTER_ADDR and MASTER_PORT"});
  set_only({{"PMI_RANK", "1"}, {"PMI_SIZE", "3"}, {"MASTER_ADDR", "h"}});
  expect_error(nullptr, SMDDP_ERR_UNSUPPORTED, {"PMI gives rank 1 of 3", "MASTER_PORT"});
  set_only({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}});
  expect(placement(nullptr), 0, 1, "", 0, 1, "", "PMI");
}

static void order_of_launchers(void**) {
  set_only({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "5"}, {"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"},
            {"PMI_RANK", "1"}, {"PMI_SIZE", "2"}});
  const Placement p = placement(nullptr);
  expect(p, 1, 2, "h", 5, 1, "", "RANK and WORLD_SIZE");
  int warnings = 0;
  for (const std::string& note : p.notes) {
    if (note.rfind("warning: ", 0) != 0) continue;
    ++warnings;
    assert_contains(note, "RANK=1, WORLD_SIZE=2 and OMPI_COMM_WORLD_RANK=0, OMPI_COMM_WORLD_SIZE=2 differ; RANK and WORLD_SIZE are used");
  }
  assert_int_equal(warnings, 1);
}

static void the_warning_reaches_standard_error(void**) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  const int saved = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  set_log_level(Level::kWarn);
  set_only({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "5"}});
  placement(nullptr);
  dup2(saved, STDERR_FILENO);
  close(saved);
  set_log_level(Level::kError);
  char text[512] = "";
  assert_true(read(ends[0], text, sizeof(text) - 1) > 0);
  close(ends[0]);
  close(ends[1]);
  assert_contains(std::string(text), "rank 1: warn: OMPI_COMM_WORLD_RANK=1, OMPI_COMM_WORLD_SIZE=2 and PMI_RANK=0, PMI_SIZE=2 differ");
}

static void wrong_variables(void**) {
  for (const char* rank : {"4", "-1", "2x", "", " 1", "1.0", "99999999999999999999"}) {
    expect_wrong({{"RANK", rank}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "5"}},
                 {format("RANK='%s' is not an integer from 0 to 3", rank).c_str(), "WORLD_SIZE=4"});
  }
  for (const char* size : {"0", "abc", "", "-4", "2147483648"}) {
    expect_wrong({{"RANK", "0"}, {"WORLD_SIZE", size}}, {format("WORLD_SIZE='%s' is not an integer from 1 to 2147483647", size).c_str()});
  }
  expect_wrong({{"WORLD_SIZE", "4"}}, {"WORLD_SIZE=4 is set but RANK is not"});
  expect_wrong({{"RANK", "1"}}, {"RANK=1 is set but WORLD_SIZE is not"});
  expect_wrong({{"OMPI_COMM_WORLD_RANK", "x"}, {"OMPI_COMM_WORLD_SIZE", "4"}}, {"OMPI_COMM_WORLD_RANK='x'"});
  expect_wrong({{"PMI_SIZE", "4"}}, {"PMI_SIZE=4 is set but PMI_RANK is not"});
  expect_wrong({{"SLURM_PROCID", "4"}, {"SLURM_NTASKS", "4"}, {"SLURM_STEP_ID", "0"}}, {"SLURM_PROCID='4'", "SLURM_NTASKS=4"});
  for (const char* port : {"70000", "0", "-1", "", "29500 ", "http"}) {
    expect_wrong({{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", port}},
                 {format("MASTER_PORT='%s' is not an integer from 1 to 65535", port).c_str()});
  }
  expect_wrong({{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", ""}, {"MASTER_PORT", "5"}}, {"MASTER_ADDR is set but empty"});
  expect_wrong({{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"MASTER_PORT", "5"}}, {"WORLD_SIZE=4", "MASTER_ADDR"});
  expect_wrong({{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "h"}}, {"WORLD_SIZE=4", "MASTER_PORT"});
  expect_wrong({{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "h"}, {"SMDDP_BOOTSTRAP_PORT", "70000"}}, {"SMDDP_BOOTSTRAP_PORT='70000'"});
}

static smddp_init_options_t given(int rank, int size, const char* address, int port) {
  smddp_init_options_t options = SMDDP_INIT_STRUCT(options);
  options.rank = rank;
  options.size = size;
  options.address = address;
  options.port = port;
  return options;
}

static void options_come_first(void**) {
  set_only({{"RANK", "7"}, {"WORLD_SIZE", "9"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "5"}, {"SMDDP_JOB_ID", "env"}});
  smddp_init_options_t options = given(1, 3, "a", 99);
  expect(placement(&options), 1, 3, "a", 99, 1, "env", "options");
  options.job_id = "mine";
  expect(placement(&options), 1, 3, "a", 99, 1, "mine", "options");
  options = given(1, 3, nullptr, 0);
  expect(placement(&options), 1, 3, "h", 5, 1, "env", "options");
  options = given(5, 0, "a", 98);
  expect(placement(&options), 7, 9, "a", 98, 1, "env", "RANK and WORLD_SIZE");
  options = given(0, 1, nullptr, 0);
  expect(placement(&options), 0, 1, "", 0, 1, "env", "options");
}

static void options_do_not_take_the_launchers_socket(void**) {
  const UniqueFd listener = listen_everywhere(0);
  const std::string port = std::to_string(local_address(listener.get()).port()), fd = std::to_string(listener.get());
  set_only({{"SMDDP_BOOTSTRAP_ADDRESS", "127.0.0.1"}, {"SMDDP_BOOTSTRAP_PORT", port.c_str()}, {"SMDDP_BOOTSTRAP_FD", fd.c_str()}});
  smddp_init_options_t options = given(0, 2, "127.0.0.1", 5000);
  assert_true(placement(&options).listener.get() < 0);
  options = given(0, 2, nullptr, 0);
  assert_true(placement(&options).listener.get() >= 0);
}

static void wrong_options(void**) {
  set_only({});
  const auto wrong = [](const smddp_init_options_t& options, const char* words) { expect_error(&options, SMDDP_ERR_INVALID_ARGUMENT, {words}); };
  wrong(given(3, 3, "a", 5), "options.rank=3 is not one of 0 to 2 (options.size=3)");
  wrong(given(-1, 3, "a", 5), "options.rank=-1");
  wrong(given(0, -2, "a", 5), "options.size=-2");
  wrong(given(0, 2, "a", 65536), "options.port=65536");
  wrong(given(0, 2, "a", -1), "options.port=-1");
  wrong(given(0, 2, "", 5), "options.address is an empty string");
  wrong(given(0, 2, nullptr, 5), "options.address is not given and neither SMDDP_BOOTSTRAP_ADDRESS nor MASTER_ADDR is set");
  wrong(given(0, 2, "a", 0), "options.port is not given and neither SMDDP_BOOTSTRAP_PORT nor MASTER_PORT is set");
}

int main() {
  set_log_level(Level::kError);
  const CMUnitTest tests[] = {
      cmocka_unit_test(nothing_set_is_one_rank),
      cmocka_unit_test(plain_variables), cmocka_unit_test(a_server_asks_above_the_master_port_too),
      cmocka_unit_test(torchrun),
      cmocka_unit_test(smddprun),
      cmocka_unit_test(other_launchers),
      cmocka_unit_test(slurm_outside_of_a_step_is_no_launcher),
      cmocka_unit_test(launchers_that_carry_the_place_to_meet),
      cmocka_unit_test(slurm_meets_on_its_first_host),
      cmocka_unit_test(launchers_without_a_place_to_meet),
      cmocka_unit_test(order_of_launchers),
      cmocka_unit_test(the_warning_reaches_standard_error),
      cmocka_unit_test(wrong_variables),
      cmocka_unit_test(options_come_first),
      cmocka_unit_test(options_do_not_take_the_launchers_socket),
      cmocka_unit_test(wrong_options),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
