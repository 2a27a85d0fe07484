#include "control/operation_ring.hpp"

namespace smddp::control {

void OperationRing::begin(uint32_t note, const node::Call& call, const char* algorithm, uint64_t segment_elements) {
  const uint32_t sequence = begun_.load(std::memory_order_relaxed) + 1;
  Entry& entry = entries_[sequence % kOperations];
  entry.sequence_and_note.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);  // read() sees the 0 before it sees any of what follows
  entry.count.store(call.count, std::memory_order_relaxed);
  entry.call.store(static_cast<uint64_t>(call.collective) | static_cast<uint64_t>(call.op) << 8 | static_cast<uint64_t>(call.dtype) << 24,
                   std::memory_order_relaxed);
  entry.root.store(call.root, std::memory_order_relaxed);
  entry.algorithm.store(algorithm, std::memory_order_relaxed);
  entry.segment_elements.store(segment_elements, std::memory_order_relaxed);
  entry.sequence_and_note.store(static_cast<uint64_t>(sequence) << 32 | note, std::memory_order_release);
  begun_.store(sequence, std::memory_order_release);
}

std::vector<Record> OperationRing::read() const {
  std::vector<Record> records;
  const uint32_t last = begun();
  for (uint32_t i = kOperations; i-- > 0;) {
    const uint32_t sequence = last - i;
    const Entry& entry = entries_[sequence % kOperations];
    const uint64_t before = entry.sequence_and_note.load(std::memory_order_acquire);
    if (before == 0 || static_cast<uint32_t>(before >> 32) != sequence) continue;
    Record record;
    record.sequence = sequence;
    record.note = static_cast<uint32_t>(before);
    const uint64_t call = entry.call.load(std::memory_order_relaxed);
    record.call.collective = static_cast<Collective>(call & 0xff);
    record.call.op = static_cast<smddp_op_t>(call >> 8 & 0xffff);
    record.call.dtype = static_cast<smddp_dtype_t>(call >> 24 & 0xffff);
    record.call.count = entry.count.load(std::memory_order_relaxed);
    record.call.root = entry.root.load(std::memory_order_relaxed);
    record.algorithm = entry.algorithm.load(std::memory_order_relaxed);
    record.segment_elements = entry.segment_elements.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);  // pairs with begin()'s
    if (entry.sequence_and_note.load(std::memory_order_relaxed) == before) records.push_back(std::move(record));
  }
  return records;
}

}  // namespace smddp::control
