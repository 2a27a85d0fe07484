// Several wires to the same ranks as one: each packet goes over the rail that will have moved it first. Invariant: a packet that was taken
// over is kept until its receiver has confirmed it, and is given to the layer above once, whichever and how many of the rails it took.
//
// There are no puts: what a rail that went down still holds may be placed late, and the memory of a message is not ours for so long. So
// large messages go as packets, which the receiver counts, and which of them takes which rail is nobody's concern.
//
// A frame carries two numbers: of the pair of ranks, by which copies are told from news, and of its lane (the rail's share of this pair),
// by which the receiver confirms. How fast the confirmed frames follow each other is the lane's rate, and what is on the way divided by it
// the time that a further packet waits.
//
// A lane is given up for good when nothing of it was confirmed for a while in which the peer has answered three times over another one; what
// it had under way goes over the others. The last one is never given up: there, rails know no more than a single wire does.
#pragma once

#include "transport/rails/lane.hpp"

#include "base/unique_fd.hpp"

#include <optional>

namespace smddp::transport::rails {

struct RailOptions {
  int64_t silence_ns = 500000000;  // without a confirmation, before the peer is asked
  int64_t probe_ns = 250000000;    // between two questions
};

class RailWire final : public Wire {
 public:
  // At least one rail, kMostRails at most, of networks that differ. What is preferred comes first.
  explicit RailWire(std::vector<Rail> rails, const RailOptions& options = {});
  ~RailWire() override;

  const WireLimits& limits() const override { return limits_; }
  std::string address() const override;
  void connect(const std::vector<std::string>& addresses, int rank) override;
  bool packet(int peer, const void* header, size_t header_bytes, const void* payload, size_t payload_bytes, bool tracked) override;
  bool expose(void*, size_t, Exposure&) override { return false; }
  bool conceal(Exposure&, bool) override { return true; }
  bool put(int, const void*, size_t, uint64_t, uint64_t, size_t, uint32_t, void*) override { return false; }
  void abandon(int peer) override;
  bool progress(WireSink& sink) override;
  Sleep arm() override;
  bool idle() const override { return kept_ == 0 && owing_.empty(); }  // all is confirmed, both ways
  void close() override;
  void describe(Capabilities& capabilities) const override;
  void count(Counters& counters) const override;

 private:
  // Where one rail's wire delivers.
  class Door final : public WireSink {
   public:
    Door(RailWire& wire, size_t rail) : wire_(wire), rail_(rail) {}
    void packet(const std::byte* data, size_t bytes) override { wire_.arrived(rail_, data, bytes); }
    void landed(uint32_t) override {}
    void put_done(void*, const char*) override {}

   private:
    RailWire& wire_;
    size_t rail_;
  };

  struct Peer {
    uint32_t nonce = 0;
    bool failed = false, busy = false, owing = false;
    std::vector<Lane> lanes;
    size_t lane_of_rail[kMostRails];  // kMostRails: none
    uint32_t lost = 0;                // lanes, a bit each
    uint32_t next = 0, oldest = 0;    // number of the next frame; all below are confirmed
    FrameList waiting;                // for a lane
    size_t kept = 0, kept_bytes = 0;  // frames and their bytes that are not confirmed
    NumberFilter came;                // numbers of its frames
    uint32_t owed = 0;                // frames that came and were not confirmed yet
    size_t owed_bytes = 0;
    int64_t owed_since = 0, probed_at = 0;
    uint32_t probe = 0;               // number of the last one
    size_t turn = 0;                  // lane of the next head without a packet
  };

  // rail_wire.cpp
  Peer& at(int peer) { return peers_[static_cast<size_t>(peer)]; }
  bool room_for(Peer& peer, size_t bytes);
  bool flush(int peer);  // true: nothing waits
  bool launch(int peer, Frame* frame);
  Lane* choose(Peer& peer, size_t bytes, uint32_t passed_over);
  void make_busy(int peer);
  void fill_header(std::byte* to, const Peer& peer, Kind kind, uint32_t number, uint32_t lane_number) const;

  // confirming.cpp: arrivals, confirmations, and lanes that give none
  void arrived(size_t rail, const std::byte* data, size_t bytes);
  void take_confirmations(int peer, const Header& header);
  bool settle(int64_t now, bool moved);  // says what has come; false: some could not be said
  bool send_head(int peer, Kind kind, size_t lane, uint32_t number);
  bool send_ack(int peer);
  void look(int64_t now);
  void look_at(int peer, int64_t now);
  void give_up(int peer, size_t lane, const std::string& reason);
  size_t lanes_left(const Peer& peer) const;

  std::vector<Rail> rails_;
  std::vector<Door> doors_;
  RailOptions options_;
  WireLimits limits_;
  uint32_t nonce_;
  int rank_ = -1;
  std::vector<Peer> peers_;
  FramePool pool_;
  size_t kept_ = 0;               // frames that are not confirmed, of all peers
  std::vector<int> busy_, owing_;  // peers for which frames wait; that have sent frames which are not confirmed
  std::vector<int> round_;
  int64_t looked_at_ = 0;
  WireSink* sink_ = nullptr;
  UniqueFd bells_;                // epoll, of the rails' descriptors
  std::vector<int> rung_;         // that are in it
  std::vector<uint64_t> sent_bytes_;  // by rail
  uint64_t lost_ = 0;
};

}  // namespace smddp::transport::rails
