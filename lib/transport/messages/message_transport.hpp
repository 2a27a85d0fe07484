// Matched messages over any Wire. Invariant: a message without receive is either within its sender's credit or still at its sender.
//
// A small message goes at once, with its header, if the receiver granted room for it (credit); it is copied once on either side. Every
// other message moves when its receiver calls for it: kReady names the receive, and the pieces go straight into its memory. A large
// receive calls as soon as it is posted; a small one, whose message lacked credit, when the offer arrives. So nothing has to be
// said about a large message whose receive is there in time, credit is never a reason to stand still, and completion is counting:
// all pieces, and the offer or the size where the pieces say that these are on their way too.
#pragma once

#include "transport/messages/id_table.hpp"
#include "transport/messages/number_filter.hpp"
#include "transport/messages/operation.hpp"
#include "transport/messages/packet.hpp"

#include <memory>
#include <string>
#include <vector>

namespace smddp::transport {

struct MessageOptions {
  int size = 2;                 // ranks that will be connected, for the share of memory that each gets
  size_t eager_bytes = 65536;   // at most; the wire's packets may allow less
  uint32_t window_units = 0;    // of credit for each peer; 0: by the number of ranks
};

class MessageTransport final : public Transport, private WireSink {
 public:
  MessageTransport(std::unique_ptr<Wire> wire, const MessageOptions& options);
  ~MessageTransport() override;

  std::string address() const override;
  void connect(const std::vector<std::string>& addresses, int rank) override;
  bool send(int peer, uint64_t id, const void* data, size_t bytes, Event* event) override;
  bool receive(int peer, uint64_t id, void* data, size_t bytes, Event* event) override;
  bool progress() override;
  Sleep arm() override;
  void cancel(Event& event, const std::string& sentence) override;
  void fail_peer(int peer, const std::string& sentence) override;
  void discard(uint64_t id, uint64_t mask) override;
  const std::string& failure() const override { return failure_; }
  bool quiesce(int64_t deadline) override;
  const Capabilities& capabilities() const override { return capabilities_; }
  const Counters& counters() const override;

 private:
  struct Reply {
    Kind kind;
    uint64_t id;
  };
  struct Peer {
    uint32_t nonce = 0;
    bool failed = false, talked = false, bye_came = false, bye_sent = false, busy = false, credit_due = false;
    uint32_t sequence = 0;                        // of the next packet to it
    uint32_t window = 0, used = 0, returned = 0;  // credit that it grants, in units
    uint32_t consumed = 0, reported = 0;          // of what it sent
    uint32_t ready_number = 0;                    // of the next kReady to it
    size_t data_bytes = 0, put_bytes = 0;         // largest piece of either kind, the same on both sides
    std::unique_ptr<NumberFilter> readies;        // numbers of its kReady
    std::unique_ptr<NumberFilter> packets;        // where the wire duplicates
    Operation* operations = nullptr;
    Operation *queue = nullptr, **queue_end = &queue;
    std::vector<Reply> replies;
    std::string sentence;
  };

  // message_transport.cpp: operations, queues and packets
  Operation* allocate(int peer, uint64_t id, void* data, size_t bytes, Event* event, State state);
  void release(Operation& operation);
  void complete(Operation& operation, Result result, size_t bytes, const std::string& sentence);
  void enqueue(Operation& operation);
  void make_busy(int peer);
  bool pump(int peer);
  bool step(Operation& operation);  // false: the network says again
  void reply(int peer, Kind kind, uint64_t id);
  bool emit(int peer, Kind kind, uint64_t id, const void* body = nullptr, size_t body_bytes = 0, const void* payload = nullptr,
            size_t payload_bytes = 0);
  void packet(const std::byte* data, size_t bytes) override;
  bool refuse(int peer, Event* event);
  size_t pieces_of(const Peer& peer, size_t bytes) const;

  // sending.cpp
  bool step_waiting(Operation& operation);
  bool step_moving(Operation& operation);
  void take_ready(int peer, uint64_t id, const std::byte* body);
  void take_revoke(int peer, uint64_t id, const std::byte* body);
  void put_done(void* context, const char* error) override;
  bool has_credit(const Peer& peer, size_t bytes) const;
  bool emit_eager(int peer, uint64_t id, const void* data, size_t bytes, uint32_t note);

  // receiving.cpp
  bool step_calling(Operation& operation);
  bool step_revoking(Operation& operation);
  void take_eager(int peer, uint64_t id, const std::byte* body, size_t bytes);
  void take_offer(int peer, uint64_t id, uint64_t bytes);
  void take_data(int peer, uint32_t immediate, uint64_t offset, const std::byte* payload, size_t bytes);
  void take_size(int peer, uint32_t immediate, uint64_t bytes);
  void take_refused(int peer, uint32_t immediate);
  void take_revoked(int peer, uint32_t immediate);
  void landed(uint32_t immediate) override;
  void piece(Operation& operation, uint32_t immediate);
  void end_if_whole(Operation& operation);
  void end_receive(Operation& operation, Result result, size_t bytes);
  void consume(int peer, size_t bytes);
  void store(Arrival arrival, const std::byte* payload);
  void drop(Arrival* arrival);
  Operation* receive_of(int peer, uint32_t immediate);

  // ending.cpp
  void set_deadline(Operation& operation, Result outcome, const std::string& sentence);
  void end_by(Operation& operation, int64_t deadline);
  void conceal(Operation& operation);  // ends a receive without asking its peer
  bool watch_endings();
  void close(const std::string& reason);

  std::unique_ptr<Wire> wire_;
  WireLimits limits_;
  uint32_t nonce_, window_units_;
  size_t eager_bytes_;
  int rank_ = -1;
  std::vector<Peer> peers_;
  std::unique_ptr<Operation[]> operations_;
  Operation* free_ = nullptr;
  IdTable<Operation> sends_, receives_;  // that wait for kReady; for a message
  IdTable<Arrival> arrivals_;
  IdTable<EarlyReady> readies_;
  std::vector<int> busy_, round_;
  std::vector<Operation*> endings_;
  bool moved_ = false;
  std::string failure_;
  Capabilities capabilities_;
  mutable Counters counters_;
};

}  // namespace smddp::transport
