#include "schedule.hpp"

#include "text.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>

void add_schedule_options(CLI::App& app, ScheduleOptions& options) {
  auto* schedule = app.add_option("--schedule", options.collective, "What each rank does in this collective, such as allreduce; with:");
  app.add_option("--algorithm", options.algorithm, "Which algorithm, such as sharded; a wrong name lists them")->needs(schedule);
  app.add_option("--ranks", options.ranks, "Number of ranks, each on a node of its own")->needs(schedule);
  app.add_option("--nodes", options.nodes, "Ranks of each node, such as 2+2+1, instead of --ranks")->needs(schedule);
  app.add_option("--servers", options.servers, "Number of servers beside the ranks, for --algorithm servers")->needs(schedule);
  app.add_option("--rank", options.rank, "This rank alone; behind the ranks: a server")->needs(schedule)->check(CLI::NonNegativeNumber);
  app.add_option("--root", options.root, "Root of the collective (0)")->needs(schedule);
}

int print_schedule(const ScheduleOptions& options, bool as_json) {
  smddp_schedule_query_t query = SMDDP_INIT_STRUCT(query);
  query.collective = options.collective.c_str();
  query.algorithm = options.algorithm.empty() ? nullptr : options.algorithm.c_str();
  query.nodes = options.nodes.empty() ? nullptr : options.nodes.c_str();
  query.ranks = options.ranks;
  query.root = options.root;
  query.servers = options.servers;
  const auto describe = [&](smddp_info_format_t format, std::string& text) {
    return read_text([&](char* buffer, size_t capacity, size_t* length) { return smddp_schedule_describe(&query, format, buffer, capacity, length); }, text);
  };
  auto all = nlohmann::ordered_json::array();
  std::string text;
  int last = options.rank;
  for (int rank = std::max(options.rank, 0); rank <= std::max(last, 0); ++rank) {
    query.rank = rank;
    if (!describe(SMDDP_FORMAT_JSON, text)) {
      std::fprintf(stderr, "smddp-info: %s\n", text.c_str());
      return 2;
    }
    all.push_back(nlohmann::ordered_json::parse(text));
    if (options.rank < 0) last = all.back().at("size").get<int>() + all.back().at("servers").get<int>() - 1;
    if (as_json) continue;
    if (!describe(SMDDP_FORMAT_TEXT, text)) return 1;
    std::printf("%s%s\n", all.size() > 1 ? "\n" : "", text.c_str());
  }
  if (as_json) std::printf("%s\n", all.dump(2).c_str());
  return std::fflush(stdout) == 0 ? 0 : 1;
}
