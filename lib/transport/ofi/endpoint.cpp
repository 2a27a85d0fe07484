#include "transport/ofi/endpoint.hpp"

#include "base/error.hpp"

namespace smddp::transport::ofi {
namespace {

// Ranks of a node share memory without the provider's help, and it may not call CUDA behind kernels that wait for it. Providers
// that know no such option refuse it.
void set_options(fid_ep& ep) {
#if FI_VERSION_GE(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), FI_VERSION(1, 18))
  bool permitted = false;
  fi_setopt(&ep.fid, FI_OPT_ENDPOINT, FI_OPT_CUDA_API_PERMITTED, &permitted, sizeof(permitted));
#endif
#if FI_VERSION_GE(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), FI_VERSION(1, 21))
  bool shared = false;
  fi_setopt(&ep.fid, FI_OPT_ENDPOINT, FI_OPT_SHARED_MEMORY_PERMITTED, &shared, sizeof(shared));
#endif
  (void)ep;
}

}  // namespace

Endpoint::Endpoint(const fi_info& info, size_t completions) {
  auto& mutable_info = const_cast<fi_info&>(info);  // libfabric's signatures; it does not write
  require(fi_fabric(info.fabric_attr, fabric.out(), nullptr), "fi_fabric", info);
  require(fi_domain(fabric.get(), &mutable_info, domain.out(), nullptr), "fi_domain", info);
  fi_av_attr av_attr{};
  av_attr.type = info.domain_attr->av_type == FI_AV_MAP ? FI_AV_MAP : FI_AV_TABLE;
  require(fi_av_open(domain.get(), &av_attr, av.out(), nullptr), "fi_av_open", info);
  fi_cq_attr cq_attr{};
  cq_attr.size = completions;
  cq_attr.format = FI_CQ_FORMAT_DATA;
  cq_attr.wait_obj = FI_WAIT_FD;
  if (fi_cq_open(domain.get(), &cq_attr, cq.out(), nullptr) == 0) {
    if (fi_control(&cq->fid, FI_GETWAIT, &fd) != 0) fd = -1;
  } else {
    *cq.out() = nullptr;
  }
  if (fd < 0) {
    cq.reset();
    cq_attr.wait_obj = FI_WAIT_NONE;
    require(fi_cq_open(domain.get(), &cq_attr, cq.out(), nullptr), "fi_cq_open", info);
  }
  require(fi_endpoint(domain.get(), &mutable_info, ep.out(), nullptr), "fi_endpoint", info);
  require(fi_ep_bind(ep.get(), &av->fid, 0), "fi_ep_bind to the address vector", info);
  require(fi_ep_bind(ep.get(), &cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind to the completion queue", info);
  set_options(*ep.get());
  require(fi_enable(ep.get()), "fi_enable", info);
}

}  // namespace smddp::transport::ofi
