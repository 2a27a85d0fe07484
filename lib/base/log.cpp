#include "base/log.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>

namespace smddp {
namespace {
std::atomic<int> g_level{static_cast<int>(Level::kWarn)};
constexpr const char* kNames[] = {"error", "warn", "info", "debug"};
}  // namespace

void set_log_level(Level level) { g_level.store(static_cast<int>(level), std::memory_order_relaxed); }

bool log_enabled(Level level) { return static_cast<int>(level) <= g_level.load(std::memory_order_relaxed); }

void log(Level level, int rank, const char* pattern, ...) {
  if (!log_enabled(level)) return;
  char line[1024];
  int used = rank >= 0 ? std::snprintf(line, sizeof(line), "smddp: rank %d: %s: ", rank, kNames[static_cast<int>(level)])
                       : std::snprintf(line, sizeof(line), "smddp: %s: ", kNames[static_cast<int>(level)]);
  va_list arguments;
  va_start(arguments, pattern);
  const int more = std::vsnprintf(line + used, sizeof(line) - static_cast<size_t>(used) - 1, pattern, arguments);
  va_end(arguments);
  used += more < static_cast<int>(sizeof(line)) - used - 1 ? more : static_cast<int>(sizeof(line)) - used - 2;
  line[used++] = '\n';
  // One write per line, so that lines of different ranks do not mix.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line, static_cast<size_t>(used));
}

}  // namespace smddp
