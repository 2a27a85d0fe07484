// The job of the world communicator that smddp_comm_world gives: its nodes, its network, and the algorithms that are chosen.
#include "api/info.hpp"
#include "core/comm.hpp"

namespace smddp::api {
namespace {

constexpr int kMostBits = 31;

Json nodes_of(core::Context& context, const coll::Shape& shape) {
  Json nodes = Json::array();
  for (const auto& ranks : shape.nodes) nodes.push_back({{"host", context.member(ranks[0]).host}, {"ranks", ranks}});
  return nodes;
}

// By number: their hosts.
Json servers_of(core::Context& context) {
  Json servers = Json::array();
  for (int member = context.ranks(); member < context.members(); ++member) servers.push_back(context.member(member).host);
  return servers;
}

Json calibration_of(const core::Calibration& calibration) {
  Json json = {{"origin", calibration.origin}};
  for (const coll::Figure& figure : coll::kFigures) json[figure.name] = calibration.network.*figure.value;
  return json;
}

// One entry for each range of powers of two with the same algorithm; sizes between them go with the nearest.
void add_choices(Json& choices, smddp_comm& world, Collective collective) {
  const core::Context& context = *world.context;
  const bool given = context.overrides()[static_cast<size_t>(collective)] != nullptr;
  const coll::Algorithm* before = nullptr;
  for (int bits = 0; bits <= (collective == Collective::kBarrier ? 0 : kMostBits); ++bits) {
    const size_t bytes = bits ? size_t{1} << (bits - 1) : 0;
    const coll::Algorithm* algorithm = world.selection->of(collective, bytes, false).algorithm;
    if (algorithm == before) continue;
    before = algorithm;
    choices.push_back({{"collective", collective_name(collective)}, {"from_bytes", bytes}, {"algorithm", algorithm->name},
                       {"why", given ? "SMDDP_ALGORITHM wants it" : coll::explain(collective, bytes, false, world.shape, context.calibration().network)}});
  }
}

}  // namespace

Json job_json() {
  const std::shared_ptr<core::Context> context = core::first_live_context();
  if (!context) throw Error(SMDDP_ERR_INVALID_USAGE, "smddp_info: this process has no job to describe; smddp_init starts one");
  smddp_comm& world = *context->world();
  Json job = {{"size", world.size()}, {"servers", servers_of(*context)}, {"rank", world.rank()}, {"nodes", nodes_of(*context, world.shape)}, {"network", nullptr}, {"calibration", nullptr},
              {"choices", Json::array()}};
  if (engine::Wire* wire = context->engine().wire(); wire && world.selection) {
    const transport::Capabilities& capabilities = wire->transport().capabilities();
    job["network"] = {{"provider", capabilities.name}, {"path", capabilities.path}, {"eager_bytes", capabilities.eager_bytes}};
    job["calibration"] = calibration_of(context->calibration());
    const std::lock_guard<std::mutex> lock(world.mutex);
    for (size_t i = 1; i < coll::kCollectives; ++i) add_choices(job["choices"], world, static_cast<Collective>(i));
  }
  return job;
}

std::string job_text(const Json& job) {
  std::string text = format("%d rank%s on %zu node%s\n", job.at("size").get<int>(), job.at("size") == 1 ? "" : "s", job.at("nodes").size(),
                            job.at("nodes").size() == 1 ? "" : "s");
  for (const Json& node : job.at("nodes")) text += field(node.at("host").get<std::string>(), "ranks " + node.at("ranks").dump());
  for (size_t s = 0; s < job.at("servers").size(); ++s) text += field(format("server %zu", s), job.at("servers")[s].get<std::string>());
  if (job.at("network").is_null()) return text + field("algorithms", "the node group does every collective");
  const Json& network = job.at("network");
  text += field("network", network.at("provider").get<std::string>() + ", large messages: " + network.at("path").get<std::string>());
  std::string figures = job.at("calibration").at("origin").get<std::string>();
  for (const auto& [name, value] : job.at("calibration").items()) {
    if (value.is_number()) figures += format("; %s %.4g", name.c_str(), value.get<double>());
  }
  text += field("figures", figures);
  std::string collective, line;
  const auto end_line = [&] { text += collective.empty() ? "" : field(collective, line); };
  for (const Json& choice : job.at("choices")) {
    const std::string name = choice.at("algorithm").get<std::string>();
    if (choice.at("collective") == collective) {
      line += format("; from %zu bytes %s", choice.at("from_bytes").get<size_t>(), name.c_str());
      continue;
    }
    end_line();
    collective = choice.at("collective").get<std::string>();
    line = name;
  }
  end_line();
  return text;
}

}  // namespace smddp::api
