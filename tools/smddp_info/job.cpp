#include "job.hpp"

#include "text.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace {

constexpr size_t kNameBytes = 32;

void require(smddp_status_t status) {
  if (status != SMDDP_SUCCESS) throw std::runtime_error(smddp_last_error());
}

// By rank and peer, as each rank sees it.
std::vector<std::vector<std::string>> transports(smddp_comm_t world, int rank, int size) {
  const auto count = static_cast<size_t>(size);
  std::vector<char> all(count * count * kNameBytes);
  char* own = all.data() + static_cast<size_t>(rank) * count * kNameBytes;
  for (size_t peer = 0; peer < count; ++peer) {
    const char* name = "";
    require(smddp_comm_transport(world, static_cast<int>(peer), &name));
    std::strncpy(own + peer * kNameBytes, name, kNameBytes - 1);
  }
  require(smddp_allgather(own, all.data(), count * kNameBytes, SMDDP_UINT8, world, nullptr));
  std::vector<std::vector<std::string>> rows(count);
  for (size_t i = 0; i < count * count; ++i) rows[i / count].emplace_back(all.data() + i * kNameBytes);
  return rows;
}

// "self 0, shared memory 1, net 2-3".
std::string line_of(const std::vector<std::string>& row) {
  std::string line;
  for (size_t first = 0; first < row.size();) {
    size_t last = first;
    while (last + 1 < row.size() && row[last + 1] == row[first]) ++last;
    line += (line.empty() ? "" : ", ") + row[first] + " " + std::to_string(first);
    if (last > first) line += "-" + std::to_string(last);
    first = last + 1;
  }
  return line;
}

std::string described(smddp_info_format_t format) {
  std::string text;
  const auto describe = [&](char* buffer, size_t capacity, size_t* length) { return smddp_info(SMDDP_INFO_JOB, format, buffer, capacity, length); };
  if (!read_text(describe, text)) throw std::runtime_error(text);
  return text;
}

}  // namespace

int print_job(bool as_json) {
  try {
    smddp_comm_t world = nullptr;
    int rank = 0, size = 1;
    require(smddp_init(nullptr, &world));
    require(smddp_comm_rank(world, &rank));
    require(smddp_comm_size(world, &size));
    const auto rows = transports(world, rank, size);
    if (rank == 0 && as_json) {
      nlohmann::ordered_json job = nlohmann::ordered_json::parse(described(SMDDP_FORMAT_JSON));
      job["transports"] = rows;
      std::printf("%s\n", job.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    } else if (rank == 0) {
      std::printf("%s\n\nTransports\n", described(SMDDP_FORMAT_TEXT).c_str());
      for (size_t r = 0; r < rows.size(); ++r) std::printf("  rank %zu: %s\n", r, line_of(rows[r]).c_str());
    }
    const bool written = std::fflush(stdout) == 0;
    require(smddp_finalize(world));
    return written ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "smddp-info: %s\n", error.what());
    return 1;
  }
}
