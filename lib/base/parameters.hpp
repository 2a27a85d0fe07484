// The environment variables: ONE table with name, default, range and meaning, from which smddp-info, smddp(7) and the checks at
// start are all made. Values are read when a context is made, never on the data path.
#pragma once

#include <cstdint>
#include <string>

namespace smddp {

enum class Unit : uint8_t { kCount, kBytes, kMilliseconds, kMicroseconds, kText, kChoice };

struct Parameter {
  const char* name;
  Unit unit;
  const char* default_text;  // numbers in plain decimal
  int64_t minimum, maximum;  // of numbers
  const char* choices;       // of kChoice: words separated by '|'
  bool shared;               // must have the same value on all ranks
  const char* meaning;
};

namespace parameter {
enum Id : int {
  kAddress,
  kPort,
  kFd,
  kJobId,
  kInterface,
  kNodeId,
  kTimeout,
  kThreads,
  kLog,
  kSpin,
  kYield,
  kSegment,
  kEager,
  kStream,
  kHeap,
  kP2pBuffer,
  kProgress,
  kOfiProvider,
  kOfiInterfaces,
  kOfiRails,
  kAlgorithm,
  kCalibration,
  kServers,
  kServer,
  kEnd
};
}  // namespace parameter

const Parameter& parameter_at(int id);

// Value from the environment or the default. Throws INVALID_ARGUMENT naming the variable, the value and the range. Numbers accept
// K, M, G (powers of 1024) when the unit is bytes.
int64_t parameter_number(parameter::Id id);
std::string parameter_text(parameter::Id id);
bool parameter_is_set(parameter::Id id);

// All values of shared parameters as "NAME=value\n…": ranks compare it when they meet.
std::string shared_parameters();

}  // namespace smddp
