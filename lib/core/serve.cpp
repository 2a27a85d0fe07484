// Invariant: a server waits for a rank only as long as all ranks live; their deadlines, which break the communicator, are its own.
#include "core/serve.hpp"

#include "core/comm.hpp"
#include "engine/servers.hpp"

namespace smddp::core {
namespace {

constexpr int64_t kLookMs = 50;  // between two looks at who is there, while nothing is called

// Why nobody will call this server any more; nothing while somebody may.
std::optional<Status> end_of(smddp_comm& world) {
  if (world.board->failed()) return world.board->failure(nullptr);
  const engine::Wire& wire = *world.context->engine().wire();
  if (wire.all_there()) return std::nullopt;
  const std::string death = wire.first_death();
  return death.empty() ? Status{} : Status{SMDDP_ERR_PEER_GONE, death};
}

// The next call that ranks tell of; nothing at the end.
std::optional<engine::ServerCall> hear(smddp_comm& world, Status& end) {
  engine::ServerCall told;
  node::Receive receive;
  receive.buffer = &told;
  receive.capacity = sizeof(told);
  receive.source = 0;
  engine::Request* request = start_recv(world, receive, {}, false);
  bool heard;
  while (!(heard = world.context->engine().wait(*request, deadline_after_ms(kLookMs))) && !end_of(world)) continue;
  if (!heard) world.context->engine().cancel(*world.queue, {});
  const Status status = finish(request, nullptr);
  if (heard && status.ok()) return told;
  end = end_of(world).value_or(status);
  return std::nullopt;
}

}  // namespace

Status serve(const smddp_init_options_t* options) {
  const std::shared_ptr<Context> context = Context::start(options, bootstrap::Role::kServer);
  smddp_comm& world = *context->world();
  Status end;
  while (const std::optional<engine::ServerCall> told = hear(world, end)) {
    end = take_part(world, *told);
    if (!end.ok()) break;
  }
  context->finalize();
  return end;
}

}  // namespace smddp::core
