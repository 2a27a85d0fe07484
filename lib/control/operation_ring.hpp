// The last operations of a communicator of several nodes on one rank, for those who must explain why it stands still. Invariant: one
// thread at a time writes (the engine's lock), any thread reads, and what a reader gets is whole.
#pragma once

#include "node/operation.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace smddp::control {

struct Record {
  uint32_t sequence = 0;
  uint32_t note = 0;      // of this call and all before it: equal on two ranks that have called the same
  node::Call call;        // without buffers
  std::string algorithm;
  uint64_t segment_elements = 0;
};

class OperationRing {
 public:
  static constexpr uint32_t kOperations = 16;

  // The call after the last one, numbered from 1. algorithm: of static storage.
  void begin(uint32_t note, const node::Call& call, const char* algorithm, uint64_t segment_elements);
  void end() { ended_.store(ended_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

  uint32_t begun() const { return begun_.load(std::memory_order_acquire); }  // the last call
  uint32_t ended() const { return ended_.load(std::memory_order_acquire); }

  // Oldest first.
  std::vector<Record> read() const;

 private:
  struct Entry {
    std::atomic<uint64_t> sequence_and_note{0};  // 0 while the rest is written
    std::atomic<uint64_t> count{0};
    std::atomic<uint64_t> call{0};  // collective 8 | op 16 | dtype 16 (low to high)
    std::atomic<int> root{0};
    std::atomic<const char*> algorithm{""};
    std::atomic<uint64_t> segment_elements{0};
  };

  std::array<Entry, kOperations> entries_;
  std::atomic<uint32_t> begun_{0}, ended_{0};
};

}  // namespace smddp::control
