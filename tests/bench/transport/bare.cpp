#include "bench/transport/bare.hpp"

#include <cstdio>
#include <stdexcept>

namespace bench {

Bare::Bare(smddp::transport::ofi::Candidate candidate) : candidate_(std::move(candidate)), endpoint_(*candidate_.info, 256) {}

std::string Bare::address() const {
  char bytes[512];
  size_t length = sizeof(bytes);
  if (fi_getname(&endpoint_.ep->fid, bytes, &length) != 0) throw std::runtime_error("fi_getname");
  return std::string(bytes, length);
}

void Bare::connect(const std::string& other) {
  if (fi_av_insert(endpoint_.av.get(), other.data(), 1, &peer_, 0, nullptr) != 1) throw std::runtime_error("fi_av_insert");
}

bool Bare::poll() {
  fi_cq_data_entry entries[8];
  const ssize_t count = fi_cq_read(endpoint_.cq.get(), entries, 8);
  if (count > 0) done_ += static_cast<int>(count);
  return count >= 0 || count == -FI_EAGAIN;
}

bool Bare::exchange(const void* out, void* in, size_t bytes, uint64_t tag) {
  const bool inject = bytes <= candidate_.capability.inject_bytes;
  const int wanted = done_ + (inject ? 1 : 2);
  while (fi_trecv(endpoint_.ep.get(), in, bytes, nullptr, peer_, tag, 0, &receiving_) == -FI_EAGAIN) {
    if (!poll()) return false;
  }
  for (;;) {
    const ssize_t sent = inject ? fi_tinject(endpoint_.ep.get(), out, bytes, peer_, tag)
                                : fi_tsend(endpoint_.ep.get(), out, bytes, nullptr, peer_, tag, &sending_);
    if (sent == 0) break;
    if (sent != -FI_EAGAIN || !poll()) return false;
  }
  while (done_ < wanted) {
    if (!poll()) return false;
  }
  return true;
}

}  // namespace bench
