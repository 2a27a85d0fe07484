// One of a rank's ways to the others, and how the ways of two ranks are paired. Invariant: both ranks of a pair come to the same pairs in
// the same order, from their two addresses alone.
#pragma once

#include "transport/messages/wire.hpp"

#include <memory>
#include <string>
#include <vector>

namespace smddp::transport::rails {

constexpr size_t kMostRails = 4;

struct Rail {
  std::string name;     // for people: "eth1, 10.0.1.7"
  std::string network;  // rails of two ranks with equal text reach each other
  std::unique_ptr<Wire> wire;
};

// What a rank tells the others of itself.
struct RailAddress {
  struct Entry {
    std::string network, address;
  };
  uint32_t nonce = 0;
  std::vector<Entry> rails;

  std::string pack() const;
  // Throws TRANSPORT and names the rank if these are not the bytes of pack().
  static RailAddress unpack(const std::string& bytes, size_t rank);
};

struct Pair {
  size_t mine, theirs;  // indices of rails
};

// Rails of one network, and the first ones of both where there is no such pair: they have met over them. The first rails come first.
std::vector<Pair> pair_rails(const RailAddress& mine, const RailAddress& theirs);

}  // namespace smddp::transport::rails
