#include "transport/ofi/provider.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <cstring>

namespace smddp::transport::ofi {
namespace {

constexpr uint32_t kApi = FI_VERSION(1, 17);

Info hints_for(uint64_t caps, const std::string& provider) {
  Info hints(fi_allocinfo());
  if (!hints) throw Error(SMDDP_ERR_RESOURCE, "fi_allocinfo: no memory");
  hints->caps = caps;
  hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR | FI_MR_ENDPOINT;
  if (!provider.empty()) hints->fabric_attr->prov_name = strdup(provider.c_str());
  return hints;
}

bool is_socket_address(const fi_info& info) {
  return info.addr_format == FI_SOCKADDR || info.addr_format == FI_SOCKADDR_IN || info.addr_format == FI_SOCKADDR_IN6;
}

bool is_loopback_domain(const fi_info& info) { return info.domain_attr->name && std::strcmp(info.domain_attr->name, "lo") == 0; }

bool same_place(const Capability& a, const Capability& b) {
  return a.provider == b.provider && a.fabric == b.fabric && a.domain == b.domain;
}

// What no capability tells: providers that only wrap others, and one that its own manual calls superseded.
bool is_left_out(const std::string& provider) {
  return provider.find("ofi_hook") != std::string::npos || provider.find("ofi_mrail") != std::string::npos || provider == "sockets";
}

}  // namespace

void require(int result, const char* call, const fi_info& info) {
  if (result >= 0) return;
  throw Error(SMDDP_ERR_TRANSPORT, format("%s: %s (%d), provider %s, domain %s", call, fi_strerror(-result), result,
                                          info.fabric_attr->prov_name, info.domain_attr->name));
}

Capability capability_of(const fi_info& info) {
  Capability c;
  c.provider = info.fabric_attr->prov_name ? info.fabric_attr->prov_name : "";
  c.fabric = info.fabric_attr->name ? info.fabric_attr->name : "";
  c.domain = info.domain_attr->name ? info.domain_attr->name : "";
  // The provider shm says nothing of its reach, except by its name.
  const uint64_t reach = info.caps | info.domain_attr->caps;
  c.reaches_others = ((reach & FI_REMOTE_COMM) || !(reach & FI_LOCAL_COMM)) && c.provider.find("shm") == std::string::npos;
  c.card = info.nic != nullptr && !is_socket_address(info);
  c.closing_stops_writes = c.card;
  c.messages = (info.caps & FI_MSG) != 0;
  c.tagged = (info.caps & FI_TAGGED) != 0;
  c.rma = (info.caps & FI_RMA) && (info.caps & FI_WRITE) && (info.caps & FI_REMOTE_WRITE);
  c.max_message_bytes = info.ep_attr->max_msg_size;
  c.max_rma_bytes = std::min<size_t>(info.ep_attr->max_msg_size, size_t{1} << 30);
  c.inject_bytes = info.tx_attr->inject_size;
  c.immediate_bytes = info.domain_attr->cq_data_size;
  c.registers_local = (info.domain_attr->mr_mode & FI_MR_LOCAL) != 0;
  c.registers_remote = (info.domain_attr->mr_mode & (FI_MR_PROV_KEY | FI_MR_ALLOCATED)) != 0;
  c.virtual_addresses = (info.domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
  c.layered = c.provider.find(';') != std::string::npos;
  c.manual_progress = info.domain_attr->data_progress != FI_PROGRESS_AUTO;
  return c;
}

std::vector<Candidate> candidates(const std::string& provider, const std::string& source_address) {
  load_library();
  std::vector<Candidate> found;
  for (const uint64_t caps : {FI_MSG | FI_TAGGED | FI_RMA, FI_MSG | FI_RMA, FI_MSG | FI_TAGGED, FI_MSG | uint64_t{0}}) {
    for (const bool bound : {true, false}) {
      if (bound == source_address.empty()) continue;
      const Info hints = hints_for(caps, provider);
      fi_info* list = nullptr;
      const int result = bound ? fi_getinfo(kApi, source_address.c_str(), nullptr, FI_SOURCE | FI_NUMERICHOST, hints.get(), &list)
                               : fi_getinfo(kApi, nullptr, nullptr, 0, hints.get(), &list);
      if (result == -FI_ENODATA) continue;
      if (result < 0) throw Error(SMDDP_ERR_TRANSPORT, format("fi_getinfo: %s (%d), provider '%s'", fi_strerror(-result), result, provider.c_str()));
      const Info owner(list);
      for (const fi_info* info = list; info; info = info->next) {
        if (is_loopback_domain(*info) && !bound) continue;
        Candidate candidate;
        candidate.capability = capability_of(*info);
        if (is_left_out(candidate.capability.provider)) continue;
        const bool known = std::any_of(found.begin(), found.end(),
                                       [&](const Candidate& other) { return same_place(other.capability, candidate.capability); });
        if (known) continue;
        candidate.info.reset(fi_dupinfo(info));
        candidate.plan = plan_for(candidate.capability);
        found.push_back(std::move(candidate));
      }
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
    if (a.plan.usable != b.plan.usable) return a.plan.usable;
    return a.plan.tier != b.plan.tier ? a.plan.tier > b.plan.tier : a.capability.layered < b.capability.layered;
  });
  return found;
}

}  // namespace smddp::transport::ofi
