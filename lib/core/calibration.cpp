#include "core/calibration.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/parameters.hpp"
#include "reduce/reduce.hpp"
#include "transport/measure.hpp"

#include <algorithm>

namespace smddp::core {
namespace {

constexpr uint64_t kFirstId = uint64_t{0xffff} << 48;  // of the last number that a communicator can have
constexpr int64_t kPatienceMs = 3000;
constexpr double kLeastShare = 0.6;  // of a processor; two threads on one would get a half
constexpr double kBusyOverheadUs = 40;  // of a message, where its rank has to be given a processor first

// Bytes that a reduction reads in a microsecond: the best of a few.
double added_per_us() {
  constexpr size_t kCount = 262144;  // more than the caches next to a core hold
  std::vector<float> a(kCount, 1.0f), b(kCount, 2.0f), sum(kCount);
  const void* sources[] = {a.data(), b.data()};
  reduce::Arguments arguments;
  arguments.destinations[0] = sum.data();
  arguments.sources = sources;
  arguments.source_count = 2;
  arguments.count = kCount;
  int64_t best = INT64_MAX;
  for (int i = 0; i < 4; ++i) {
    const int64_t start = now_ns();
    reduce::kernel(SMDDP_FLOAT32, SMDDP_SUM)(arguments);
    best = std::min(best, std::max<int64_t>(1, now_ns() - start));
  }
  return 2.0 * kCount * sizeof(float) / (static_cast<double>(best) * 1e-3);
}

}  // namespace

std::optional<Calibration> given_calibration() {
  const std::string text = parameter_text(parameter::kCalibration);
  if (text == "on") return std::nullopt;
  if (text == "off") return Calibration{{}, "assumed"};
  try {
    return Calibration{coll::parse_network(text), "given by SMDDP_CALIBRATION"};
  } catch (const Error& error) {
    throw Error(error.code(), std::string("SMDDP_CALIBRATION, which may also be on or off: ") + error.what());
  }
}

Calibration calibrate(const bootstrap::Meeting& meeting, int rank, const std::vector<int>& nodes, transport::Transport& transport,
                      int64_t deadline) {
  if (const std::optional<Calibration> given = given_calibration()) return *given;
  const auto partner = static_cast<int>(std::find_if(nodes.begin(), nodes.end(), [&](int node) { return node != nodes[0]; }) - nodes.begin());
  std::string own;
  if (rank == 0 || rank == partner) {
    transport::LinkFigures link;
    const bool answered = transport::measure_link(transport, rank == 0 ? partner : 0, rank == 0, kFirstId,
                                                  std::min(deadline, deadline_after_ms(kPatienceMs)), link);
    coll::Network network;
    network.latency_us = link.latency_us;
    network.overhead_us = link.overhead_us;
    network.bytes_per_us = link.bytes_per_us;
    network.overlap = transport.capabilities().path == "write" ? 1 : 0;
    if (rank == 0) network.added_per_us = added_per_us();
    const bool measured = answered && link.share >= kLeastShare;
    if (rank == 0 && measured) own = coll::text_of(coll::limited(network));
    if (rank == 0 && !measured) log(Level::kInfo, 0, "the network was not measured: rank %d %s", partner, answered ? "or rank 0 had too little of a processor" : "did not answer in time");
  }
  const std::vector<std::string> all = bootstrap::gather_texts(meeting, rank, own, deadline);
  if (all[0].empty()) {
    coll::Network busy;
    busy.overhead_us = kBusyOverheadUs;
    return {busy, format("assumed, as rank 0 and rank %d could not measure undisturbed", partner)};
  }
  return {coll::parse_network(all[0]), format("measured between rank 0 and rank %d", partner)};
}

}  // namespace smddp::core
