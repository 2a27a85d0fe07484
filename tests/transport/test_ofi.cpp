// The suite over libfabric on this machine's loopback interface: test_ofi PROVIDER [write|tagged|packets|rails]; rails: two of its addresses.
#include "transport/conformance.hpp"
#include "transport/ofi/ofi.hpp"
#include "transport/ofi/provider.hpp"

#include <cstdio>
#include <cstring>

namespace ofi = smddp::transport::ofi;

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s PROVIDER [write|tagged|packets|rails]\n", argv[0]);
    return 2;
  }
  const std::string provider = argv[1];
  const bool over_rails = argc > 2 && std::strcmp(argv[2], "rails") == 0;
  std::optional<ofi::Bulk> bulk;
  for (const ofi::Bulk one : {ofi::Bulk::kPackets, ofi::Bulk::kTagged, ofi::Bulk::kWrite}) {
    if (argc > 2 && std::strcmp(argv[2], ofi::bulk_name(one)) == 0) bulk = one;
  }
  if (ofi::candidates(provider, "127.0.0.1").empty()) {
    std::printf("SKIP: libfabric has no provider %s here\n", provider.c_str());
    return 77;
  }
  test::Network network;
  network.name = provider + (argc > 2 ? std::string(" by ") + argv[2] : "");
  network.make = [=](int, int size) {
    ofi::Options options;
    options.provider = provider;
    options.source_address = "127.0.0.1";
    options.bulk = bulk;
    if (over_rails) options.rails = {{"lo", "one", "127.0.0.1"}, {"lo", "two", "127.0.0.2"}};
    options.messages.size = size;
    return ofi::make(options);
  };
  // Peers that are stopped keep what a provider over TCP has begun to send.
  network.may_close = true;
  if (provider.find("udp") != std::string::npos) {  // slow
    network.most_bytes = 32768;
    network.flood = 3000;
    network.rounds = 60;
    network.ranks = 3;
  }
  return test::run_suite(network);
}
