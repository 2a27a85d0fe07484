// How a board breaks: the first rank to find a reason writes one sentence for all.
#include "node/board.hpp"

#include "base/clock.hpp"
#include "coll/algorithms.hpp"
#include "node/shape.hpp"

#include <sched.h>

#include <cstdio>
#include <cstring>

namespace smddp::node {
namespace {

Call unpack(const CallRecord& record) {
  Call call;
  const uint64_t packed = record.call.load(std::memory_order_relaxed);
  call.collective = static_cast<Collective>(packed & 0xff);
  call.op = static_cast<smddp_op_t>(packed >> 8 & 0xffff);
  call.dtype = static_cast<smddp_dtype_t>(packed >> 24 & 0xffff);
  call.algorithm = static_cast<uint8_t>(packed >> 40 & 0xff);
  call.count = record.count.load(std::memory_order_relaxed);
  call.root = static_cast<int>(static_cast<uint32_t>(record.root_and_sequence.load(std::memory_order_relaxed) >> 32));
  return call;
}

// 'R' running, 'T' stopped and so on, as /proc says; 0 if it cannot be seen.
char process_state(int32_t pid) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%d/stat", pid);
  std::FILE* file = std::fopen(path, "re");
  if (!file) return 0;
  char line[512];
  const size_t got = std::fread(line, 1, sizeof(line) - 1, file);
  std::fclose(file);
  line[got] = '\0';
  const char* name_end = std::strrchr(line, ')');
  return name_end && name_end[1] == ' ' ? name_end[2] : 0;
}

}  // namespace

std::string call_text(const Call& call) {
  if (call.whole) return call_text(*call.whole);
  std::string inside;
  const auto add = [&](const std::string& word) { inside += (inside.empty() ? "" : ", ") + word; };
  const bool counts = call.collective != Collective::kBarrier && call.collective != Collective::kSplit && call.collective != Collective::kDup;
  if (counts) add(smddp::format("%zu × %s", call.count, dtype_name(call.dtype)));
  if (counts && reduces(call.collective)) add(op_name(call.op));
  if (counts && (has_root_source(call.collective) || has_root_target(call.collective))) add(smddp::format("root %d", call.root));
  if (const coll::Algorithm* algorithm = coll::algorithm_of(call.algorithm)) add(smddp::format("by %s", algorithm->name));
  return collective_name(call.collective) + ("(" + inside + ")");
}

void Board::fail(smddp_status_t code, const std::string& text) {
  uint32_t none = static_cast<uint32_t>(FailureState::kNone);
  if (!header_.failure.compare_exchange_strong(none, static_cast<uint32_t>(FailureState::kClaimed), std::memory_order_acq_rel)) {
    // Another rank is writing its sentence, at most for microseconds unless it died there.
    const int64_t limit = deadline_after_ms(100);
    while (!failed() && now_ns() < limit) sched_yield();
    if (failed()) return;
  }
  header_.code = code;
  header_.origin = rank_;
  std::snprintf(header_.text, sizeof(header_.text), "%s", text.c_str());
  header_.failure.store(static_cast<uint32_t>(FailureState::kReady), std::memory_order_release);
  group_.raise_event();
}

Status Board::failure(const Operation* operation) const {
  Status status{static_cast<smddp_status_t>(header_.code), std::string(header_.text)};
  // Causes that are no call of anybody say what this rank was doing.
  if (operation && (status.code == SMDDP_ERR_PEER_GONE || status.code == SMDDP_ERR_ABORTED)) {
    const uint32_t number = operation->call.whole ? operation->call.number : operation->sequence;
    status.text += smddp::format(" during %s #%u on comm '%s', rank %d", call_text(operation->call).c_str(), number, name.c_str(), global_rank(rank_));
  }
  return status;
}

std::string Board::recorded_call(int rank, uint32_t sequence) const {
  const CallRecord& entry = record(sequence, rank);
  const Call call = unpack(entry);
  if (static_cast<uint32_t>(entry.root_and_sequence.load(std::memory_order_relaxed)) != sequence || call.collective == Collective::kNone) {
    return "another call";
  }
  return call_text(call);
}

void Board::report_mismatch(uint32_t sequence, int peer) {
  // After a death calls diverge, since each rank learns of it in another call: then the death is the cause.
  for (int r : members_) {
    if (group_.state(r) != RankState::kDead) continue;
    fail(SMDDP_ERR_PEER_GONE, group_.departed(members_));
    return;
  }
  // Lower rank first, so that every rank writes the same sentence.
  const int first = std::min(rank_, peer), second = std::max(rank_, peer);
  fail(SMDDP_ERR_MISMATCH,
       smddp::format("mismatch in operation #%u on comm '%s': rank %d called %s, rank %d called %s", sequence, name.c_str(),
                     global_rank(first), recorded_call(first, sequence).c_str(), global_rank(second),
                     recorded_call(second, sequence).c_str()));
}

Status Board::time_out(const Operation& operation, int64_t timeout_ms) {
  std::string missing;
  int count = 0;
  if (operation.phase == Phase::kStream) {
    for (int r = 0; r < size_; ++r) {
      if (r == rank_ || progress_[r].gathered.load(std::memory_order_acquire) >= operation.base + operation.segments) continue;
      const bool stopped = process_state(group_.arena()->rank_line(members_[static_cast<size_t>(r)]).pid.load(std::memory_order_relaxed)) == 'T';
      if (count++ < 8) missing += smddp::format("%srank %d is in it but slow%s", count > 1 ? ", " : "", global_rank(r), stopped ? " (its process is stopped)" : "");
    }
  } else {
    for (int r = 0; r < size_; ++r) {
      if (r == rank_) continue;
      const uint64_t seen = slot(operation.sequence, r).word.load(std::memory_order_acquire);
      if (static_cast<int32_t>(static_cast<uint32_t>(seen >> 32) - operation.sequence) >= 0) continue;
      uint32_t last = 0;
      bool any = false;
      for (int s = 0; s < kSlots; ++s) {
        const uint32_t entered = static_cast<uint32_t>(slots_[s * size_ + r].word.load(std::memory_order_acquire) >> 32);
        if (!any || static_cast<int32_t>(entered - last) > 0) last = entered;
        any = true;
      }
      const std::string call = recorded_call(r, last);
      const bool stopped = process_state(group_.arena()->rank_line(members_[static_cast<size_t>(r)]).pid.load(std::memory_order_relaxed)) == 'T';
      if (count++ < 8) {
        missing += smddp::format("%srank %d has not called it%s", count > 1 ? ", " : "", global_rank(r), stopped ? " (its process is stopped" : " (");
        missing += call == "another call" ? std::string(stopped ? ")" : "it has called nothing on this comm)")
                                          : smddp::format("%sits last call is %s #%u)", stopped ? ", " : "", call.c_str(), last);
      }
    }
  }
  if (count > 8) missing += smddp::format(" and %d more", count - 8);
  if (missing.empty()) missing = "its peers are in it but slow";
  fail(SMDDP_ERR_TIMEOUT, smddp::format("timed out: rank %d waited %lld ms in %s #%u on comm '%s': %s", global_rank(rank_),
                                        static_cast<long long>(timeout_ms), call_text(operation.call).c_str(), operation.sequence,
                                        name.c_str(), missing.c_str()));
  return failure(&operation);
}

}  // namespace smddp::node
