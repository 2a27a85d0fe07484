// A hash table of things that carry a peer and an id, chained through their member `chain`. It owns none of them; it grows, never shrinks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace smddp::transport {

template <class T>
class IdTable {
 public:
  IdTable() : buckets_(256, nullptr) {}

  size_t count() const { return count_; }

  void insert(T* item) {
    if (count_ >= buckets_.size()) grow();
    T*& head = buckets_[place(item->peer, item->id)];
    item->chain = head;
    head = item;
    ++count_;
  }

  T* find(int peer, uint64_t id) const {
    if (!count_) return nullptr;
    T* item = buckets_[place(peer, id)];
    while (item && (item->id != id || item->peer != peer)) item = item->chain;
    return item;
  }

  bool remove(T* item) {
    for (T** link = &buckets_[place(item->peer, item->id)]; *link; link = &(*link)->chain) {
      if (*link != item) continue;
      *link = std::exchange(item->chain, nullptr);
      --count_;
      return true;
    }
    return false;
  }

  // Takes out all that fit, and gives each to `taken`.
  template <class Fits, class Taken>
  void take_if(Fits fits, Taken taken) {
    for (T*& head : buckets_) {
      for (T** link = &head; *link;) {
        T* item = *link;
        if (!fits(*item)) {
          link = &item->chain;
          continue;
        }
        *link = std::exchange(item->chain, nullptr);
        --count_;
        taken(item);
      }
    }
  }

 private:
  size_t place(int peer, uint64_t id) const {
    uint64_t hash = (id ^ static_cast<uint64_t>(peer) << 40) * 0x9e3779b97f4a7c15u;
    return static_cast<size_t>((hash ^ hash >> 32) & (buckets_.size() - 1));
  }

  void grow() {
    std::vector<T*> old(buckets_.size() * 2, nullptr);
    old.swap(buckets_);
    count_ = 0;
    for (T* item : old) {
      while (item) insert(std::exchange(item, item->chain));
    }
  }

  std::vector<T*> buckets_;
  size_t count_ = 0;
};

}  // namespace smddp::transport
