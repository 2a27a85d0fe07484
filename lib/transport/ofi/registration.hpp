// Registered memory: what a card, or a peer, may touch. Invariant: a region that is given out is registered for the pages that
// are mapped there now.
//
// Memory that a program frees keeps its registration with the card, and another mapping at the same address would not be the memory
// that the card writes to. So regions are kept for reuse only where the kernel tells of unmapped ranges (userfaultfd): otherwise
// each transfer registers anew. Providers over sockets need a key only, which is cheap, and always take the plain way.
#pragma once

#include "transport/ofi/fabric.hpp"
#include "transport/ofi/unmap_watch.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_set>

namespace smddp::transport::ofi {

struct Region {
  Fid<fid_mr> mr;
  uintptr_t begin = 0, end = 0;
  uint64_t access = 0;
  int users = 0;
  bool kept = false;  // in the cache
};

class Registrar {
 public:
  // keep: registering is expensive, so regions are to be kept.
  Registrar(fid_domain* domain, fid_ep* endpoint, const fi_info& info, bool keep);

  ~Registrar();  // deregisters all, also what is in use

  // Registers, or finds; null when the provider refuses (retry later). One release() or revoke() for each.
  Region* acquire(const void* data, size_t bytes, uint64_t access);
  void release(Region* region);
  // From now on no peer reaches this memory by this region, whoever else uses it.
  void revoke(Region* region);

  uint64_t registrations() const { return registrations_; }
  uint64_t hits() const { return hits_; }
  bool keeps() const { return watch_ != nullptr; }

 private:
  Region* make(uintptr_t begin, uintptr_t end, uint64_t access);
  void forget(uintptr_t begin, uintptr_t end);
  void drop(Region* region);
  void erase(Region* region);

  static constexpr size_t kMostKept = 1024;
  fid_domain* domain_;
  fid_ep* endpoint_;
  bool bind_;
  bool own_keys_;
  uint64_t next_key_ = 1;
  std::unique_ptr<UnmapWatch> watch_;
  std::multimap<uintptr_t, Region*> kept_;  // by begin
  std::unordered_set<Region*> all_;
  uint64_t registrations_ = 0, hits_ = 0;
};

}  // namespace smddp::transport::ofi
