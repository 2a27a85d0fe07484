// Runs a piece of a test as a process in a network (and mount) namespace of its own. Invariant: nothing outside of it changes.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

namespace smddp::bootstrap::test {

inline bool write_file(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  return written;
}

inline bool command(const std::string& line) { return std::system((line + " >/dev/null 2>&1").c_str()) == 0; }

inline bool enter_namespaces() {
  if (unshare(CLONE_NEWNET | CLONE_NEWNS) != 0) {
    const std::string user = std::to_string(getuid()), group = std::to_string(getgid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS) != 0) return false;
    write_file("/proc/self/setgroups", "deny");
    if (!write_file("/proc/self/uid_map", "0 " + user + " 1") || !write_file("/proc/self/gid_map", "0 " + group + " 1")) return false;
  }
  return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

// What body says: "" for success, "SKIP: reason", or what is wrong; also if it died.
inline std::string in_namespace(const std::function<std::string()>& body) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    std::string text;
    if (!enter_namespaces()) text = std::string("SKIP: the kernel forbids network namespaces: ") + strerror(errno);
    else if (!command("ip link show lo")) text = "SKIP: there is no ip command (package iproute2)";
    else text = body();
    [[maybe_unused]] const ssize_t written = write(ends[1], text.data(), text.size());
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[1024];
  for (ssize_t bytes; (bytes = read(ends[0], buffer, sizeof(buffer))) > 0;) text.append(buffer, static_cast<size_t>(bytes));
  close(ends[0]);
  int status = -1;
  waitpid(child, &status, 0);
  return status == 0 ? text : text + " (the process ended with status " + std::to_string(status) + ")";
}

// Puts a file of its own in place of /etc/hosts for the namespace.
inline bool set_hosts(const std::string& text) {
  char path[] = "/tmp/smddp-hosts-XXXXXX";
  const int fd = mkstemp(path);
  if (fd < 0) return false;
  close(fd);
  static bool mounted = false;
  if (mounted) umount2("/etc/hosts", MNT_DETACH);
  const bool done = mounted = write_file(path, text) && mount(path, "/etc/hosts", nullptr, MS_BIND, nullptr) == 0;
  unlink(path);
  return done;
}

}  // namespace smddp::bootstrap::test
