// libfabric as a Wire: packets as untagged messages into buffers that are always posted, large pieces as writes or tagged messages.
// Invariant: every context that libfabric holds is in one of the pools below until its completion has been read, or the endpoint closed.
#pragma once

#include "transport/messages/wire.hpp"
#include "transport/ofi/endpoint.hpp"
#include "transport/ofi/provider.hpp"
#include "transport/ofi/registration.hpp"
#include "transport/ofi/waiting.hpp"

#include <memory>
#include <string>
#include <vector>

namespace smddp::transport::ofi {

class OfiWire final : public Wire {
 public:
  // Takes over the candidate, whose plan may have been changed to another bulk that it supports.
  explicit OfiWire(Candidate candidate);
  ~OfiWire() override;

  const WireLimits& limits() const override { return limits_; }
  std::string address() const override;
  void connect(const std::vector<std::string>& addresses, int rank) override;
  bool packet(int peer, const void* header, size_t header_bytes, const void* payload, size_t payload_bytes, bool tracked) override;
  bool expose(void* data, size_t bytes, Exposure& exposure) override;
  bool conceal(Exposure& exposure, bool over) override;
  bool put(int peer, const void* data, size_t bytes, uint64_t address, uint64_t key, size_t offset, uint32_t immediate, void* context) override;
  void abandon(int peer) override;
  bool progress(WireSink& sink) override;
  Sleep arm() override;
  bool idle() const override { return in_flight_ == 0; }
  void close() override;
  void describe(Capabilities& capabilities) const override;
  void count(Counters& counters) const override;

 private:
  enum class Role : uint8_t { kPacketIn, kPacketOut, kPut, kTaggedIn };

  // What libfabric is given with an operation, and gives back. The first member is scratch space that some providers need.
  struct Slot {
    fi_context2 scratch;
    Role role;
    bool busy = false;
    bool cancelled = false;
    int peer = -1;
    std::byte* buffer = nullptr;   // of packets, in the region
    void* context = nullptr;       // of the put
    uint64_t tag = 0;              // of the tagged receive
    Region* region = nullptr;
    Slot* next = nullptr;          // free
  };

  class Pool {
   public:
    // Adds slots, each with so many bytes, if any, in memory that the registrar has registered if it is there.
    void grow(size_t count, Role role, size_t buffer_bytes, Registrar* registrar);
    Slot* take();
    void give(Slot* slot);
    template <class Visit>
    void each_busy(Visit visit) {
      for (Chunk& chunk : chunks_) {
        for (size_t i = 0; i < chunk.count; ++i) {
          if (chunk.slots[i].busy) visit(chunk.slots[i]);
        }
      }
    }

   private:
    struct Chunk {
      size_t count;
      std::unique_ptr<Slot[]> slots;
      std::unique_ptr<std::byte[]> buffers;
      Region* region;
    };
    std::vector<Chunk> chunks_;
    Slot* free_ = nullptr;
  };

  bool post(Slot& slot);
  void post_again();
  void completed(const fi_cq_data_entry& entry, WireSink& sink);
  void failed(WireSink& sink);
  void packet_over(Slot& slot);
  void put_over(Slot& slot, const char* error, WireSink& sink);
  void tagged_over(Slot& slot);
  void* descriptor(const Region* region) const { return region ? fi_mr_desc(region->mr.get()) : nullptr; }

  Candidate candidate_;
  size_t packets_in_, packets_out_;
  Endpoint endpoint_;
  Waiting waiting_;
  WireLimits limits_;
  std::unique_ptr<Registrar> registrar_;
  Pool in_, out_, puts_, tagged_;
  Registrar* packet_registrar_;  // null: packets need no registration
  std::vector<fi_addr_t> peers_;
  std::vector<uint32_t> packets_to_;  // that the provider holds, by peer
  std::vector<Slot*> unposted_;  // receives that the provider refused for now
  uint64_t last_tag_ = 0;
  size_t in_flight_ = 0;
  bool broken_ = false;  // a connection, or so it seems
  bool closed_ = false;
};

}  // namespace smddp::transport::ofi
