#include "process_tree.hpp"

#include <dirent.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_map>
#include <vector>

namespace smddprun {
namespace {

constexpr unsigned kExiting = 4;  // PF_EXITING of the kernel

struct Stat {
  char state = 'X';
  pid_t parent = 0;
  unsigned flags = 0;
};

// Of a process that is gone: the default.
Stat stat_of(pid_t pid) {
  char path[32], text[512];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE* file = std::fopen(path, "re");
  if (!file) return {};
  const size_t length = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  text[length] = '\0';
  // The name may hold any character, also parentheses.
  const char* after_name = std::strrchr(text, ')');
  Stat stat;
  if (!after_name || std::sscanf(after_name + 1, " %c %d %*d %*d %*d %*d %u", &stat.state, &stat.parent, &stat.flags) != 3) return {};
  return stat;
}

std::vector<pid_t> descendants() {
  std::unordered_map<pid_t, std::vector<pid_t>> children;
  if (DIR* directory = opendir("/proc")) {
    while (const dirent* entry = readdir(directory)) {
      if (!std::isdigit(static_cast<unsigned char>(entry->d_name[0]))) continue;
      const pid_t pid = std::atoi(entry->d_name);
      const Stat stat = stat_of(pid);
      if (stat.parent && stat.state != 'Z') children[stat.parent].push_back(pid);
    }
    closedir(directory);
  }
  std::vector<pid_t> found = children[getpid()];
  for (size_t i = 0; i < found.size(); ++i) {
    const std::vector<pid_t> next = children[found[i]];
    found.insert(found.end(), next.begin(), next.end());
  }
  return found;
}

}  // namespace

void become_subreaper() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

bool is_dying(pid_t pid) {
  const Stat stat = stat_of(pid);
  return stat.state == 'Z' || stat.state == 'X' || (stat.flags & kExiting);
}

void signal_descendants(int signal) {
  for (const pid_t pid : descendants()) kill(pid, signal);
}

bool kill_descendants() {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    signal_descendants(SIGKILL);
    pid_t reaped;
    while ((reaped = waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (reaped < 0) return true;
    usleep(5000);
  }
  return false;
}

}  // namespace smddprun
