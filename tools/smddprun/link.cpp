#include "link.hpp"

#include "agent.hpp"
#include "exit_status.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/prctl.h>

#include <cerrno>

namespace smddprun {
namespace {

// The path of this program as one word of a shell, which a remote command may or may not have.
std::string own_path() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0) throw Failure(with_errno("readlink(/proc/self/exe)", errno));
  std::string text(path, static_cast<size_t>(length));
  if (text.find_first_of(" \t\n'\"\\$`;&|<>()*?[]{}~#!") == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

[[noreturn]] void run(std::vector<std::string> words, int in, int out, const LaunchPlan& plan, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kLauncherFailed);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  setrlimit(RLIMIT_NOFILE, &plan.descriptor_limit);
  sigprocmask(SIG_SETMASK, &plan.signal_mask, nullptr);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const std::string sentence = with_errno("smddprun: cannot run '" + words[0] + "'", errno) + "\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, sentence.data(), sentence.size());
  _exit(errno == ENOENT ? kNotFound : kCannotExecute);
}

}  // namespace

Link start_link(const HostShare& host, const std::vector<std::string>& command, const LaunchPlan& plan) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0) throw Failure(with_errno("pipe", errno));
  Fd in_read(in[0]), in_write(in[1]);
  if (pipe2(out, O_CLOEXEC) != 0) throw Failure(with_errno("pipe", errno));
  Fd out_read(out[0]), out_write(out[1]);
  std::vector<std::string> words = command;
  words.insert(words.end(), {host.name, own_path(), kAgentOption});

  Link link;
  link.host = host;
  const pid_t parent = getpid();
  link.process = fork();
  if (link.process < 0) throw Failure(with_errno("fork", errno));
  if (link.process == 0) run(std::move(words), in_read.get(), out_write.get(), plan, parent);
  link.to = std::move(in_write);
  link.from = std::move(out_read);
  for (const int fd : {link.to.get(), link.from.get()}) fcntl(fd, F_SETFL, O_NONBLOCK);
  return link;
}

}  // namespace smddprun
