// Nobody is left asleep: two ranks wake each other in turns, each going to sleep as soon as it can, with the sleeper's fence and without.
#include "base/clock.hpp"
#include "node/group.hpp"
#include "node/sleeper_fence.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

namespace {

using namespace smddp;

constexpr uint64_t kRounds = 200000;
constexpr int64_t kSleepUs = 2000000;  // only ever so long if nobody rings

std::unique_ptr<node::Group> group_of(const std::shared_ptr<node::Arena>& arena, const std::vector<UniqueFd>& bells, int rank, bool fences_all) {
  std::vector<UniqueFd> copies;
  for (const UniqueFd& bell : bells) copies.emplace_back(dup(bell.get()));
  return std::make_unique<node::Group>(arena, std::move(copies), std::vector<int>{0, 1}, rank, fences_all);
}

// Sleeps that nobody ended.
int overslept(bool fences_all) {
  const std::shared_ptr<node::Arena> arena = node::Arena::open(node::Arena::create(2, uint64_t{64} << 20));
  std::vector<UniqueFd> bells;
  for (int r = 0; r < 2; ++r) bells.emplace_back(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  const std::unique_ptr<node::Group> groups[2] = {group_of(arena, bells, 0, fences_all), group_of(arena, bells, 1, fences_all)};
  alignas(64) std::atomic<uint64_t> flags[2][8] = {};
  std::atomic<int> overslept{0};
  const auto run = [&](int rank) {
    const node::Group& group = *groups[rank];
    const std::vector<int> members{0, 1};
    for (uint64_t round = 1; round <= kRounds && !overslept; ++round) {
      group.publish(flags[rank][0], round, members);
      const auto came = [&] { return flags[1 - rank][0].load(std::memory_order_acquire) >= round; };
      // Awake in most rounds, which brings all lines where they are read; then it looks for a while of changing length, and goes to sleep
      // now and then just when the other one publishes.
      uint64_t looks = round % 8 || round % 16 / 8 == static_cast<uint64_t>(rank) ? 20000 : round * 2654435761u % 128;
      for (; looks > 0 && !came(); --looks) {}
      while (!came() && !overslept) {
        group.begin_sleep();
        const int64_t start = now_ns();
        if (!came()) group.sleep(kSleepUs);
        group.end_sleep();
        if (now_ns() - start >= kSleepUs * 1000) ++overslept;
      }
    }
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  return overslept;
}

void with_the_sleepers_fence(void**) {
  if (!node::accept_fences()) {
    print_message("the kernel has no membarrier for all processes, or forbids it\n");
    skip();
  }
  assert_int_equal(overslept(true), 0);
}

void with_fences_of_publishers(void**) { assert_int_equal(overslept(false), 0); }

// As in a container whose filter of system calls does not know membarrier.
void forbidden(void**) {
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
                            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    sock_fprog program{4, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(2);
    _exit(node::accept_fences() ? 1 : 0);
  }
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(with_the_sleepers_fence), cmocka_unit_test(with_fences_of_publishers), cmocka_unit_test(forbidden)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
