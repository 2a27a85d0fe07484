#include "report.hpp"

#include "rank_error.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace smddp_bench {
namespace {

const char* op_text(const Row& row) { return row.traits.reduces ? smddp_op_name(row.op) : "none"; }
const char* dtype_text(const Row& row) { return row.traits.collective == Collective::kBarrier ? "none" : smddp_dtype_name(row.dtype); }

// By name, of this rank.
nlohmann::ordered_json counters(smddp_comm_t world) {
  static constexpr const char* names[] = {"fast_path", "eager", "two_copy", "zero_copy", "bytes", "wire_messages_sent", "wire_messages_received",
                                          "wire_bytes_sent", "wire_bytes_received", "engine_operations", "sleeps", "yields", "progress_wakeups",
                                          "wire_sleeps", "wire_naps", "wire_eager", "wire_rendezvous", "wire_puts", "wire_packets"};
  nlohmann::ordered_json all;
  for (const char* name : names) {
    uint64_t value = 0;
    require(smddp_comm_counter(world, name, &value), "smddp_comm_counter");
    all[name] = value;
  }
  return all;
}

nlohmann::ordered_json job() {
  size_t length = 0;
  require(smddp_info(SMDDP_INFO_JOB, SMDDP_FORMAT_JSON, nullptr, 0, &length), "smddp_info");
  std::string text(length + 1, '\0');
  require(smddp_info(SMDDP_INFO_JOB, SMDDP_FORMAT_JSON, text.data(), text.size(), nullptr), "smddp_info");
  text.resize(length);
  return nlohmann::ordered_json::parse(text);
}

}  // namespace

Report::Report(const Options& options, bool active, int size, const char* transport)
    : options_(options), active_(active), table_(active && options.json != "-") {
  json_["program"] = "smddp-bench";
  json_["version"] = SMDDP_VERSION_STRING;
  json_["ranks"] = size;
  json_["transport"] = transport;
  json_["alloc"] = options.shared_memory ? "smddp" : "private";
  json_["async"] = options.async;
  json_["root"] = options.root;
  json_["results"] = nlohmann::ordered_json::array();
}

void Report::begin_section(const Traits& traits, bool in_place) {
  if (!table_ || !options_.header) return;
  std::printf("# smddp-bench %s: %s%s, %d ranks, %s buffers%s%s", SMDDP_VERSION_STRING, traits.name,
              traits.has_in_place ? (in_place ? ", in place" : ", out of place") : "", json_["ranks"].get<int>(),
              options_.shared_memory ? "smddp_alloc" : "private", options_.async ? ", asynchronous calls" : "",
              traits.rooted ? (", root " + std::to_string(options_.root)).c_str() : "");
  std::printf("\n#%11s %12s %9s %5s %12s %12s %11s %11s %8s\n", "bytes", "count", "type", "op", "median us", "minimum us", "algbw GB/s",
              "busbw GB/s", "wrong");
  std::fflush(stdout);
}

void Report::add(const Row& row) {
  if (!active_) return;
  const double algbw = row.timing.median_us > 0 ? static_cast<double>(row.bytes) / row.timing.median_us / 1e3 : 0;
  const double busbw = algbw * bus_factor(row.traits.collective, row.size);
  busbw_sum_ += busbw;
  ++busbw_rows_;
  if (table_) {
    const std::string wrong = row.wrong < 0 ? "-" : std::to_string(row.wrong);
    std::printf("%12llu %12zu %9s %5s %12.3f %12.3f %11.3f %11.3f %8s%s%s\n", static_cast<unsigned long long>(row.bytes), row.count,
                dtype_text(row), op_text(row), row.timing.median_us, row.timing.minimum_us, algbw, busbw, wrong.c_str(),
                row.algorithm ? "  " : "", row.algorithm ? row.algorithm : "");
    std::fflush(stdout);
  }
  nlohmann::ordered_json entry = {{"collective", row.traits.name}, {"in_place", row.in_place}, {"bytes", row.bytes}, {"count", row.count},
                                  {"type", dtype_text(row)}, {"op", op_text(row)}, {"median_us", row.timing.median_us},
                                  {"minimum_us", row.timing.minimum_us}, {"algbw", algbw}, {"busbw", busbw},
                                  {"iterations", row.timing.iterations}};
  entry["algorithm"] = row.algorithm ? nlohmann::ordered_json(row.algorithm) : nlohmann::ordered_json();
  entry["wrong"] = row.wrong < 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(row.wrong);
  json_["results"].push_back(entry);
}

bool Report::finish(int64_t wrong, smddp_comm_t world) {
  if (!active_) return true;
  if (table_ && options_.header) {
    std::printf("# wrong elements: %s; average busbw: %.3f GB/s\n", options_.checks ? std::to_string(wrong).c_str() : "not checked",
                busbw_rows_ ? busbw_sum_ / static_cast<double>(busbw_rows_) : 0);
  }
  std::fflush(stdout);
  if (options_.json.empty()) return true;
  json_["job"] = job();
  json_["counters"] = counters(world);
  json_["wrong"] = options_.checks ? nlohmann::ordered_json(wrong) : nlohmann::ordered_json();
  const std::string text = json_.dump(2) + "\n";
  if (options_.json == "-") {
    std::fputs(text.c_str(), stdout);
    return std::fflush(stdout) == 0;
  }
  std::ofstream file(options_.json);
  file << text;
  file.close();
  if (!file) std::fprintf(stderr, "smddp-bench: cannot write %s: %s\n", options_.json.c_str(), std::strerror(errno));
  return static_cast<bool>(file);
}

}  // namespace smddp_bench
