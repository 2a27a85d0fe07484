#include "transport/rails/rail_wire.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"

#include <sys/epoll.h>
#include <sys/random.h>

#include <algorithm>
#include <cstring>

namespace smddp::transport::rails {
namespace {

constexpr size_t kMostKept = 1024;             // frames of a peer that are not confirmed
constexpr size_t kMostKeptBytes = 4 << 20;     // and their bytes
constexpr size_t kMostWaiting = 16;            // of them, for a lane
constexpr size_t kMostPackets = NumberFilter::kWindow - 1;  // from the oldest one that is not confirmed to the newest
constexpr int kLingerMs = 20;                  // for the last confirmations
constexpr double kMostFaster = 16;             // than another lane: beyond it, that one would never be measured again
constexpr int kNapUs = 50, kLookUs = 50000;

uint32_t fresh_nonce() {
  uint32_t nonce = 0;
  if (getrandom(&nonce, sizeof(nonce), GRND_NONBLOCK) != sizeof(nonce)) nonce = static_cast<uint32_t>(now_ns());
  return nonce;
}

}  // namespace

RailWire::RailWire(std::vector<Rail> rails, const RailOptions& options)
    : rails_(std::move(rails)), options_(options), nonce_(fresh_nonce()), bells_(epoll_create1(EPOLL_CLOEXEC)),
      rung_(rails_.size(), -1), sent_bytes_(rails_.size(), 0) {
  limits_ = {SIZE_MAX, 0, false, kLingerMs};
  for (size_t i = 0; i < rails_.size(); ++i) {
    const WireLimits& limits = rails_[i].wire->limits();
    limits_.packet_bytes = std::min(limits_.packet_bytes, limits.packet_bytes - sizeof(Header));
    limits_.linger_ms = std::max(limits_.linger_ms, limits.linger_ms);
    doors_.emplace_back(*this, i);
  }
}

RailWire::~RailWire() { RailWire::close(); }

std::string RailWire::address() const {
  RailAddress address;
  address.nonce = nonce_;
  for (const Rail& rail : rails_) address.rails.push_back({rail.network, rail.wire->address()});
  return address.pack();
}

void RailWire::connect(const std::vector<std::string>& addresses, int rank) {
  rank_ = rank;
  peers_ = std::vector<Peer>(addresses.size());
  std::vector<std::vector<std::string>> ways(rails_.size(), std::vector<std::string>(addresses.size()));
  const RailAddress mine = RailAddress::unpack(addresses[static_cast<size_t>(rank)], static_cast<size_t>(rank));
  for (size_t r = 0; r < addresses.size(); ++r) {
    const RailAddress theirs = RailAddress::unpack(addresses[r], r);
    Peer& peer = peers_[r];
    peer.nonce = theirs.nonce;
    std::fill(std::begin(peer.lane_of_rail), std::end(peer.lane_of_rail), kMostRails);
    if (static_cast<int>(r) == rank) continue;
    for (const Pair& pair : pair_rails(mine, theirs)) {
      peer.lane_of_rail[pair.mine] = peer.lanes.size();
      peer.lanes.emplace_back(pair.mine);
      ways[pair.mine][r] = theirs.rails[pair.theirs].address;
    }
  }
  for (size_t i = 0; i < rails_.size(); ++i) rails_[i].wire->connect(ways[i], rank);
  for (std::vector<int>* list : {&busy_, &owing_, &round_}) list->reserve(peers_.size());
}

void RailWire::fill_header(std::byte* to, const Peer& peer, Kind kind, uint32_t number, uint32_t lane_number) const {
  Header header{peer.nonce, static_cast<uint32_t>(kind) << 24 | static_cast<uint32_t>(rank_), number, lane_number, {}, peer.lost};
  for (size_t i = 0; i < peer.lanes.size(); ++i) header.came[i] = peer.lanes[i].came.next();
  std::memcpy(to, &header, sizeof(header));
}

// Whether the receiver can still tell a further packet from copies of earlier ones, and the peer has not more than its share of memory.
bool RailWire::room_for(Peer& peer, size_t bytes) {
  if (peer.waiting.count() >= kMostWaiting || peer.kept >= kMostKept) return false;
  if (peer.kept && peer.kept_bytes + bytes > kMostKeptBytes) return false;
  if (peer.next - peer.oldest < kMostPackets) return true;
  peer.oldest = peer.next;
  const auto note = [&](const FrameList& frames) {
    for (const Frame* frame = frames.first(); frame; frame = frame->next) {
      if (static_cast<int32_t>(frame->number - peer.oldest) < 0) peer.oldest = frame->number;
    }
  };
  note(peer.waiting);
  for (const Lane& lane : peer.lanes) note(lane.on_the_way());
  return peer.next - peer.oldest < kMostPackets;
}

bool RailWire::packet(int index, const void* header, size_t header_bytes, const void* payload, size_t payload_bytes, bool) {
  Peer& peer = at(index);
  const size_t bytes = sizeof(Header) + header_bytes + payload_bytes;
  if (!room_for(peer, bytes)) return false;
  Frame* frame = pool_.take(bytes);
  std::byte* to = frame->memory.get() + sizeof(Header);
  std::memcpy(to, header, header_bytes);
  if (payload_bytes) std::memcpy(to + header_bytes, payload, payload_bytes);
  frame->number = peer.next++;
  peer.waiting.add(frame);
  peer.kept_bytes += bytes;
  ++peer.kept;
  ++kept_;
  if (!flush(index)) make_busy(index);
  return true;
}

void RailWire::make_busy(int index) {
  if (std::exchange(at(index).busy, true)) return;
  busy_.push_back(index);
}

bool RailWire::flush(int index) {
  Peer& peer = at(index);
  while (!peer.waiting.empty()) {
    if (!launch(index, peer.waiting.first())) return false;
  }
  return true;
}

// The lane that will have moved so many bytes first, of those that are neither lost nor passed over.
Lane* RailWire::choose(Peer& peer, size_t bytes, uint32_t passed_over) {
  double fastest = 0;  // ns a byte; a lane that was not measured yet is taken for as fast
  for (const Lane& lane : peer.lanes) {
    if (lane.ns_per_byte() > 0 && (fastest <= 0 || lane.ns_per_byte() < fastest)) fastest = lane.ns_per_byte();
  }
  Lane* best = nullptr;
  double best_ns = 0;
  for (size_t i = 0; i < peer.lanes.size(); ++i) {
    Lane& lane = peer.lanes[i];
    if (lane.lost || (passed_over >> i & 1)) continue;
    const double ns_per_byte = fastest <= 0 ? 1 : lane.ns_per_byte() > 0 ? std::min(lane.ns_per_byte(), fastest * kMostFaster) : fastest;
    const double ns = static_cast<double>(lane.bytes_on_the_way() + bytes) * ns_per_byte;
    if (best && ns >= best_ns) continue;
    best = &lane;
    best_ns = ns;
  }
  return best;
}

// Sends the first frame that waits. A lane that refuses while it is busy is waited for; one that has nothing to do is out of order.
bool RailWire::launch(int index, Frame* frame) {
  Peer& peer = at(index);
  uint32_t passed_over = 0;
  while (Lane* lane = choose(peer, frame->bytes, passed_over)) {
    lane->number(*frame);
    fill_header(frame->memory.get(), peer, Kind::kPacket, frame->number, frame->lane_number);
    if (rails_[lane->rail].wire->packet(index, frame->memory.get(), frame->bytes, nullptr, 0, false)) {
      lane->add(peer.waiting.take());
      sent_bytes_[lane->rail] += frame->bytes;
      peer.owed = 0;
      peer.owed_bytes = 0;
      return true;
    }
    if (!lane->idle()) return false;
    passed_over |= uint32_t{1} << (lane - peer.lanes.data());
  }
  return false;
}

void RailWire::abandon(int index) {
  Peer& peer = at(index);
  peer.failed = true;
  kept_ -= peer.kept;
  peer.kept = peer.kept_bytes = 0;
  pool_.give_all(peer.waiting);
  for (Lane& lane : peer.lanes) {
    lane.clear(pool_);
    rails_[lane.rail].wire->abandon(index);
  }
}

bool RailWire::progress(WireSink& sink) {
  sink_ = &sink;
  bool moved = false;
  for (size_t i = 0; i < rails_.size(); ++i) moved |= rails_[i].wire->progress(doors_[i]);
  if (!busy_.empty()) {
    round_.swap(busy_);
    for (const int index : round_) at(index).busy = false;
    for (const int index : round_) {
      const size_t waiting = at(index).waiting.count();
      if (!flush(index)) make_busy(index);
      moved |= at(index).waiting.count() != waiting;
    }
    round_.clear();
  }
  if (!kept_ && owing_.empty()) return moved;
  const int64_t now = now_ns();
  if (!owing_.empty()) settle(now, moved);
  if (kept_) look(now);
  return moved;
}

Sleep RailWire::arm() {
  if (!busy_.empty() || !settle(kNever, false)) return {true, -1, kNapUs};
  Sleep sleep{true, bells_.get(), kept_ ? kLookUs : 0};
  for (size_t i = 0; i < rails_.size(); ++i) {
    const Sleep its = rails_[i].wire->arm();
    if (!its.may_sleep) return its;
    if (its.nap_us && (!sleep.nap_us || its.nap_us < sleep.nap_us)) sleep.nap_us = its.nap_us;
    if (its.fd < 0) sleep.fd = -1;
    if (its.fd < 0 || its.fd == rung_[i]) continue;
    epoll_event event{};
    event.events = EPOLLIN;
    if (epoll_ctl(bells_.get(), EPOLL_CTL_ADD, its.fd, &event) == 0) rung_[i] = its.fd;
    else sleep.fd = -1;
  }
  if (sleep.fd < 0 && !sleep.nap_us) sleep.nap_us = kNapUs;
  return sleep;
}

void RailWire::close() {
  for (Rail& rail : rails_) rail.wire->close();
  kept_ = 0;
}

void RailWire::describe(Capabilities& capabilities) const {
  std::string names;
  for (const Rail& rail : rails_) {
    Capabilities its;
    rail.wire->describe(its);
    if (names.empty()) capabilities = its;
    capabilities.manual_progress |= its.manual_progress;
    capabilities.wait_descriptor &= its.wait_descriptor;
    names += format("%s%s", names.empty() ? "" : " and ", rail.name.c_str());
  }
  capabilities.name += " over " + names;
  capabilities.path = "packets";
}

void RailWire::count(Counters& counters) const {
  for (const Rail& rail : rails_) rail.wire->count(counters);
  std::copy(sent_bytes_.begin(), sent_bytes_.end(), std::begin(counters.rail_bytes));
  counters.lost_rails = lost_;
}

}  // namespace smddp::transport::rails
