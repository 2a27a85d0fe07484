#include "bootstrap/pmix.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/signal_block.hpp"
#include "base/unique_fd.hpp"
#include "bootstrap/pmix_client.hpp"
#include "bootstrap/socket.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cerrno>
#include <thread>

namespace smddp::bootstrap {
namespace {

// The report: one of these, then the value or what is wrong.
constexpr char kValue = 'v', kWrong = 'w';

void ask(int report, int rank, const std::string& key, const std::string& value) {
  std::string text;
  const bool done = pmix_client(rank, key, value, text);
  text.insert(text.begin(), done ? kValue : kWrong);
  [[maybe_unused]] const ssize_t written = write(report, text.data(), text.size());
}

// Ends whoever asks, unless that is a thread, which ends with its answer.
class Asking {
 public:
  Asking(UniqueFd report, int rank, const std::string& key, const std::string& value) {
    if (pmix_is_in_use()) {
      const SignalBlock block;
      std::thread([=, fd = report.release()] { ask(UniqueFd(fd).get(), rank, key, value); }).detach();
      return;
    }
    const pid_t parent = getpid();
    child_ = fork();
    if (child_ < 0) throw system_error("fork", "to ask PMIx where rank 0 is");
    if (child_ > 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent) ask(report.get(), rank, key, value);
    _exit(0);
  }
  ~Asking() {
    if (child_ < 0) return;
    kill(child_, SIGKILL);
    while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

 private:
  pid_t child_ = -1;
};

}  // namespace

std::string pmix_exchange(const Placement& placement, const std::string& key, const std::string& value, int64_t deadline) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw system_error("pipe2", "to ask PMIx where rank 0 is");
  UniqueFd answers(ends[0]), to_parent(ends[1]);
  const Asking asking(std::move(to_parent), placement.rank, key, value);
  std::string text;
  char buffer[1024];
  for (ssize_t length = 1; length != 0;) {
    if (!wait_for(answers.get(), POLLIN, deadline)) {
      throw Error(SMDDP_ERR_TIMEOUT, format("rank %d of %d asked the launcher (PMIx) where rank 0 is, and waits for ranks that have not asked: "
                                            "some rank has not called smddp_init",
                                            placement.rank, placement.size));
    }
    length = read(answers.get(), buffer, sizeof(buffer));
    if (length > 0) text.append(buffer, static_cast<size_t>(length));
    if (length < 0 && errno != EINTR) throw system_error("read", "from the process that asks PMIx");
  }
  if (!text.empty() && text[0] == kValue) return text.substr(1);
  throw Error(SMDDP_ERR_BOOTSTRAP,
              format("rank %d of %d cannot ask the launcher (PMIx) where rank 0 is: %s; set MASTER_ADDR and MASTER_PORT instead", placement.rank,
                     placement.size, text.empty() ? "the process that asks has died" : text.c_str() + 1));
}

}  // namespace smddp::bootstrap
