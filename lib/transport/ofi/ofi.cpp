#include "transport/ofi/ofi.hpp"

#include "base/error.hpp"
#include "base/parameters.hpp"
#include "transport/ofi/wire.hpp"
#include "transport/rails/rail_wire.hpp"

#include <algorithm>

namespace smddp::transport::ofi {
namespace {

std::string passed_over(const std::vector<Candidate>& all) {
  std::string text;
  for (const Candidate& one : all) text += format("%s%s: %s", text.empty() ? "" : "; ", one.capability.provider.c_str(), one.plan.reason.c_str());
  return text.empty() ? "libfabric offers none" : text;
}

Candidate choose(const Options& options) {
  const std::string provider = options.provider.empty() ? parameter_text(parameter::kOfiProvider) : options.provider;
  std::vector<Candidate> all = candidates(provider, options.source_address);
  if (all.empty() || !all.front().plan.usable) {
    throw Error(SMDDP_ERR_TRANSPORT, format("no provider serves (provider '%s', address '%s'): %s", provider.c_str(),
                                            options.source_address.c_str(), passed_over(all).c_str()));
  }
  Candidate& chosen = all.front();
  if (options.bulk) {
    if (!supports(chosen.capability, *options.bulk)) {
      throw Error(SMDDP_ERR_UNSUPPORTED, format("provider %s does not move large messages by %s", chosen.capability.provider.c_str(), bulk_name(*options.bulk)));
    }
    chosen.plan.bulk = *options.bulk;
    chosen.plan.put_bytes = put_bytes_of(chosen.capability, *options.bulk);
  }
  if (options.packet_bytes) chosen.plan.packet_bytes = std::min(options.packet_bytes, chosen.capability.max_message_bytes);
  return std::move(chosen);
}

std::unique_ptr<Wire> open_rails(Options options) {
  std::vector<rails::Rail> all;
  options.bulk = Bulk::kPackets;
  for (const RailOptions& rail : options.rails) {
    options.source_address = rail.source_address;
    Candidate candidate = choose(options);
    options.provider = candidate.capability.provider;
    all.push_back({format("%s (%s)", rail.name.c_str(), rail.source_address.c_str()), rail.network, std::make_unique<OfiWire>(std::move(candidate))});
  }
  return std::make_unique<rails::RailWire>(std::move(all));
}

}  // namespace

std::unique_ptr<Transport> make(const Options& options) {
  std::unique_ptr<Wire> wire = options.rails.empty() ? std::unique_ptr<Wire>(std::make_unique<OfiWire>(choose(options))) : open_rails(options);
  return std::make_unique<MessageTransport>(std::move(wire), options.messages);
}

}  // namespace smddp::transport::ofi
