// Messages between ranks of different nodes. A message is a letter, which has its tag and size and, if it is short, its data, and a parcel
// with the data of a long one. Letters of a pair are numbered, and one is awaited at a time, so they arrive in the order of sending; a
// parcel is called for when its letter has come and there is room for it. The engine's lock guards everything.
#pragma once

#include "engine/wire.hpp"
#include "node/mail.hpp"

#include <list>
#include <memory>
#include <vector>

namespace smddp::engine {

class RemoteMail {
 public:
  RemoteMail(Route& route, node::Mail& mail, const node::Members& members);

  // Takes the message over: kDone; kAgain while too much is in flight to this rank; kFailed with status.
  node::Step send(int rank, int tag, const void* data, size_t bytes, Status& status);

  // Listens from now on to a rank, or to all (SMDDP_ANY_SOURCE).
  void listen(int rank);

  bool progress();
  bool has_outgoing() const { return !outgoing_.empty(); }

  // Takes back what the transport holds; true when that is nothing.
  bool drain();

 private:
  struct Letter {
    uint64_t bytes;
    int32_t tag;
    uint32_t reserved;
    unsigned char data[node::kMailInlineBytes];
  };
  struct Outgoing {
    int rank;
    uint64_t number;
    Letter letter{};
    std::unique_ptr<unsigned char[]> parcel;
    bool letter_sent = false, parcel_sent = false;
    transport::Event letter_event, parcel_event;
  };
  enum class Stage : uint8_t { kSilent, kListening, kLetter, kParcelAwaited, kParcel };
  struct Incoming {
    Stage stage = Stage::kSilent;
    uint64_t number = 0;
    Letter letter{};
    uint64_t block = node::kNoOffset;
    transport::Event event;
  };

  bool advance(Outgoing& message);
  bool advance(int rank, Incoming& incoming);
  void deliver(int rank, Incoming& incoming, uint64_t block);
  uint64_t id(int receiver, uint64_t number, bool parcel) const;
  int world_rank(int rank) const { return route_.world_ranks[static_cast<size_t>(rank)]; }

  static constexpr uint32_t kLetterTag = 0xfff, kParcelTag = 0xffe;

  Route& route_;
  node::Mail& mail_;
  const node::Members& members_;
  std::list<Outgoing> outgoing_;
  std::vector<uint64_t> outgoing_bytes_;  // of parcels, by rank
  std::vector<uint64_t> sent_;            // letters, by rank
  std::vector<Incoming> incoming_;        // by rank
  std::vector<int> listening_;
  bool taken_back_ = false;
};

}  // namespace smddp::engine
