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

// Parent of pid, 0 if it is gone or a zombie.
pid_t parent_of(pid_t pid) {
  char path[32], text[512];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE* file = std::fopen(path, "re");
  if (!file) return 0;
  const size_t length = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  text[length] = '\0';
  // The name may hold any character, also parentheses.
  const char* after_name = std::strrchr(text, ')');
  char state = 0;
  int parent = 0;
  if (!after_name || std::sscanf(after_name + 1, " %c %d", &state, &parent) != 2 || state == 'Z') return 0;
  return parent;
}

std::vector<pid_t> descendants() {
  std::unordered_map<pid_t, std::vector<pid_t>> children;
  if (DIR* directory = opendir("/proc")) {
    while (const dirent* entry = readdir(directory)) {
      if (!std::isdigit(static_cast<unsigned char>(entry->d_name[0]))) continue;
      const pid_t pid = std::atoi(entry->d_name);
      if (const pid_t parent = parent_of(pid)) children[parent].push_back(pid);
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
