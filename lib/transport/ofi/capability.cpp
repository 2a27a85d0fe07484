#include "transport/ofi/capability.hpp"

#include "base/error.hpp"

#include <algorithm>

namespace smddp::transport::ofi {
namespace {

// A message that fits into a packet needs no word of its receiver. Copying it at either end costs as much as that word from about
// 64 KiB up, over sockets. (The room above it is for the header.)
constexpr size_t kPacketBytes = 65536 + 64;
constexpr size_t kLeastPacketBytes = 1024;
constexpr size_t kWholeMessage = size_t{1} << 40;  // a tagged message is one piece

}  // namespace

const char* bulk_name(Bulk bulk) {
  switch (bulk) {
    case Bulk::kPackets: return "packets";
    case Bulk::kTagged: return "tagged";
    case Bulk::kWrite: return "write";
  }
  return "unknown";
}

bool supports(const Capability& capability, Bulk bulk) {
  const bool immediate = capability.immediate_bytes >= sizeof(uint32_t);
  switch (bulk) {
    case Bulk::kPackets: return capability.messages;
    case Bulk::kTagged: return capability.tagged && immediate && capability.max_message_bytes >= kWholeMessage;
    case Bulk::kWrite: return capability.rma && immediate && capability.max_rma_bytes >= kLeastPacketBytes;
  }
  return false;
}

size_t put_bytes_of(const Capability& capability, Bulk bulk) {
  return bulk == Bulk::kWrite ? capability.max_rma_bytes : bulk == Bulk::kTagged ? kWholeMessage : 0;
}

Plan plan_for(const Capability& capability) {
  Plan plan;
  if (!capability.messages) {
    plan.reason = "it has no messages";
  } else if (!capability.reaches_others) {
    plan.reason = "it does not leave the machine; ranks there share memory";
  } else if (capability.max_message_bytes < kLeastPacketBytes) {
    plan.reason = format("its messages have at most %zu bytes, fewer than %zu", capability.max_message_bytes, kLeastPacketBytes);
  }
  if (!plan.reason.empty()) return plan;
  plan.usable = true;
  plan.packet_bytes = std::min(capability.max_message_bytes, kPacketBytes);
  // Tagged messages are the slower way of a card, but where a write cannot be stopped they give memory back more often: a receive
  // that has not begun can be cancelled.
  const bool good_writes = supports(capability, Bulk::kWrite) && !capability.emulates_write && capability.closing_stops_writes;
  if (good_writes) plan.bulk = Bulk::kWrite;
  else if (supports(capability, Bulk::kTagged)) plan.bulk = Bulk::kTagged;
  else if (supports(capability, Bulk::kWrite)) plan.bulk = Bulk::kWrite;
  plan.put_bytes = put_bytes_of(capability, plan.bulk);
  plan.tier = (capability.card ? 4 : 0) + static_cast<int>(plan.bulk);
  return plan;
}

}  // namespace smddp::transport::ofi
