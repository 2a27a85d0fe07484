// The command line of smddp-bench; flags that nccl-tests have mean the same here.
#pragma once

#include "collective.hpp"

#include <smddp/smddp.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace smddp_bench {

enum ExitStatus { kWrong = 1, kUsage = 2, kCallFailed = 3 };

struct Options {
  std::vector<Traits> collectives;
  uint64_t minimum_bytes = 4;
  uint64_t maximum_bytes = 64 << 20;
  uint64_t factor = 4;
  uint64_t step_bytes = 0;  // 0: factor counts
  int64_t iterations = 0;   // 0: chosen by the time that one takes
  int64_t warmup = 5;
  std::vector<smddp_dtype_t> dtypes;
  std::vector<smddp_op_t> ops;
  int checks = 1;
  int root = 0;
  bool out_of_place = true;
  bool in_place = false;
  bool shared_memory = false;  // buffers from smddp_alloc
  bool async = false;
  bool header = true;
  std::vector<std::string> algorithms;  // each row by each of them in turn; "": none is named
  std::string json;
  int64_t timeout_ms = 0;
};

// Returns the exit status where nothing is to be measured.
std::optional<int> parse_options(int argc, char** argv, Options& options);

}  // namespace smddp_bench
