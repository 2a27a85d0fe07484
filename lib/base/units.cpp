#include "base/units.hpp"

#include "base/error.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace smddp {

bool parse_integer(const char* text, int64_t& number) {
  if (!text || (*text != '-' && (*text < '0' || *text > '9'))) return false;
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text, &end, 10);
  if (errno || end == text || *end) return false;
  number = value;
  return true;
}

bool parse_bytes(const char* text, int64_t& bytes) {
  if (!text || !*text) return false;
  std::string digits = text;
  int shift = 0;
  switch (digits.back()) {
    case 'K': case 'k': shift = 10; break;
    case 'M': case 'm': shift = 20; break;
    case 'G': case 'g': shift = 30; break;
    default: break;
  }
  if (shift) digits.pop_back();
  int64_t value = 0;
  if (!parse_integer(digits.c_str(), value)) return false;
  if (value > (INT64_MAX >> shift) || value < (INT64_MIN >> shift)) return false;
  bytes = value * (int64_t{1} << shift);
  return true;
}

std::string bytes_text(uint64_t bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 6; ++unit) value /= 1024;
  return format(value == static_cast<double>(static_cast<uint64_t>(value)) ? "%.0f %s" : "%.1f %s", value, units[unit]);
}

}  // namespace smddp
