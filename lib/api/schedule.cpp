// smddp_schedule_describe: what a rank would do in a collective of some shape.
#include "api/check.hpp"
#include "api/guard.hpp"
#include "api/info.hpp"
#include "base/units.hpp"
#include "coll/algorithms.hpp"

namespace smddp::api {
namespace {

constexpr int kMostRanks = 1024, kMostServers = 1024;

[[noreturn]] void invalid(const std::string& text) { throw Error(SMDDP_ERR_INVALID_ARGUMENT, "smddp_schedule_describe: " + text); }

Collective collective_named(const char* name) {
  std::string names;
  for (int i = static_cast<int>(Collective::kAllreduce); i <= static_cast<int>(Collective::kBarrier); ++i) {
    const auto collective = static_cast<Collective>(i);
    if (name && std::string(name) == collective_name(collective)) return collective;
    names += (names.empty() ? "" : ", ") + std::string(collective_name(collective));
  }
  invalid(format("collective %s is none of %s", name ? format("'%s'", name).c_str() : "NULL", names.c_str()));
}

// "2+2+1".
std::vector<int> sizes_of(const std::string& nodes) {
  std::vector<int> sizes;
  int64_t sum = 0;
  for (size_t begin = 0; begin <= nodes.size();) {
    const size_t end = std::min(nodes.find('+', begin), nodes.size());
    int64_t ranks = 0;
    if (!parse_integer(nodes.substr(begin, end - begin).c_str(), ranks) || ranks < 1 || (sum += ranks) > kMostRanks) {
      invalid(format("nodes '%s' are not numbers of ranks such as 2+2+1, together at most %d", nodes.c_str(), kMostRanks));
    }
    sizes.push_back(static_cast<int>(ranks));
    begin = end + 1;
  }
  return sizes;
}

coll::Shape shape_of_ranks(const smddp_schedule_query_t& query) {
  if (query.ranks < 0 || query.ranks > kMostRanks) invalid(format("ranks %d are not 1 to %d", query.ranks, kMostRanks));
  if (!query.nodes) {
    if (query.ranks == 0) invalid("neither ranks nor nodes are given");
    return coll::Shape::flat(query.ranks);
  }
  const coll::Shape shape = coll::Shape::of_sizes(sizes_of(query.nodes));
  if (query.ranks && query.ranks != shape.size()) invalid(format("ranks %d, but nodes '%s' have %d", query.ranks, query.nodes, shape.size()));
  return shape;
}

coll::Shape shape_of(const smddp_schedule_query_t& query) {
  coll::Shape shape = shape_of_ranks(query);
  if (query.servers < 0 || query.servers > kMostServers) invalid(format("servers %d are not 0 to %d", query.servers, kMostServers));
  shape.servers = query.servers;
  return shape;
}

const coll::Algorithm& algorithm_of(const smddp_schedule_query_t& query, const coll::Shape& shape) {
  const Collective collective = collective_named(query.collective);
  const coll::Algorithm* algorithm = query.algorithm ? coll::find_algorithm(collective, query.algorithm) : nullptr;
  if (!algorithm) {
    invalid(format("algorithm %s of %s is none of %s", query.algorithm ? format("'%s'", query.algorithm).c_str() : "NULL", query.collective,
                   coll::algorithm_names(collective).c_str()));
  }
  if (algorithm->fits && !algorithm->fits(shape)) invalid(format("%s by %s is not for %s", query.collective, query.algorithm, coll::describe(shape).c_str()));
  return *algorithm;
}

Json json_of(const coll::Slice& slice) {
  static constexpr const char* buffers[] = {"send", "receive", "scratch"};
  if (slice.blocks == 0) return nullptr;
  return {{"buffer", buffers[static_cast<int>(slice.buffer)]}, {"block", slice.block}, {"blocks", slice.blocks}, {"share", slice.share}, {"shares", slice.shares}};
}

Json json_of(const coll::ScheduleStep& step) {
  Json inputs = Json::array(), after = Json::array();
  for (const coll::Slice& input : step.inputs) inputs.push_back(json_of(input));
  for (const coll::Dependency& d : step.after) after.push_back({{"step", d.step}, {"segments_back", d.segments_back}});
  Json json = {{"kind", coll::kind_name(step)}};
  if (step.kind == coll::StepKind::kSend || step.kind == coll::StepKind::kRecv) {
    json["peer"] = step.peer;
    json["tag"] = step.tag;
  }
  if (step.kind == coll::StepKind::kNode) json["local_root"] = step.root;
  json["inputs"] = inputs;
  json["target"] = json_of(step.target);
  json["finish"] = step.finish;
  json["after"] = after;
  return json;
}

Json json_of(const coll::Schedule& schedule, const coll::Shape& shape) {
  Json nodes = Json::array(), steps = Json::array();
  for (const auto& ranks : shape.nodes) nodes.push_back(ranks);
  for (const coll::ScheduleStep& step : schedule.steps) steps.push_back(json_of(step));
  return {{"collective", collective_name(schedule.collective)}, {"algorithm", schedule.algorithm}, {"rank", schedule.rank},
          {"size", schedule.size}, {"servers", schedule.servers}, {"root", schedule.root}, {"nodes", nodes}, {"segmented", schedule.segmented}, {"parts", schedule.parts},
          {"lanes", schedule.lanes}, {"scratch_slots", schedule.scratch_slots}, {"slot_shares", schedule.slot_shares}, {"steps", steps}};
}

std::string described(const smddp_schedule_query_t* query, bool as_json) {
  if (!query) invalid("query is NULL");
  if (query->struct_size < sizeof *query) invalid(format("query->struct_size %zu is not sizeof(smddp_schedule_query_t), %zu", query->struct_size, sizeof *query));
  const coll::Shape shape = shape_of(*query);
  const coll::Algorithm& algorithm = algorithm_of(*query, shape);
  if (query->root < 0 || query->root >= shape.size()) invalid(format("root %d is not 0 to %d", query->root, shape.size() - 1));
  const int servers = algorithm.schedule({shape, 0, query->root}).servers;
  if (query->rank < 0 || query->rank >= shape.size() + servers) {
    invalid(format("rank %d is not 0 to %d%s", query->rank, shape.size() - 1, servers ? format(", or %d for server 0, to %d", shape.size(), shape.size() + servers - 1).c_str() : ""));
  }
  const coll::Schedule schedule = algorithm.schedule({shape, query->rank, query->root});
  return as_json ? rendered(json_of(schedule, shape)) : coll::print(schedule);
}

}  // namespace
}  // namespace smddp::api

extern "C" smddp_status_t smddp_schedule_describe(const smddp_schedule_query_t* query, smddp_info_format_t user_format, char* buffer,
                                                  size_t capacity, size_t* length) {
  return smddp::api::guard([&] {
    const int chosen = smddp::api::unchecked(user_format);
    smddp::api::check_output("smddp_schedule_describe", chosen, buffer, capacity);
    smddp::api::copy_out(smddp::api::described(query, chosen == SMDDP_FORMAT_JSON), buffer, capacity, length);
  });
}
