// The child answers over a pipe: a first byte for success or failure, the text, and a last byte without which the answer counts as a
// crash. The child's exit status is not used, since a program may have told the kernel to forget its children.
#include "topology/isolate.hpp"

#include "base/error.hpp"
#include "base/unique_fd.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace smddp::topology {
namespace {

constexpr unsigned kMostSeconds = 10;
constexpr char kGood = 'g', kFailed = 'f', kEnd = '\n';

void write_all(int fd, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno != EINTR) return;
    if (n > 0) done += static_cast<size_t>(n);
  }
}

std::string read_all(int fd) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t n = ::read(fd, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(buffer, static_cast<size_t>(n));
  }
}

// A crash must end the child silently: no handler of the program, no core file, no message.
void prepare_to_crash() {
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM, SIGPIPE}) std::signal(signal, SIG_DFL);
  sigset_t alarm_only;
  sigemptyset(&alarm_only);
  sigaddset(&alarm_only, SIGALRM);
  sigprocmask(SIG_UNBLOCK, &alarm_only, nullptr);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null >= 0) dup2(null, STDERR_FILENO);
  alarm(kMostSeconds);
}

[[noreturn]] void answer(int fd, const std::function<std::string()>& make) {
  prepare_to_crash();
  std::string text;
  try {
    text = kGood + make();
  } catch (const std::exception& error) {
    text = std::string(1, kFailed) + error.what();
  }
  write_all(fd, text + kEnd);
  _exit(0);
}

}  // namespace

std::string isolated(const std::string& what, const std::function<std::string()>& make) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw system_error("pipe2", "for " + what);
  const UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  const pid_t child = fork();
  if (child < 0) throw system_error("fork", "for " + what);
  if (child == 0) answer(to.get(), make);
  to.reset();
  std::string text = read_all(from.get());
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (text.size() < 2 || text.back() != kEnd) throw Error(SMDDP_ERR_SYSTEM, "hwloc crashed or hung on " + what);
  text.pop_back();
  if (text[0] == kFailed) throw Error(SMDDP_ERR_SYSTEM, text.substr(1));
  return text.substr(1);
}

}  // namespace smddp::topology
