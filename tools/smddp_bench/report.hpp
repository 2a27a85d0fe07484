// What rank 0 writes: the table as it grows, and JSON at the end.
#pragma once

#include "bench_options.hpp"
#include "measure.hpp"

#include <nlohmann/json.hpp>

namespace smddp_bench {

struct Row {
  Traits traits;
  bool in_place;
  uint64_t bytes;
  size_t count;
  smddp_dtype_t dtype;
  smddp_op_t op;
  int size;
  const char* algorithm;  // NULL: none was named
  Timing timing;
  int64_t wrong;  // −1: not checked
};

class Report {
 public:
  // active: on rank 0 alone; elsewhere nothing is written.
  Report(const Options& options, bool active, int size, const char* transport);

  void begin_section(const Traits& traits, bool in_place);
  void add(const Row& row);

  // Ends the table and writes the JSON, with the job and the counters of this rank. Returns false if that failed, with a sentence on standard error.
  bool finish(int64_t wrong, smddp_comm_t world);

 private:
  const Options& options_;
  bool active_;
  bool table_;
  nlohmann::ordered_json json_;
  double busbw_sum_ = 0;
  int64_t busbw_rows_ = 0;
};

}  // namespace smddp_bench
