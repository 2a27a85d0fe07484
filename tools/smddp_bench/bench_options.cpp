#include "bench_options.hpp"

#include "pattern.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>

namespace smddp_bench {
namespace {

constexpr smddp_dtype_t kDtypes[] = {SMDDP_INT8, SMDDP_UINT8, SMDDP_INT16, SMDDP_UINT16, SMDDP_INT32, SMDDP_UINT32, SMDDP_INT64,
                                     SMDDP_UINT64, SMDDP_FLOAT16, SMDDP_BFLOAT16, SMDDP_FLOAT32, SMDDP_FLOAT64, SMDDP_BOOL};
constexpr smddp_op_t kOps[] = {SMDDP_SUM, SMDDP_AVG, SMDDP_PROD, SMDDP_MIN, SMDDP_MAX, SMDDP_BAND, SMDDP_BOR, SMDDP_BXOR};

constexpr std::pair<const char*, smddp_dtype_t> kDtypeAliases[] = {
    {"half", SMDDP_FLOAT16}, {"fp16", SMDDP_FLOAT16}, {"bf16", SMDDP_BFLOAT16}, {"float", SMDDP_FLOAT32}, {"fp32", SMDDP_FLOAT32},
    {"double", SMDDP_FLOAT64}, {"fp64", SMDDP_FLOAT64}, {"int", SMDDP_INT32}, {"char", SMDDP_INT8}};

constexpr const char* kFooter = R"(
COLLECTIVE is allreduce, broadcast, reduce, allgather, reduce_scatter, alltoall, gather, scatter, barrier, sendrecv or all.

Sizes take the suffixes K, M and G (powers of 1024). As in nccl-tests a size is the bytes of the larger side: of
one buffer for allreduce, broadcast, reduce and sendrecv, of all ranks' blocks for the others. It is rounded to whole
elements, at least one unless it is 0.

Columns: bytes; count (elements, as passed to the call); type; op; median and minimum time of one call in
microseconds, each the maximum over the ranks; algbw = bytes / median; busbw = algbw times the factor of nccl-tests, in
10^9 bytes a second; wrong (elements with wrong bits on all ranks, in results, unused outputs, inputs and behind buffers).

Start it under smddprun, torchrun --no-python, mpiexec or srun, or alone for one rank. Only rank 0 prints; errors come from
the rank that has them.

Exit status: 0; 1 if an element was wrong; 2 for a bad command line; 3 if a call failed.

Examples:
  smddprun -n 4 smddp-bench allreduce -b 4 -e 64M -f 4
  smddprun -n 2 smddp-bench all -d all -o all -e 64K --in-place both --json result.json)";

class Formatter : public CLI::Formatter {
  std::string make_usage(const CLI::App*, std::string) const override { return "\nUsage: smddp-bench [OPTIONS] COLLECTIVE\n"; }
};

std::string plain(std::string text) {
  text.erase(std::remove_if(text.begin(), text.end(), [](char c) { return c == '_' || c == '-'; }), text.end());
  return text;
}

void choose_collectives(const std::string& name, Options& options) {
  for (const Traits& traits : all_collectives()) {
    if (name == "all" || plain(name) == plain(traits.name)) options.collectives.push_back(traits);
  }
  if (options.collectives.empty()) throw CLI::ValidationError("'" + name + "' is not a collective");
}

void choose_dtypes(const std::string& name, Options& options) {
  for (const smddp_dtype_t dtype : kDtypes) {
    if (name == "all" || name == smddp_dtype_name(dtype)) options.dtypes.push_back(dtype);
  }
  for (const auto& [alias, dtype] : kDtypeAliases) {
    if (name == alias) options.dtypes.push_back(dtype);
  }
  if (options.dtypes.empty()) throw CLI::ValidationError("-d '" + name + "' is not a type");
}

void choose_ops(const std::string& name, Options& options) {
  for (const smddp_op_t op : kOps) {
    if (name == "all" || name == smddp_op_name(op)) options.ops.push_back(op);
  }
  if (options.ops.empty()) throw CLI::ValidationError("-o '" + name + "' is not an operation");
  const bool needed = std::any_of(options.collectives.begin(), options.collectives.end(), [](const Traits& t) { return t.reduces; });
  const bool possible = std::any_of(options.ops.begin(), options.ops.end(), [&](smddp_op_t op) {
    return std::any_of(options.dtypes.begin(), options.dtypes.end(), [&](smddp_dtype_t dtype) { return is_allowed(op, dtype); });
  });
  if (needed && !possible) throw CLI::ValidationError("-o " + name + " is not defined for -d " + smddp_dtype_name(options.dtypes[0]));
}

}  // namespace

std::optional<int> parse_options(int argc, char** argv, Options& options) {
  CLI::App app("Measures collectives and checks their results.", "smddp-bench");
  app.formatter(std::make_shared<Formatter>());
  app.footer(kFooter);
  app.set_help_flag("-h,--help", "Print this text");
  bool version = false, no_header = false;
  std::string collective, dtype = "float32", op = "sum", in_place = "0", alloc = "private";
  const auto size = CLI::AsSizeValue(false);
  const auto positive = CLI::Range(int64_t{1}, INT64_MAX).description("");
  app.add_option("collective", collective, "What to measure, or all")->type_name("");
  app.add_option("-b,--minbytes", options.minimum_bytes, "Smallest size, default 4")->type_name("BYTES")->transform(size);
  app.add_option("-e,--maxbytes", options.maximum_bytes, "Largest size, default 64M")->type_name("BYTES")->transform(size);
  auto* factor = app.add_option("-f,--stepfactor", options.factor, "From one size to the next, default 4");
  factor->type_name("F")->check(CLI::Range(uint64_t{2}, UINT64_MAX).description(""));
  app.add_option("-i,--stepbytes", options.step_bytes, "Add this instead")->type_name("BYTES")->transform(size)->excludes(factor);
  app.add_option("-n,--iters", options.iterations, "Timed calls a row; default: as many as take 0.1 s, 20 … 20000")
      ->type_name("N")->check(positive);
  app.add_option("-w,--warmup_iters", options.warmup, "Calls before them, default 5")->type_name("N")
      ->check(CLI::Range(int64_t{0}, INT64_MAX).description(""));
  app.add_option("-d,--datatype", dtype, "int8 … uint64, float16 (half), bfloat16, float32 (float, default), float64 (double), bool, all")
      ->type_name("TYPE");
  app.add_option("-o,--op", op, "sum (default), avg, prod, min, max, band, bor, bxor, all")->type_name("OP");
  app.add_option("-c,--check", options.checks, "Checked calls a row, each with new data; 0: none; default 1")->type_name("N")
      ->check(CLI::Range(0, INT32_MAX).description(""));
  app.add_option("-r,--root", options.root, "Root of rooted collectives, default 0")->type_name("RANK");
  app.add_option("--in-place", in_place, "0 (default), 1 or both")->type_name("WHICH")
      ->check(CLI::IsMember({"0", "1", "both"}).description(""));
  app.add_option("--alloc", alloc, "Buffers: private (default) or smddp (smddp_alloc)")->type_name("KIND")
      ->check(CLI::IsMember({"private", "smddp"}).description(""));
  app.add_option("--algorithm", options.algorithms, "Each size by each of these in turn, as none,ring; none, the default, is the library's choice")
      ->type_name("NAMES")->delimiter(',');
  app.add_flag("--async", options.async, "Use the asynchronous calls, and wait");
  app.add_option("--json", options.json, "Write results as JSON too; -: to standard output, instead of the table")->type_name("FILE");
  app.add_flag("--no-header", no_header, "Rows only");
  app.add_option("--timeout-ms", options.timeout_ms, "Deadline of each call; default: SMDDP_TIMEOUT_MS")->type_name("MS")->check(positive);
  app.add_flag("--version", version, "Print the version");
  try {
    app.parse(argc, argv);
    if (version) {
      std::puts("smddp-bench " SMDDP_VERSION_STRING);
      return 0;
    }
    if (collective.empty()) throw CLI::RequiredError("COLLECTIVE");
    choose_collectives(collective, options);
    choose_dtypes(dtype, options);
    choose_ops(op, options);
    if (options.minimum_bytes > options.maximum_bytes) throw CLI::ValidationError("-b is larger than -e");
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "smddp-bench: %s (smddp-bench --help)\n", error.what());
    return kUsage;
  }
  for (std::string& name : options.algorithms) {
    if (name == "none") name.clear();
  }
  if (options.algorithms.empty()) options.algorithms.emplace_back();
  options.in_place = in_place != "0";
  options.out_of_place = in_place != "1";
  options.shared_memory = alloc == "smddp";
  options.header = !no_header;
  return std::nullopt;
}

}  // namespace smddp_bench
