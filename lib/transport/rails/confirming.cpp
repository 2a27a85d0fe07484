// What comes in over the rails: packets once, confirmations, and the signs by which a lane that is down is told from a peer that is away.
#include "transport/rails/rail_wire.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"

#include <bit>
#include <cstring>

namespace smddp::transport::rails {
namespace {

constexpr uint32_t kOwedFrames = 16;          // are confirmed although nothing is said back
constexpr size_t kOwedBytes = 128 << 10;
constexpr int64_t kOwedNs = 100000;           // and so are fewer after this time
constexpr int64_t kLookNs = 50000000;
constexpr int kAnswers = 3;                   // over other lanes, while one is silent, are its end

}  // namespace

void RailWire::arrived(size_t rail, const std::byte* data, size_t bytes) {
  Header header;
  if (bytes < sizeof(header)) return;
  std::memcpy(&header, data, sizeof(header));
  const auto source = static_cast<int>(header.kind_and_source & (kMaxSources - 1));
  if (header.nonce != nonce_ || static_cast<size_t>(source) >= peers_.size()) return;
  Peer& peer = at(source);
  const size_t place = peer.lane_of_rail[rail];
  if (peer.failed || place == kMostRails) return;
  take_confirmations(source, header);
  switch (static_cast<Kind>(header.kind_and_source >> 24)) {
    case Kind::kPacket: {
      peer.lanes[place].came.add(header.lane_number);
      const bool news = peer.came.add(header.number);
      if (!peer.owed++) peer.owed_since = now_ns();
      peer.owed_bytes += bytes;
      if (!std::exchange(peer.owing, true)) owing_.push_back(source);
      if (news) sink_->packet(data + sizeof(header), bytes - sizeof(header));
      break;
    }
    case Kind::kAck: break;
    case Kind::kProbe: send_head(source, Kind::kAnswer, place, header.number); break;
    case Kind::kAnswer:  // one to an earlier probe may come after a long absence, together with many more
      if (header.number != peer.probe) break;
      for (Lane& lane : peer.lanes) lane.answered(&lane == &peer.lanes[place] ? 0 : peer.probe);
      break;
  }
}

void RailWire::take_confirmations(int index, const Header& header) {
  Peer& peer = at(index);
  for (size_t i = 0; i < peer.lanes.size(); ++i) {
    Lane& lane = peer.lanes[i];
    const size_t frames = lane.on_the_way().count(), bytes = lane.bytes_on_the_way();
    if (!lane.confirm(header.came[i], pool_)) continue;
    const size_t gone = frames - lane.on_the_way().count();
    peer.kept -= gone;
    kept_ -= gone;
    peer.kept_bytes -= bytes - lane.bytes_on_the_way();
  }
  for (size_t i = 0; i < peer.lanes.size() && header.lost != peer.lost; ++i) {
    if ((header.lost & ~peer.lost) >> i & 1) give_up(index, i, "the other side has given it up");
  }
}

size_t RailWire::lanes_left(const Peer& peer) const {
  return peer.lanes.size() - static_cast<size_t>(std::popcount(peer.lost));
}

// A head without a packet; it is not kept.
bool RailWire::send_head(int index, Kind kind, size_t lane, uint32_t number) {
  Peer& peer = at(index);
  std::byte head[sizeof(Header)];
  fill_header(head, peer, kind, number, 0);
  if (!rails_[peer.lanes[lane].rail].wire->packet(index, head, sizeof(head), nullptr, 0, false)) return false;
  peer.owed = 0;
  peer.owed_bytes = 0;
  return true;
}

// Over one lane after the other: if one is down in this direction alone, its neighbour's confirmations tell.
bool RailWire::send_ack(int index) {
  Peer& peer = at(index);
  for (size_t i = 0; i < peer.lanes.size(); ++i) {
    const size_t lane = peer.turn++ % peer.lanes.size();
    if (!peer.lanes[lane].lost && send_head(index, Kind::kAck, lane, 0)) return true;
  }
  return false;
}

bool RailWire::settle(int64_t now, bool moved) {
  bool all = true;
  for (size_t i = owing_.size(); i-- > 0;) {
    Peer& peer = at(owing_[i]);
    if (peer.owed && !peer.failed) {
      const bool due = peer.owed >= kOwedFrames || peer.owed_bytes >= kOwedBytes || (!moved && now - peer.owed_since >= kOwedNs);
      if (!due || !send_ack(owing_[i])) {
        all = all && !due;
        continue;
      }
    }
    peer.owing = false;
    owing_[i] = owing_.back();
    owing_.pop_back();
  }
  return all;
}

void RailWire::look(int64_t now) {
  if (now - looked_at_ < kLookNs) return;
  looked_at_ = now;
  for (size_t index = 0; index < peers_.size(); ++index) {
    if (peers_[index].kept && lanes_left(peers_[index]) > 1) look_at(static_cast<int>(index), now);
  }
}

void RailWire::look_at(int index, int64_t now) {
  Peer& peer = at(index);
  bool silent = false;
  for (size_t i = 0; i < peer.lanes.size(); ++i) {
    const Lane& lane = peer.lanes[i];
    if (lane.lost || lane.idle() || now - lane.confirmed_at() < options_.silence_ns) continue;
    silent = true;
    if (lane.answers() < kAnswers) continue;
    give_up(index, i, format("nothing of what was sent over it has arrived for %lld ms, though the rank answers over another rail",
                             static_cast<long long>((now - lane.confirmed_at()) / 1000000)));
    return;
  }
  if (!silent || now - peer.probed_at < options_.probe_ns) return;
  peer.probed_at = now;
  ++peer.probe;
  for (size_t i = 0; i < peer.lanes.size(); ++i) {
    if (!peer.lanes[i].lost) send_head(index, Kind::kProbe, i, peer.probe);
  }
}

void RailWire::give_up(int index, size_t place, const std::string& reason) {
  Peer& peer = at(index);
  Lane& lane = peer.lanes[place];
  if (lane.lost || lanes_left(peer) == 1) return;
  log(Level::kWarn, rank_, "rail %s to rank %d is given up: %s; %zu packets go over the others", rails_[lane.rail].name.c_str(), index,
      reason.c_str(), lane.on_the_way().count());
  lane.give_up(peer.waiting);
  rails_[lane.rail].wire->abandon(index);
  peer.lost |= uint32_t{1} << place;
  ++lost_;
  if (!flush(index)) make_busy(index);
  send_ack(index);
}

}  // namespace smddp::transport::rails
