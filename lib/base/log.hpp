// Messages for people, one line each, to standard error: "smddp: rank 3: warn: …". Never on the data path.
#pragma once

namespace smddp {

enum class Level { kError, kWarn, kInfo, kDebug };

void set_log_level(Level level);
bool log_enabled(Level level);
void log(Level level, int rank, const char* pattern, ...) __attribute__((format(printf, 3, 4)));

}  // namespace smddp
