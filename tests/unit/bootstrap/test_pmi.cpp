// Ranks meet by what a launcher's PMI carries; a launcher that is silent, gone or talks nonsense is an error that says so.
#include "base/log.hpp"
#include "bootstrap/pmi.hpp"
#include "unit/bootstrap/environment.hpp"
#include "unit/bootstrap/ranks.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <map>
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

// What the launcher answers to a line; "" for nothing.
using Answers = std::function<std::string(const std::string& line)>;

static void serve(int fd, const Answers& answers) {
  std::string line;
  for (char byte; read(fd, &byte, 1) == 1;) {
    if (byte != '\n') {
      line += byte;
      continue;
    }
    const std::string answer = answers(line) + "\n";
    line.clear();
    if (answer == "hang up\n") break;
    if (answer != "\n" && write(fd, answer.data(), answer.size()) < 0) break;
  }
  close(fd);
}

static std::string value_of(const std::string& line, const std::string& name) {
  const size_t begin = line.find(" " + name + "=");
  return begin == std::string::npos ? "" : line.substr(begin + name.size() + 2, line.find(' ', begin + 1) - begin - name.size() - 2);
}

// One rank and what the launcher tells it. own: answers in place of the usual ones.
static Outcome ask(const Answers& own, int rank = 1, int64_t timeout_ms = 2000) {
  int ends[2];
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  std::thread launcher(serve, ends[0], [own](const std::string& line) -> std::string {
    if (std::string answer = own(line); !answer.empty()) return answer == "nothing" ? "" : answer;
    if (line.rfind("cmd=init ", 0) == 0) return "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0";
    if (line == "cmd=get_my_kvsname") return "cmd=my_kvsname kvsname=kvs_1";
    if (line.rfind("cmd=put ", 0) == 0) return "cmd=put_result rc=0 msg=success";
    if (line == "cmd=barrier_in") return "cmd=barrier_out tag=0";
    return "cmd=get_result rc=0 msg=success value=abc";
  });
  setenv("PMI_FD", std::to_string(ends[1]).c_str(), 1);
  Placement placement;
  placement.rank = rank;
  placement.size = 2;
  Outcome outcome;
  try {
    outcome.text = pmi_exchange(placement, "smddp-0", "xyz", deadline_after_ms(timeout_ms));
  } catch (const Error& error) {
    outcome.code = error.code();
    outcome.text = error.what();
  }
  shutdown(ends[1], SHUT_RDWR);
  close(ends[1]);
  launcher.join();
  return outcome;
}

static void the_value_of_rank_0(void**) {
  std::string put;
  const Answers watch = [&put](const std::string& line) {
    if (line.rfind("cmd=put ", 0) == 0) put = line;
    return "";
  };
  Outcome outcome = ask(watch, 0);
  assert_code(outcome, SMDDP_SUCCESS);
  assert_string_equal(outcome.text.c_str(), "abc");
  assert_string_equal(put.c_str(), "cmd=put kvsname=kvs_1 key=smddp-0 value=xyz");
  put.clear();
  outcome = ask(watch, 1);
  assert_code(outcome, SMDDP_SUCCESS);
  assert_string_equal(put.c_str(), "");
}

static Answers answer_to(const std::string& beginning, const std::string& answer) {
  return [=](const std::string& line) { return line.rfind(beginning, 0) == 0 ? answer : ""; };
}

static void what_a_launcher_can_get_wrong(void**) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"cmd=init", "cmd=response_to_init rc=-1", "answers 'cmd=response_to_init rc=-1' to 'cmd=init pmi_version=1 pmi_subversion=1'"},
      {"cmd=init", "garbage", "answers 'garbage'"},
      {"cmd=init", "hang up", "is gone: it has closed the connection"},
      {"cmd=get_my", "cmd=my_kvsname", "answers 'cmd=my_kvsname' to 'cmd=get_my_kvsname'"},
      {"cmd=barrier_in", "hang up", "is gone"},
      {"cmd=get kvs", "cmd=get_result rc=-1 msg=key_not_found value=unknown", "key_not_found"},
  };
  for (const auto& [request, answer, words] : cases) {
    const Outcome outcome = ask(answer_to(request, answer));
    assert_code(outcome, SMDDP_ERR_BOOTSTRAP);
    assert_contains(outcome.text, words);
    assert_contains(outcome.text, "rank 1 of 2: the launcher's PMI (PMI_FD=");
  }
  const Outcome endless = ask(answer_to("cmd=init", std::string(20000, 'x')));
  assert_code(endless, SMDDP_ERR_BOOTSTRAP);
  assert_contains(endless.text, "a line without an end");
}

// In a process each: what is owed would come before the answers of the next.
static void deadlines(void**) {
  for (const auto& [request, words] : {std::pair{"cmd=barrier_in", "some rank has not called smddp_init"}, {"cmd=init", "did not answer 'cmd=init"}}) {
    const pid_t child = fork();
    if (child == 0) {
      const Outcome outcome = ask(answer_to(request, "nothing"), 1, 300);
      const bool right = outcome.code == SMDDP_ERR_TIMEOUT && contains(outcome.text, words);
      if (!right) print_error("%s: %s\n", request, outcome.text.c_str());
      _exit(right ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
  }
}

static void descriptors_that_are_no_socket(void**) {
  Placement placement;
  placement.rank = 1;
  placement.size = 2;
  for (const auto& [fd, words] : {std::pair{"0x", "PMI_FD='0x' is not an integer"}, {"", "PMI_FD='' is not an integer"},
                                  {"999", "PMI_FD=999 is not a socket of this process (Bad file descriptor)"}}) {
    setenv("PMI_FD", fd, 1);
    std::string text;
    try {
      pmi_exchange(placement, "k", "v", deadline_after_ms(1000));
    } catch (const Error& error) {
      text = error.what();
    }
    assert_contains(text, words);
  }
}

// Three processes and a launcher that keeps their values: they meet twice. Each says farewell when it exits.
static void processes_meet(void**) {
  constexpr int kSize = 3;
  int ends[kSize][2];
  pid_t children[kSize];
  for (auto& pair : ends) assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  for (int rank = 0; rank < kSize; ++rank) {
    children[rank] = fork();
    if (children[rank] != 0) continue;
    for (int other = 0; other < kSize; ++other) {
      close(ends[other][0]);
      if (other != rank) close(ends[other][1]);
    }
    set_only({{"PMI_RANK", std::to_string(rank).c_str()}, {"PMI_SIZE", "3"}, {"PMI_FD", std::to_string(ends[rank][1]).c_str()}});
    for (int round = 0; round < 2; ++round) {
      Rank member(rank, kSize, 0);
      member.placement = placement(nullptr);
      const std::string wrong = check_meeting(attend(std::move(member)), kSize);
      if (!wrong.empty()) {
        print_error("rank %d: %s\n", rank, wrong.c_str());
        _exit(1);
      }
    }
    exit(0);
  }
  std::map<std::string, std::string> values;
  int waiting = 0, farewells = 0, open = kSize;
  std::string lines[kSize];
  for (auto& pair : ends) close(pair[1]);
  while (open > 0) {
    pollfd polls[kSize];
    for (int i = 0; i < kSize; ++i) polls[i] = {ends[i][0], POLLIN, 0};
    if (poll(polls, kSize, 20000) <= 0) break;
    for (int i = 0; i < kSize; ++i) {
      char byte;
      if (!polls[i].revents) continue;
      if (read(ends[i][0], &byte, 1) != 1) {
        close(ends[i][0]);
        ends[i][0] = -1;
        --open;
        continue;
      }
      if (byte != '\n') {
        lines[i] += byte;
        continue;
      }
      const std::string line = std::exchange(lines[i], ""), key = value_of(line, "key");
      std::string answer;
      if (line.rfind("cmd=init", 0) == 0) answer = "cmd=response_to_init rc=0";
      if (line == "cmd=get_my_kvsname") answer = "cmd=my_kvsname kvsname=k";
      if (line.rfind("cmd=put", 0) == 0) {
        values[key] = value_of(line, "value");
        answer = "cmd=put_result rc=0";
      }
      if (line.rfind("cmd=get ", 0) == 0) answer = "cmd=get_result rc=0 value=" + values[key];
      if (line == "cmd=finalize") {
        ++farewells;
        answer = "cmd=finalize_ack";
      }
      if (line == "cmd=barrier_in" && ++waiting % kSize == 0) {
        for (auto& pair : ends) dprintf(pair[0], "cmd=barrier_out\n");
      }
      if (!answer.empty()) dprintf(ends[i][0], "%s\n", answer.c_str());
    }
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
  }
  assert_int_equal(values.size(), 2);
  assert_int_equal(farewells, kSize);
}

int main() {
  set_log_level(Level::kError);
  // First: the others leave a farewell to the launchers that they made.
  const CMUnitTest tests[] = {
      cmocka_unit_test(processes_meet), cmocka_unit_test(the_value_of_rank_0), cmocka_unit_test(deadlines),
      cmocka_unit_test(descriptors_that_are_no_socket), cmocka_unit_test(what_a_launcher_can_get_wrong),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
