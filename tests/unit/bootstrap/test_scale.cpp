// TIMEOUT 240
// 2,048 ranks meet at one, as threads of a few processes; the time and the descriptors of rank 0 are printed.
#include "base/log.hpp"
#include "unit/bootstrap/environment.hpp"
#include "unit/bootstrap/ranks.hpp"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
extern "C" {
#include <cmocka.h>
}

using namespace smddp;
using namespace smddp::bootstrap;
using namespace smddp::bootstrap::test;

constexpr int kSize = 2048, kProcesses = 4;

static bool g_skipped = false;

static int open_descriptors() {
  int count = 0;
  if (DIR* folder = opendir("/proc/self/fd")) {
    while (readdir(folder)) ++count;
    closedir(folder);
  }
  return count;
}

// What is wrong with one rank of the meeting; of rank 0 also how many descriptors it took.
static std::string come(int rank, int port) {
  Rank member(rank, kSize, port);
  member.timeout_ms = 120000;
  const int before = open_descriptors();
  const Outcome outcome = attend(std::move(member));
  if (rank == 0) print_message("rank 0 holds %d descriptors more\n", open_descriptors() - before);
  return check_meeting(outcome, kSize);
}

static std::string come_all(int first, int step, int port) {
  std::vector<std::future<std::string>> ranks;
  for (int rank = first; rank < kSize; rank += step) ranks.push_back(std::async(std::launch::async, come, rank, port));
  std::string wrong;
  for (auto& rank : ranks) {
    const std::string text = rank.get();
    if (!text.empty() && wrong.size() < 1000) wrong += text + "\n";
  }
  return wrong;
}

static void thousands_meet(void**) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 8192);
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < kSize + 1024) {
    print_message("SKIP: a process may have %llu descriptors, too few for a connection to each of %d ranks\n",
                  static_cast<unsigned long long>(limit.rlim_cur), kSize);
    g_skipped = true;
    skip();
  }
  const int port = free_port();
  const int64_t before = now_ns();
  pid_t children[kProcesses];
  for (int i = 0; i < kProcesses; ++i) {
    children[i] = fork();
    if (children[i] != 0) continue;
    const std::string wrong = come_all(1 + i, kProcesses, port);
    if (!wrong.empty()) print_error("%s", wrong.c_str());
    _exit(wrong.empty() ? 0 : 1);
  }
  const std::string wrong = come(0, port);
  print_message("rank 0 has met %d ranks after %lld ms\n", kSize - 1, static_cast<long long>((now_ns() - before) / 1000000));
  int failures = 0;
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    failures += status != 0;
  }
  assert_nothing(wrong);
  assert_int_equal(failures, 0);
}

int main() {
  set_log_level(Level::kError);
  set_only({});
  const CMUnitTest tests[] = {cmocka_unit_test(thousands_meet)};
  const int failed = cmocka_run_group_tests(tests, nullptr, nullptr);
  return failed == 0 && g_skipped ? 77 : failed;
}
