#include "transport/ofi/registration.hpp"

#include <unistd.h>

#include <algorithm>
#include <vector>

namespace smddp::transport::ofi {
namespace {

uintptr_t page_bytes() {
  static const auto bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

Registrar::Registrar(fid_domain* domain, fid_ep* endpoint, const fi_info& info, bool keep)
    : domain_(domain), endpoint_(endpoint), bind_((info.domain_attr->mr_mode & FI_MR_ENDPOINT) != 0),
      own_keys_(!(info.domain_attr->mr_mode & FI_MR_PROV_KEY)) {
  if (keep) watch_ = UnmapWatch::start();
}

Registrar::~Registrar() {
  for (Region* region : all_) delete region;
}

Region* Registrar::make(uintptr_t begin, uintptr_t end, uint64_t access) {
  auto region = std::make_unique<Region>();
  const uint64_t key = own_keys_ ? next_key_++ : 0;
  if (fi_mr_reg(domain_, reinterpret_cast<const void*>(begin), end - begin, access, 0, key, 0, region->mr.out(), nullptr) != 0) return nullptr;
  if (bind_ && (fi_mr_bind(region->mr.get(), &endpoint_->fid, 0) != 0 || fi_mr_enable(region->mr.get()) != 0)) return nullptr;
  ++registrations_;
  region->begin = begin;
  region->end = end;
  region->access = access;
  region->users = 1;
  all_.insert(region.get());
  return region.release();
}

void Registrar::erase(Region* region) {
  all_.erase(region);
  delete region;
}

Region* Registrar::acquire(const void* data, size_t bytes, uint64_t access) {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  if (!watch_) return make(begin, begin + bytes, access);
  for (const auto& [from, to] : watch_->take()) forget(from, to);
  const uintptr_t page = page_bytes(), first = begin / page * page, last = (begin + bytes + page - 1) / page * page;
  for (auto it = kept_.upper_bound(begin); it != kept_.begin();) {
    --it;
    Region* region = it->second;
    if (region->end >= last && (region->access & access) == access) {
      ++region->users;
      ++hits_;
      return region;
    }
  }
  if (kept_.size() >= kMostKept) {
    const auto idle = std::find_if(kept_.begin(), kept_.end(), [](const auto& entry) { return entry.second->users == 0; });
    if (idle != kept_.end()) {
      Region* region = idle->second;
      kept_.erase(idle);
      drop(region);
    }
  }
  // Watched before it is registered: an unmap in between is reported.
  const bool watched = watch_->add(first, last);
  Region* region = watched ? make(first, last, access) : make(begin, begin + bytes, access);
  if (region && watched) {
    region->kept = true;
    kept_.emplace(first, region);
  }
  return region;
}

void Registrar::drop(Region* region) {
  region->kept = false;
  if (region->users == 0) erase(region);
}

void Registrar::forget(uintptr_t begin, uintptr_t end) {
  for (auto it = kept_.begin(); it != kept_.end();) {
    Region* region = it->second;
    if (region->begin < end && begin < region->end) {
      it = kept_.erase(it);
      drop(region);
    } else {
      ++it;
    }
  }
}

void Registrar::release(Region* region) {
  if (--region->users == 0 && !region->kept) erase(region);
}

void Registrar::revoke(Region* region) {
  region->mr.reset();
  if (region->kept) {
    const auto [first, last] = kept_.equal_range(region->begin);
    const auto place = std::find_if(first, last, [&](const auto& entry) { return entry.second == region; });
    if (place != last) kept_.erase(place);
    region->kept = false;
  }
  release(region);
}

}  // namespace smddp::transport::ofi
