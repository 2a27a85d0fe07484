// What can be counted: of one communicator what it moved and how, of the rank as a whole how it waited.
#include "core/comm.hpp"

namespace smddp::core {

uint64_t counter(smddp_comm& comm, const std::string& name) {
  const auto load = [](const std::atomic<uint64_t>& value) { return value.load(std::memory_order_relaxed); };
  const node::Counters& board = comm.board->counters;
  engine::Engine& engine = comm.context->engine();
  const transport::Counters wire = engine.wire_counters();
  static const engine::Traffic nothing;
  const engine::Traffic& traffic = comm.queue->route ? comm.queue->route->traffic : nothing;
  const struct {
    const char* name;
    uint64_t value;
  } all[] = {{"fast_path", load(board.fast_path)},
             {"eager", load(board.eager)},
             {"two_copy", load(board.two_copy)},
             {"zero_copy", load(board.zero_copy)},
             {"bytes", load(board.bytes)},
             {"wire_messages_sent", load(traffic.sent)},
             {"wire_messages_received", load(traffic.received)},
             {"wire_bytes_sent", load(traffic.sent_bytes)},
             {"wire_bytes_received", load(traffic.received_bytes)},
             {"engine_operations", load(engine.counters().operations)},
             {"sleeps", load(engine.counters().sleeps)},
             {"yields", load(engine.counters().yields)},
             {"doorbell_rings", comm.context->group().rings()},
             {"progress_wakeups", load(engine.counters().progress_wakeups)},
             {"wire_sleeps", wire.sleeps},
             {"wire_naps", wire.naps},
             {"wire_eager", wire.eager},
             {"wire_rendezvous", wire.rendezvous},
             {"wire_puts", wire.puts},
             {"wire_packets", wire.packets},
             {"rail0_bytes", wire.rail_bytes[0]},
             {"rail1_bytes", wire.rail_bytes[1]},
             {"rail2_bytes", wire.rail_bytes[2]},
             {"rail3_bytes", wire.rail_bytes[3]},
             {"lost_rails", wire.lost_rails}};
  std::string known;
  for (const auto& counter : all) {
    if (name == counter.name) return counter.value;
    known += format("%s%s", known.empty() ? "" : ", ", counter.name);
  }
  for (const coll::Algorithm& algorithm : coll::algorithms()) {
    if (name != format("%s:%s", collective_name(algorithm.collective), algorithm.name)) continue;
    const std::lock_guard<std::mutex> lock(comm.mutex);
    const auto uses = comm.uses.find(&algorithm);
    return uses == comm.uses.end() ? 0 : uses->second;
  }
  throw Error(SMDDP_ERR_INVALID_ARGUMENT, format("smddp_comm_counter: no counter '%s'; there are %s, and COLLECTIVE:ALGORITHM such as allreduce:ring",
                                                 name.c_str(), known.c_str()));
}

}  // namespace smddp::core
