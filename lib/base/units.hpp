// Numbers as people write them: strict parsing of integers and sizes, and sizes for messages.
#pragma once

#include <cstdint>
#include <string>

namespace smddp {

// The whole text must be a decimal integer that fits; nothing is skipped and nothing may follow.
bool parse_integer(const char* text, int64_t& number);

// As parse_integer, with an optional suffix K, M or G (powers of 1024).
bool parse_bytes(const char* text, int64_t& bytes);

// "4 B", "64 KiB", "1.5 MiB".
std::string bytes_text(uint64_t bytes);

}  // namespace smddp
