#include "engine/wire.hpp"

namespace smddp::engine {

Wire::Wire(std::unique_ptr<transport::Transport> transport, int ranks, int remote)
    : transport_(std::move(transport)), remote_(remote), ranks_(static_cast<size_t>(ranks)), indices_(65536) {}

void Wire::note_left(int rank, bool dead, const std::string& sentence) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Rank& entry = ranks_[static_cast<size_t>(rank)];
  if (entry.left) return;  // the end of a connection after a finalize is no death
  entry.left = true;
  entry.dead = dead;
  entry.since = now_ns();
  entry.sentence = sentence;
  left_.fetch_add(1, std::memory_order_release);
  if (dead) news_.store(true, std::memory_order_release);
}

bool Wire::apply_deaths() {
  if (!news_.load(std::memory_order_acquire) || !news_.exchange(false, std::memory_order_acq_rel)) return false;
  std::vector<std::pair<int, std::string>> dead;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (size_t r = 0; r < ranks_.size(); ++r) {
      if (!ranks_[r].dead || ranks_[r].applied) continue;
      ranks_[r].applied = true;
      dead.emplace_back(static_cast<int>(r), ranks_[r].sentence);
    }
  }
  for (const auto& [rank, sentence] : dead) transport_->fail_peer(rank, sentence);
  return !dead.empty();
}

std::string Wire::departed(int rank) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Rank& entry = ranks_[static_cast<size_t>(rank)];
  if (!entry.left || (!entry.dead && now_ns() - entry.since < kOnTheWayMs * 1000000)) return "";
  return entry.sentence;
}

bool Wire::is_dead(int rank) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return ranks_[static_cast<size_t>(rank)].dead;
}

std::string Wire::first_death() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Rank* first = nullptr;
  for (const Rank& rank : ranks_) {
    if (rank.dead && (!first || rank.since < first->since)) first = &rank;
  }
  return first ? first->sentence : "";
}

int Wire::take_index() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (size_t tried = 0; tried < indices_.size(); ++tried) {
    const size_t index = next_index_;
    next_index_ = (next_index_ + 1) % indices_.size();
    if (indices_[index]) continue;
    indices_[index] = true;
    return static_cast<int>(index);
  }
  return -1;
}

void Wire::give_index(int index) {
  const std::lock_guard<std::mutex> lock(mutex_);
  indices_[static_cast<size_t>(index)] = false;
}

}  // namespace smddp::engine
