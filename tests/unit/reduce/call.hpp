// Calls a kernel on vectors of values.
#pragma once

#include "reduce/reduce.hpp"

#include <vector>

namespace unit::reduce {

// The reduction of the sources, all of one length. divisor 0: the number of sources.
template <class T>
std::vector<T> call(smddp_dtype_t dtype, smddp_op_t op, const std::vector<std::vector<T>>& sources, int divisor = 0) {
  std::vector<const void*> pointers;
  for (const auto& source : sources) pointers.push_back(source.data());
  std::vector<T> result(sources[0].size());
  smddp::reduce::Arguments arguments;
  arguments.destinations[0] = result.data();
  arguments.sources = pointers.data();
  arguments.source_count = static_cast<int>(sources.size());
  arguments.count = result.size();
  arguments.divisor = divisor ? divisor : arguments.source_count;
  smddp::reduce::kernel(dtype, op)(arguments);
  return result;
}

}  // namespace unit::reduce
