// One endpoint with its domain, address vector and completion queue, open and ready. Closed in reverse order, the endpoint first.
#pragma once

#include "transport/ofi/fabric.hpp"

#include <cstddef>

namespace smddp::transport::ofi {

struct Endpoint {
  Endpoint(const fi_info& info, size_t completions);

  // Nothing of it touches memory that it was given any more.
  void close() { ep.reset(); }

  // Instead of closing: nobody calls it again before the process ends.
  void leave_open() {
    ep.leave_open();
    cq.leave_open();
    av.leave_open();
    domain.leave_open();
    fabric.leave_open();
  }

  Fid<fid_fabric> fabric;
  Fid<fid_domain> domain;
  Fid<fid_av> av;
  Fid<fid_cq> cq;
  Fid<fid_ep> ep;
  int fd = -1;  // of the completion queue; −1: the provider has none
};

}  // namespace smddp::transport::ofi
