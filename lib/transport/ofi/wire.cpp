#include "transport/ofi/wire.hpp"

#include "base/error.hpp"
#include "base/log.hpp"

#include <algorithm>
#include <cstring>

namespace smddp::transport::ofi {
namespace {

constexpr size_t kMostPackets = 64;  // buffers each way
constexpr size_t kMostPacketsToPeer = 16;  // so that one that takes nothing leaves the others their share
constexpr size_t kPuts = 1024;        // at a time
constexpr int kBatch = 16;            // completions read at once

size_t packets_of(size_t queue) { return std::clamp<size_t>(queue / 2, 8, kMostPackets); }

}  // namespace

void OfiWire::Pool::grow(size_t count, Role role, size_t buffer_bytes, Registrar* registrar) {
  const size_t bytes = count * buffer_bytes;
  Chunk chunk{count, std::make_unique<Slot[]>(count), bytes ? std::make_unique_for_overwrite<std::byte[]>(bytes) : nullptr, nullptr};
  if (registrar && bytes) {
    chunk.region = registrar->acquire(chunk.buffers.get(), bytes, FI_SEND | FI_RECV);
    if (!chunk.region) throw Error(SMDDP_ERR_TRANSPORT, format("fi_mr_reg of %zu bytes for packets: refused", bytes));
  }
  for (size_t i = count; i-- > 0;) {
    Slot& slot = chunk.slots[i];
    slot.role = role;
    slot.region = chunk.region;
    if (bytes) slot.buffer = chunk.buffers.get() + i * buffer_bytes;
    slot.next = free_;
    free_ = &slot;
  }
  chunks_.push_back(std::move(chunk));
}

OfiWire::Slot* OfiWire::Pool::take() {
  Slot* slot = free_;
  if (!slot) return nullptr;
  free_ = slot->next;
  slot->busy = true;
  slot->cancelled = false;
  return slot;
}

void OfiWire::Pool::give(Slot* slot) {
  slot->busy = false;
  slot->next = free_;
  free_ = slot;
}

OfiWire::OfiWire(Candidate candidate)
    : candidate_(std::move(candidate)), packets_in_(packets_of(candidate_.info->rx_attr->size)),
      packets_out_(packets_of(candidate_.info->tx_attr->size)), endpoint_(*candidate_.info, packets_in_ + packets_out_ + 2 * kPuts), waiting_(endpoint_) {
  const Capability& capability = candidate_.capability;
  const Plan& plan = candidate_.plan;
  limits_ = {plan.packet_bytes, plan.put_bytes, false, capability.manual_progress ? 20 : 0};
  registrar_ = std::make_unique<Registrar>(endpoint_.domain.get(), endpoint_.ep.get(), *candidate_.info,
                                           capability.registers_local || capability.registers_remote);
  packet_registrar_ = capability.registers_local ? registrar_.get() : nullptr;
  in_.grow(packets_in_, Role::kPacketIn, plan.packet_bytes, packet_registrar_);
  out_.grow(packets_out_, Role::kPacketOut, plan.packet_bytes, packet_registrar_);
  puts_.grow(kPuts, Role::kPut, 0, nullptr);
  if (plan.bulk == Bulk::kTagged) tagged_.grow(kPuts, Role::kTaggedIn, 0, nullptr);
  while (Slot* slot = in_.take()) {
    if (!post(*slot)) unposted_.push_back(slot);
  }
  waiting_.prove();
}

OfiWire::~OfiWire() {
  OfiWire::close();
  registrar_.reset();  // before the buffers that it has registered
}

std::string OfiWire::address() const {
  char bytes[512];
  size_t length = sizeof(bytes);
  require(fi_getname(&endpoint_.ep->fid, bytes, &length), "fi_getname", *candidate_.info);
  return std::string(bytes, length);
}

void OfiWire::connect(const std::vector<std::string>& addresses, int) {
  peers_.assign(addresses.size(), FI_ADDR_UNSPEC);
  packets_to_.assign(addresses.size(), 0);
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (addresses[i].empty()) continue;
    const int inserted = fi_av_insert(endpoint_.av.get(), addresses[i].data(), 1, &peers_[i], 0, nullptr);
    if (inserted == 1) continue;
    throw Error(SMDDP_ERR_TRANSPORT, format("fi_av_insert of the address of rank %zu: %s, provider %s", i,
                                            inserted < 0 ? fi_strerror(-inserted) : "refused", candidate_.capability.provider.c_str()));
  }
}

bool OfiWire::post(Slot& slot) {
  return fi_recv(endpoint_.ep.get(), slot.buffer, limits_.packet_bytes, descriptor(slot.region), FI_ADDR_UNSPEC, &slot.scratch) == 0;
}

void OfiWire::post_again() {
  while (!unposted_.empty() && post(*unposted_.back())) unposted_.pop_back();
}

bool OfiWire::packet(int peer, const void* header, size_t header_bytes, const void* payload, size_t payload_bytes, bool tracked) {
  const fi_addr_t to = peers_[static_cast<size_t>(peer)];
  const size_t bytes = header_bytes + payload_bytes;
  std::byte small[256];
  if (!tracked && bytes <= candidate_.capability.inject_bytes && bytes <= sizeof(small)) {
    std::memcpy(small, header, header_bytes);
    if (payload_bytes) std::memcpy(small + header_bytes, payload, payload_bytes);
    return fi_inject(endpoint_.ep.get(), small, bytes, to) == 0;
  }
  uint32_t& held = packets_to_[static_cast<size_t>(peer)];
  Slot* slot = held < kMostPacketsToPeer ? out_.take() : nullptr;
  if (!slot) return false;
  std::memcpy(slot->buffer, header, header_bytes);
  if (payload_bytes) std::memcpy(slot->buffer + header_bytes, payload, payload_bytes);
  slot->peer = peer;
  if (fi_send(endpoint_.ep.get(), slot->buffer, bytes, descriptor(slot->region), to, &slot->scratch) != 0) {
    out_.give(slot);
    return false;
  }
  ++held;
  ++in_flight_;
  return true;
}

bool OfiWire::expose(void* data, size_t bytes, Exposure& exposure) {
  const bool tagged = candidate_.plan.bulk == Bulk::kTagged;
  Slot* slot = tagged ? tagged_.take() : nullptr;
  if (tagged && !slot) return false;
  Region* region = nullptr;
  if (!tagged || candidate_.capability.registers_local) {
    region = registrar_->acquire(data, bytes, tagged ? FI_RECV : FI_REMOTE_WRITE);
    if (!region) {
      if (slot) tagged_.give(slot);
      return false;
    }
  }
  if (!tagged) {
    exposure.key = fi_mr_key(region->mr.get());
    exposure.address = candidate_.capability.virtual_addresses ? reinterpret_cast<uintptr_t>(data) : reinterpret_cast<uintptr_t>(data) - region->begin;
    exposure.handle = region;
    return true;
  }
  slot->region = region;
  slot->tag = exposure.key = ++last_tag_;
  exposure.handle = slot;
  if (fi_trecv(endpoint_.ep.get(), data, bytes, descriptor(region), FI_ADDR_UNSPEC, exposure.key, 0, &slot->scratch) == 0) return true;
  tagged_over(*slot);
  return false;
}

void OfiWire::tagged_over(Slot& slot) {
  if (slot.region) registrar_->release(std::exchange(slot.region, nullptr));
  tagged_.give(&slot);
}

bool OfiWire::conceal(Exposure& exposure, bool over) {
  if (!exposure.handle) return true;
  if (candidate_.plan.bulk == Bulk::kWrite) {
    auto* region = static_cast<Region*>(exposure.handle);
    if (!over && !region->mr) return closed_;
    if (over) registrar_->release(region);
    else if (candidate_.capability.closing_stops_writes) registrar_->revoke(region);
    else region->mr.reset();  // no further write; but one that has begun may go on
    if (over || candidate_.capability.closing_stops_writes) exposure.handle = nullptr;
    return exposure.handle == nullptr;
  }
  auto& slot = *static_cast<Slot*>(exposure.handle);
  if (!slot.busy || slot.tag != exposure.key || closed_) return true;
  if (!slot.cancelled) fi_cancel(&endpoint_.ep->fid, &slot.scratch);
  slot.cancelled = true;
  return false;
}

bool OfiWire::put(int peer, const void* data, size_t bytes, uint64_t address, uint64_t key, size_t offset, uint32_t immediate, void* context) {
  const bool tagged = candidate_.plan.bulk == Bulk::kTagged;
  Slot* slot = puts_.take();
  if (!slot) return false;
  slot->peer = peer;
  slot->context = context;
  if (candidate_.capability.registers_local) {
    slot->region = registrar_->acquire(data, bytes, tagged ? FI_SEND : FI_WRITE);
    if (!slot->region) {
      puts_.give(slot);
      return false;
    }
  }
  const fi_addr_t to = peers_[static_cast<size_t>(peer)];
  const ssize_t result = tagged ? fi_tsenddata(endpoint_.ep.get(), data, bytes, descriptor(slot->region), immediate, to, key, &slot->scratch)
                                : fi_writedata(endpoint_.ep.get(), data, bytes, descriptor(slot->region), immediate, to, address + offset, key, &slot->scratch);
  if (result == 0) {
    ++in_flight_;
    return true;
  }
  if (slot->region) registrar_->release(std::exchange(slot->region, nullptr));
  puts_.give(slot);
  return false;
}

void OfiWire::abandon(int peer) {
  broken_ = true;
  puts_.each_busy([&](Slot& slot) {
    if (slot.peer == peer) fi_cancel(&endpoint_.ep->fid, &slot.scratch);
  });
  // The provider may keep its packets for long; the others get as many buffers in their place.
  const size_t held = packets_to_[static_cast<size_t>(peer)];
  if (held && !closed_) out_.grow(held, Role::kPacketOut, limits_.packet_bytes, packet_registrar_);
}

void OfiWire::put_over(Slot& slot, const char* error, WireSink& sink) {
  --in_flight_;
  if (slot.region) registrar_->release(std::exchange(slot.region, nullptr));
  void* context = slot.context;
  puts_.give(&slot);
  sink.put_done(context, error);
}

void OfiWire::packet_over(Slot& slot) {
  --in_flight_;
  --packets_to_[static_cast<size_t>(slot.peer)];
  out_.give(&slot);
}

void OfiWire::completed(const fi_cq_data_entry& entry, WireSink& sink) {
  auto* slot = static_cast<Slot*>(entry.op_context);
  if (!slot || ((entry.flags & FI_REMOTE_CQ_DATA) && (entry.flags & (FI_RMA | FI_REMOTE_WRITE)))) {
    sink.landed(static_cast<uint32_t>(entry.data));
    if (slot && !post(*slot)) unposted_.push_back(slot);  // where an immediate takes a posted receive
    return;
  }
  switch (slot->role) {
    case Role::kPacketIn:
      sink.packet(slot->buffer, entry.len);
      if (!post(*slot)) unposted_.push_back(slot);
      break;
    case Role::kPacketOut: packet_over(*slot); break;
    case Role::kPut: put_over(*slot, nullptr, sink); break;
    case Role::kTaggedIn:
      tagged_over(*slot);
      sink.landed(static_cast<uint32_t>(entry.data));
      break;
  }
}

// One completion that is an error.
void OfiWire::failed(WireSink& sink) {
  fi_cq_err_entry error{};
  if (fi_cq_readerr(endpoint_.cq.get(), &error, 0) != 1) return;
  auto* slot = static_cast<Slot*>(error.op_context);
  if (!slot) return;
  if (error.err != FI_ECANCELED) {
    broken_ = true;
    log(Level::kInfo, -1, "provider %s: an operation with peer %d failed: %s (%d)", candidate_.capability.provider.c_str(), slot->peer,
        fi_strerror(error.err), error.err);
  }
  switch (slot->role) {
    case Role::kPacketIn:
      if (error.err == FI_ECANCELED) break;
      if (!post(*slot)) unposted_.push_back(slot);
      break;
    case Role::kPacketOut: packet_over(*slot); break;
    case Role::kPut: put_over(*slot, fi_strerror(error.err), sink); break;
    case Role::kTaggedIn: tagged_over(*slot); break;
  }
}

bool OfiWire::progress(WireSink& sink) {
  if (!unposted_.empty()) post_again();
  fi_cq_data_entry entries[kBatch];
  bool moved = false;
  for (int round = 0; round < 4; ++round) {
    const ssize_t count = fi_cq_read(endpoint_.cq.get(), entries, kBatch);
    if (count > 0) {
      for (ssize_t i = 0; i < count; ++i) completed(entries[i], sink);
    } else if (count == -FI_EAVAIL) {
      failed(sink);
    } else {
      break;
    }
    moved = true;
    if (count > 0 && count < kBatch) break;
  }
  if (moved) waiting_.completion_came();
  return moved;
}

Sleep OfiWire::arm() { return waiting_.arm(); }

void OfiWire::close() {
  if (std::exchange(closed_, true)) return;
  // In fi_close of ofi_rxm (libfabric 1.17) a completion that belongs to nothing, as of a small packet that was not tracked, crashes the
  // process where a connection broke with messages under way. Where nothing moves without this rank's calls, memory is as safe without the close.
  bool leave = in_flight_ > 0 || (broken_ && candidate_.capability.layered);
  tagged_.each_busy([&](Slot&) { leave = true; });
  if (leave && candidate_.capability.manual_progress) endpoint_.leave_open();
  else endpoint_.close();
}

void OfiWire::describe(Capabilities& capabilities) const {
  capabilities.name = candidate_.capability.provider;
  capabilities.path = bulk_name(candidate_.plan.bulk);
  capabilities.manual_progress = candidate_.capability.manual_progress;
  capabilities.wait_descriptor = waiting_.trusted();
}

void OfiWire::count(Counters& counters) const {
  counters.registrations = registrar_->registrations();
  counters.registration_hits = registrar_->hits();
}

}  // namespace smddp::transport::ofi
