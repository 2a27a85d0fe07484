#include "transport/loopback/hub.hpp"

#include "base/error.hpp"

#include <sys/eventfd.h>

#include <algorithm>

namespace smddp::transport::loopback {
namespace {

constexpr int64_t kBurstNs = 20000000;  // that a network of limited speed catches up with at once

bool happens(std::mt19937_64& generator, double chance) {
  return chance > 0 && std::uniform_real_distribution<double>(0, 1)(generator) < chance;
}

}  // namespace

Hub::Hub(int ranks, const Faults& faults) : faults_(faults) {
  for (int rank = 0; rank < ranks; ++rank) {
    boxes_.push_back(std::make_unique<Box>());
    Box& box = *boxes_.back();
    box.network.seed(faults.seed * 1000003 + static_cast<uint64_t>(rank));
    box.own.seed(faults.seed * 7919 + static_cast<uint64_t>(rank));
    box.bell.reset(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    if (!box.bell) throw system_error("eventfd", format("for loopback rank %d", rank));
  }
}

bool Hub::post(int from, int to, Item&& item) {
  if (draw(from, faults_.again)) return false;
  const uint64_t posted = posted_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (posted == faults_.kill_after && faults_.victim >= 0) kill(faults_.victim);
  if (posted == faults_.cut_after) cut();
  if (is_cut() || dead(from) || dead(to)) return true;
  Box& box = *boxes_[static_cast<size_t>(to)];
  const std::lock_guard<std::mutex> lock(box.mutex);
  if (box.items.size() >= faults_.queue_items) return false;
  const auto due = [&] {
    return happens(box.network, faults_.delay) ? box.turn + 1 + box.network() % static_cast<uint64_t>(faults_.max_delay) : box.turn;
  };
  item.due = due();
  if (happens(box.network, faults_.duplicate)) {
    item.twice = item.put;
    if (!item.put) {
      Item copy = item;
      copy.due = due();
      box.items.push_back(std::move(copy));
    }
  }
  box.items.push_back(std::move(item));
  if (box.sleeping) {
    box.sleeping = false;
    eventfd_write(box.bell.get(), 1);
  }
  return true;
}

void Hub::take(int rank, std::vector<Item>& items) {
  Box& box = *boxes_[static_cast<size_t>(rank)];
  const std::lock_guard<std::mutex> lock(box.mutex);
  box.sleeping = false;
  ++box.turn;
  if (is_cut()) box.items.clear();
  if (box.items.empty()) return;
  const int64_t now = faults_.bytes_per_us > 0 ? now_ns() : 0;
  box.paid_until = std::max(box.paid_until, now - kBurstNs);
  size_t later = 0;
  for (Item& item : box.items) {
    if (item.due >= box.turn || (faults_.bytes_per_us > 0 && box.paid_until > now)) {
      if (&item != &box.items[later]) box.items[later] = std::move(item);
      ++later;
      continue;
    }
    if (faults_.bytes_per_us > 0) box.paid_until += static_cast<int64_t>(static_cast<double>(item.bytes.size()) * 1000 / faults_.bytes_per_us);
    items.push_back(std::move(item));
  }
  box.items.resize(later);
  if (faults_.reorder) std::shuffle(items.begin(), items.end(), box.network);
}

bool Hub::draw(int rank, double chance) { return happens(boxes_[static_cast<size_t>(rank)]->own, chance); }

int Hub::some_turns(int rank) {
  return draw(rank, faults_.delay) ? static_cast<int>(boxes_[static_cast<size_t>(rank)]->own() % static_cast<uint64_t>(faults_.max_delay)) : 0;
}

bool Hub::arm(int rank) {
  Box& box = *boxes_[static_cast<size_t>(rank)];
  eventfd_t value;
  eventfd_read(box.bell.get(), &value);
  const std::lock_guard<std::mutex> lock(box.mutex);
  box.sleeping = box.items.empty();
  return box.sleeping;
}

bool Hub::waits(int rank) {
  Box& box = *boxes_[static_cast<size_t>(rank)];
  const std::lock_guard<std::mutex> lock(box.mutex);
  return std::all_of(box.items.begin(), box.items.end(), [&](const Item& item) { return item.due > box.turn; });
}

}  // namespace smddp::transport::loopback
