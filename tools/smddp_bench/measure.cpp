#include "measure.hpp"

#include "rank_error.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

namespace smddp_bench {
namespace {

constexpr double kTargetUs = 1e5;  // of a row where the number of iterations is free
constexpr double kBatchUs = 20;    // hides the clock, some tens of nanoseconds
constexpr int64_t kFewestBatches = 16;

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void run_many(const Call& call, int64_t times) {
  for (int64_t i = 0; i < times; ++i) {
    const smddp_status_t status = run(call);
    if (status != SMDDP_SUCCESS) require(status, "timed call");
  }
}

// Time of a call, roughly: the fastest of the warm-up, which has paid for pages and connections by then.
double warm_up(const Call& call, int64_t warmup) {
  double fastest = 1e12;
  for (int64_t i = 0; i < warmup; ++i) {
    const double begin = now_us();
    run_many(call, 1);
    fastest = std::min(fastest, now_us() - begin);
  }
  return std::max(fastest, 0.05);
}

}  // namespace

double maximum_over_ranks(double value, smddp_comm_t comm) {
  double result = value;
  require(smddp_allreduce(&value, &result, 1, SMDDP_FLOAT64, SMDDP_MAX, comm, nullptr), "smddp_allreduce of times");
  return result;
}

int64_t sum_over_ranks(int64_t value, smddp_comm_t comm) {
  int64_t result = value;
  require(smddp_allreduce(&value, &result, 1, SMDDP_INT64, SMDDP_SUM, comm, nullptr), "smddp_allreduce of counters");
  return result;
}

Timing measure(const Call& call, int64_t warmup, int64_t iterations) {
  Timing timing;
  const double estimate_us = maximum_over_ranks(warm_up(call, iterations == 0 ? std::max<int64_t>(warmup, 2) : warmup), call.comm);
  if (iterations == 0) iterations = std::clamp<int64_t>(static_cast<int64_t>(kTargetUs / estimate_us), 20, 20000);
  timing.iterations = iterations;
  timing.batch = std::clamp<int64_t>(static_cast<int64_t>(kBatchUs / estimate_us), 1, std::max<int64_t>(1, iterations / kFewestBatches));

  std::vector<double> batches;
  batches.reserve(static_cast<size_t>(iterations / timing.batch + 1));
  require(smddp_barrier(call.comm, nullptr), "smddp_barrier");
  for (int64_t done = 0; done < iterations;) {
    const int64_t length = std::min(timing.batch, iterations - done);
    const double begin = now_us();
    run_many(call, length);
    batches.push_back((now_us() - begin) / static_cast<double>(length));
    done += length;
  }
  const auto middle = batches.begin() + static_cast<std::ptrdiff_t>(batches.size() / 2);
  std::nth_element(batches.begin(), middle, batches.end());
  timing.median_us = maximum_over_ranks(*middle, call.comm);
  timing.minimum_us = maximum_over_ranks(*std::min_element(batches.begin(), batches.end()), call.comm);
  return timing;
}

}  // namespace smddp_bench
