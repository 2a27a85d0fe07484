#include "transport/ofi/probe.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/parameters.hpp"
#include "transport/ofi/provider.hpp"

#include <algorithm>
#include <memory>

namespace smddp::transport::ofi {
namespace {

constexpr int64_t kMostNs = 500000000;
constexpr int kRounds = 15;

// Median time of an exchange between the two, µs. Throws when the deadline passes.
double exchange_us(Transport& one, Transport& two, size_t bytes, int64_t deadline, uint64_t& id) {
  std::vector<char> out(bytes), in(bytes), back(bytes);
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round, ++id) {
    const int64_t start = now_ns();
    Event events[4];
    bool taken = one.receive(1, id, back.data(), bytes, &events[0]) && two.receive(0, id, in.data(), bytes, &events[1]) &&
                 one.send(1, id, out.data(), bytes, &events[2]) && two.send(0, id, out.data(), bytes, &events[3]);
    while (taken && !std::all_of(events, events + 4, [](const Event& event) { return event.done(); })) {
      one.progress();
      two.progress();
      if (now_ns() > deadline) taken = false;
    }
    if (!taken) {
      for (Transport* transport : {&one, &two}) transport->fail_peer(transport == &one ? 1 : 0, "the measurement took too long");
      while (!std::all_of(events, events + 4, [](const Event& event) { return event.done(); })) {
        if (!one.progress() && !two.progress() && !one.failure().empty() && !two.failure().empty()) break;
      }
      throw Error(SMDDP_ERR_TRANSPORT, format("an exchange of %zu bytes between two endpoints here did not end in time", bytes));
    }
    times.push_back(static_cast<double>(now_ns() - start) * 1e-3);
  }
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2];
}

void measure_one(Measured& measured, Options options) {
  options.provider = measured.provider;
  options.messages.size = 2;
  try {
    const std::unique_ptr<Transport> one = make(options), two = make(options);
    const std::vector<std::string> addresses{one->address(), two->address()};
    one->connect(addresses, 0);
    two->connect(addresses, 1);
    uint64_t id = 0;
    const int64_t deadline = now_ns() + kMostNs;
    measured.small_us = exchange_us(*one, *two, 4, deadline, id);
    measured.middle_us = exchange_us(*one, *two, 65536, deadline, id);
    for (int i = 0; i < 20; ++i) {  // some descriptors lie only once there is a connection
      if (!one->progress()) one->arm();
      two->progress();
    }
    measured.path = one->capabilities().path;
    measured.wait_descriptor = one->capabilities().wait_descriptor;
  } catch (const Error& error) {
    measured.reason = error.what();
  }
}

}  // namespace

std::vector<Measured> measure(const Options& options) {
  const std::string provider = options.provider.empty() ? parameter_text(parameter::kOfiProvider) : options.provider;
  std::vector<Measured> all;
  int best = -1;
  for (const Candidate& candidate : candidates(provider, options.source_address)) {
    const std::string& name = candidate.capability.provider;
    if (std::any_of(all.begin(), all.end(), [&](const Measured& one) { return one.provider == name; })) continue;
    Measured measured;
    measured.provider = name;
    measured.reason = candidate.plan.reason;
    if (candidate.plan.usable) {
      best = std::max(best, candidate.plan.tier);
      if (candidate.plan.tier == best) measure_one(measured, options);
      else measured.reason = "a provider with a better way for large messages is there";
    }
    all.push_back(measured);
  }
  std::stable_sort(all.begin(), all.end(), [](const Measured& a, const Measured& b) {
    if (a.reason.empty() != b.reason.empty()) return a.reason.empty();
    return a.small_us + a.middle_us < b.small_us + b.middle_us;
  });
  return all;
}

}  // namespace smddp::transport::ofi
