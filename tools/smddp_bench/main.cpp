// smddp-bench: times of collectives over sizes, types and operations, with results checked element by element.
// Invariant: all ranks go through the same rows in the same order; what decides about them comes from the command line or from all.
#include "arrangement.hpp"
#include "bench_options.hpp"
#include "buffers.hpp"
#include "measure.hpp"
#include "rank_error.hpp"
#include "report.hpp"
#include "sizes.hpp"

#include <algorithm>
#include <cstdio>

namespace smddp_bench {
namespace {

class Bench {
 public:
  Bench(const Options& options, smddp_comm_t comm, int rank, int size, Report& report)
      : options_(options), comm_(comm), rank_(rank), size_(size), report_(report), send_(comm, capacity(), options.shared_memory),
        recv_(comm, capacity(), options.shared_memory) {}

  int64_t run_all();

 private:
  size_t capacity() const {
    const uint64_t one_element = 8 * static_cast<uint64_t>(size_);
    return std::max(options_.maximum_bytes, one_element);
  }
  void run_section(const Traits& traits, bool in_place);
  void run_sizes(const Traits& traits, bool in_place, smddp_dtype_t dtype, smddp_op_t op);
  void run_algorithms(Row row);
  void run_row(Row row);
  int64_t check_once(Arrangement& arrangement, const Call& call);

  const Options& options_;
  smddp_comm_t comm_;
  int rank_, size_;
  Report& report_;
  Buffer send_, recv_;
  uint64_t repetition_ = 0;
  int64_t wrong_ = 0;
};

int64_t Bench::run_all() {
  for (const Traits& traits : options_.collectives) {
    if (options_.out_of_place || !traits.has_in_place) run_section(traits, false);
    if (options_.in_place && traits.has_in_place) run_section(traits, true);
  }
  return wrong_;
}

void Bench::run_section(const Traits& traits, bool in_place) {
  report_.begin_section(traits, in_place);
  if (traits.collective == Collective::kBarrier) return run_algorithms({traits, false, 0, 0, SMDDP_INT8, SMDDP_SUM, size_, nullptr, {}, 0});
  for (const smddp_dtype_t dtype : options_.dtypes) {
    if (!traits.reduces) {
      run_sizes(traits, in_place, dtype, SMDDP_SUM);
      continue;
    }
    for (const smddp_op_t op : options_.ops) {
      if (is_allowed(op, dtype)) run_sizes(traits, in_place, dtype, op);
    }
  }
}

void Bench::run_sizes(const Traits& traits, bool in_place, smddp_dtype_t dtype, smddp_op_t op) {
  size_t element_bytes = 1;
  require(smddp_dtype_size(dtype, &element_bytes), "smddp_dtype_size");
  const uint64_t unit_bytes = element_bytes * static_cast<uint64_t>(traits.larger_side_is_all ? size_ : 1);
  const Sweep sweep{options_.minimum_bytes, options_.maximum_bytes, options_.factor, options_.step_bytes};
  for (const size_t count : counts_of(sweep, unit_bytes)) {
    run_algorithms({traits, in_place, count * unit_bytes, count, dtype, op, size_, nullptr, {}, 0});
  }
}

void Bench::run_algorithms(Row row) {
  for (const std::string& name : options_.algorithms) {
    row.algorithm = name.empty() ? nullptr : name.c_str();
    run_row(row);
  }
}

int64_t Bench::check_once(Arrangement& arrangement, const Call& call) {
  arrangement.prepare(++repetition_);
  require(run(call), "checked call");
  return arrangement.count_wrong();
}

void Bench::run_row(Row row) {
  const Call shape{row.traits.collective, nullptr, nullptr, row.count, row.dtype, row.op, options_.root, comm_, rank_, size_, options_.async, row.algorithm};
  Arrangement arrangement(shape, row.traits.reduces, row.in_place, send_.data(), recv_.data());
  const Call& call = arrangement.call();
  int64_t wrong = 0;
  for (int i = 0; i < options_.checks; ++i) wrong += check_once(arrangement, call);
  if (options_.checks == 0) arrangement.prepare(++repetition_);
  if (!row.in_place) arrangement.poison_results();
  row.timing = measure(call, options_.warmup, options_.iterations);
  if (options_.checks > 0) {
    // Many calls later the state must still be sound. In place their inputs were results, so that new data is needed.
    wrong += row.in_place ? check_once(arrangement, call) : arrangement.count_wrong();
    wrong = sum_over_ranks(wrong, comm_);
    wrong_ += wrong;
  }
  row.wrong = options_.checks > 0 ? wrong : -1;
  report_.add(row);
}

int run_bench(const Options& options) {
  smddp_init_options_t init = SMDDP_INIT_STRUCT(init);
  init.timeout_ms = options.timeout_ms;
  smddp_comm_t world = nullptr;
  require(smddp_init(&init, &world), "smddp_init");
  int rank = 0, size = 1;
  const char* transport = "self";
  require(smddp_comm_rank(world, &rank), "smddp_comm_rank");
  require(smddp_comm_size(world, &size), "smddp_comm_size");
  require(smddp_comm_transport(world, (rank + 1) % size, &transport), "smddp_comm_transport");
  set_rank_for_messages(rank);
  const bool rooted = std::any_of(options.collectives.begin(), options.collectives.end(), [](const Traits& t) { return t.rooted; });
  if (rooted && (options.root < 0 || options.root >= size)) {
    if (rank == 0) std::fprintf(stderr, "smddp-bench: --root %d is not a rank of 0 … %d\n", options.root, size - 1);
    smddp_finalize(world);
    return kUsage;
  }
  int64_t wrong = 0;
  bool written = true;
  {
    Report report(options, rank == 0, size, transport);
    wrong = Bench(options, world, rank, size, report).run_all();
    written = report.finish(wrong, world);
  }
  require(smddp_barrier(world, nullptr), "smddp_barrier");
  require(smddp_finalize(world), "smddp_finalize");
  return wrong > 0 ? kWrong : written ? 0 : kCallFailed;
}

}  // namespace
}  // namespace smddp_bench

int main(int argc, char** argv) {
  using namespace smddp_bench;
  Options options;
  if (const auto status = parse_options(argc, argv, options)) return *status;
  return run_bench(options);
}
