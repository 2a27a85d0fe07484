// The bare libfabric loop: one tagged message each way into a posted receive, nothing else. What a transport is measured against.
#pragma once

#include "transport/ofi/endpoint.hpp"
#include "transport/ofi/provider.hpp"

#include <cstddef>
#include <string>

namespace bench {

class Bare {
 public:
  explicit Bare(smddp::transport::ofi::Candidate candidate);

  std::string address() const;
  void connect(const std::string& other);
  // Sends and receives so many bytes; false if libfabric reports an error.
  bool exchange(const void* out, void* in, size_t bytes, uint64_t tag);

 private:
  bool poll();

  smddp::transport::ofi::Candidate candidate_;
  smddp::transport::ofi::Endpoint endpoint_;
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  fi_context2 sending_, receiving_;
  int done_ = 0;
};

}  // namespace bench
