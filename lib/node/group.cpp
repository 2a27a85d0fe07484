#include "node/group.hpp"

#include "base/error.hpp"
#include "node/sleeper_fence.hpp"

#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <numeric>

namespace smddp::node {

Group::Group(std::shared_ptr<Arena> arena, std::vector<UniqueFd> doorbells, std::vector<int> global_ranks, int local_rank, bool fences_all)
    : arena_(std::move(arena)),
      header_(arena_->header()),
      heap_(arena_->heap(local_rank)),
      doorbells_(std::move(doorbells)),
      global_ranks_(std::move(global_ranks)),
      local_rank_(local_rank),
      fences_all_(fences_all) {
  RankLine& line = arena_->rank_line(local_rank_);
  line.pid.store(static_cast<int32_t>(getpid()), std::memory_order_relaxed);
  line.state.store(static_cast<uint32_t>(RankState::kJoined), std::memory_order_release);
}

void Group::ring(int local_rank) const {
  const uint64_t one = 1;
  rings_.fetch_add(1, std::memory_order_relaxed);
  // A full counter (EAGAIN) wakes as well.
  [[maybe_unused]] const ssize_t written = ::write(doorbells_[static_cast<size_t>(local_rank)].get(), &one, sizeof(one));
}

void Group::ring_sleeping(const std::vector<int>& members) const {
  for (int r : members) {
    if (r == local_rank_) continue;
    std::atomic<uint32_t>& sleeping = arena_->rank_line(r).sleeping;
    // Whoever takes the mark rings, so that a sleeper is woken once and not by everybody.
    if (sleeping.load(std::memory_order_seq_cst) != 0 && sleeping.exchange(0, std::memory_order_seq_cst) != 0) ring(r);
  }
}

void Group::raise_event() const {
  header_.events.fetch_add(1, std::memory_order_acq_rel);
  for (int r = 0; r < size(); ++r) ring(r);
}

void Group::begin_sleep() const {
  arena_->rank_line(local_rank_).sleeping.store(1, std::memory_order_seq_cst);
  header_.sleepers.fetch_add(1, std::memory_order_seq_cst);
  if (fences_all_) fence_all();
}

void Group::sleep(int64_t timeout_us, int fd) const {
  pollfd entries[2] = {{doorbells_[static_cast<size_t>(local_rank_)].get(), POLLIN, 0}, {fd, POLLIN, 0}};
  const timespec timeout{timeout_us / 1000000, timeout_us % 1000000 * 1000};
  ppoll(entries, fd < 0 ? 1 : 2, &timeout, nullptr);  // EINTR: the caller looks again, as after any wake-up
}

void Group::end_sleep() const {
  header_.sleepers.fetch_sub(1, std::memory_order_seq_cst);
  arena_->rank_line(local_rank_).sleeping.store(0, std::memory_order_seq_cst);
  uint64_t rung;
  [[maybe_unused]] const ssize_t got = ::read(doorbells_[static_cast<size_t>(local_rank_)].get(), &rung, sizeof(rung));
}

void Group::ring_self() const { ring(local_rank_); }

bool Group::mark(int local_rank, RankState state, DeathReason reason) {
  RankLine& line = arena_->rank_line(local_rank);
  uint32_t expected = static_cast<uint32_t>(RankState::kJoined);
  if (line.state.load(std::memory_order_acquire) != expected) {
    if (line.state.load(std::memory_order_acquire) != static_cast<uint32_t>(RankState::kAbsent)) return false;
    expected = static_cast<uint32_t>(RankState::kAbsent);
  }
  line.order.store(header_.events.load(std::memory_order_acquire), std::memory_order_relaxed);
  line.reason.store(static_cast<uint32_t>(reason), std::memory_order_relaxed);
  if (!line.state.compare_exchange_strong(expected, static_cast<uint32_t>(state), std::memory_order_acq_rel)) return false;
  raise_event();
  return true;
}

void Group::finalize(const std::string& cause) {
  RankLine& line = arena_->rank_line(local_rank_);
  std::snprintf(line.cause, sizeof(line.cause), "%s", cause.c_str());
  mark(local_rank_, RankState::kFinalized, DeathReason::kConnection);
}

// Who of the ranks left first, the dead before the finalized; −1 if none has.
int Group::first_departed(const std::vector<int>& ranks) const {
  int first = -1;
  bool first_dead = false;
  uint32_t first_order = 0;
  for (int r : ranks) {
    if (!has_left(r)) continue;
    const bool dead = state(r) == RankState::kDead;
    const uint32_t order = arena_->rank_line(r).order.load(std::memory_order_relaxed);
    if (first < 0 || (dead && !first_dead) || (dead == first_dead && static_cast<int32_t>(order - first_order) < 0)) {
      first = r;
      first_dead = dead;
      first_order = order;
    }
  }
  return first;
}

std::string Group::death(int local_rank) const {
  const auto reason = static_cast<DeathReason>(arena_->rank_line(local_rank).reason.load(std::memory_order_relaxed));
  return format("rank %d died (%s)", global_rank(local_rank), reason == DeathReason::kProcess ? "process ended" : "connection closed");
}

std::string Group::first_death() const {
  std::vector<int> all(static_cast<size_t>(size()));
  std::iota(all.begin(), all.end(), 0);
  const int first = first_departed(all);
  if (first >= 0 && state(first) == RankState::kDead) return death(first);
  for (const int r : all) {
    const char* cause = arena_->rank_line(r).cause;
    if (state(r) == RankState::kFinalized && *cause) return cause;
  }
  return "";
}

std::string Group::departed(const std::vector<int>& members) const {
  const int first = first_departed(members);
  if (first < 0) return "";
  if (state(first) == RankState::kDead) return death(first);
  // Often it finalized because another rank, of another communicator or node, died: then that is the cause.
  const std::string cause = first_death();
  return format("rank %d has finalized", global_rank(first)) + (cause.empty() ? "" : " after " + cause);
}

void Group::abandon_in_child() {
  for (UniqueFd& bell : doorbells_) bell.reset();
}

}  // namespace smddp::node
