#include "transport/rails/rail.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace smddp::transport::rails {
namespace {

void put_number(std::string& bytes, uint32_t number) { bytes.append(reinterpret_cast<const char*>(&number), sizeof(number)); }

// Takes numbers and texts off the front.
class Reader {
 public:
  Reader(const std::string& bytes, size_t rank) : bytes_(bytes), rank_(rank) {}

  uint32_t number() {
    uint32_t number;
    std::memcpy(&number, take(sizeof(number)), sizeof(number));
    return number;
  }
  std::string text() {
    const uint32_t length = number();
    return std::string(take(length), length);
  }
  [[noreturn]] void refuse() const {
    throw Error(SMDDP_ERR_TRANSPORT, format("the address of rank %zu, %zu bytes, is not one of rails", rank_, bytes_.size()));
  }
  bool complete() const { return at_ == bytes_.size(); }

 private:
  const char* take(size_t length) {
    if (length > bytes_.size() - at_) refuse();
    return bytes_.data() + std::exchange(at_, at_ + length);
  }

  const std::string& bytes_;
  size_t rank_, at_ = 0;
};

}  // namespace

std::string RailAddress::pack() const {
  std::string bytes;
  put_number(bytes, nonce);
  put_number(bytes, static_cast<uint32_t>(rails.size()));
  for (const Entry& rail : rails) {
    for (const std::string* text : {&rail.network, &rail.address}) {
      put_number(bytes, static_cast<uint32_t>(text->size()));
      bytes += *text;
    }
  }
  return bytes;
}

RailAddress RailAddress::unpack(const std::string& bytes, size_t rank) {
  Reader reader(bytes, rank);
  RailAddress address;
  address.nonce = reader.number();
  const uint32_t count = reader.number();
  if (count < 1 || count > kMostRails) reader.refuse();
  for (uint32_t i = 0; i < count; ++i) {
    const std::string network = reader.text();
    address.rails.push_back({network, reader.text()});
  }
  if (!reader.complete()) reader.refuse();
  return address;
}

std::vector<Pair> pair_rails(const RailAddress& mine, const RailAddress& theirs) {
  std::vector<Pair> pairs;
  for (size_t i = 0; i < mine.rails.size(); ++i) {
    for (size_t k = 0; k < theirs.rails.size(); ++k) {
      if (mine.rails[i].network == theirs.rails[k].network) pairs.push_back({i, k});
    }
  }
  if (pairs.empty()) pairs.push_back({0, 0});
  const auto network = [&](const Pair& pair) -> const std::string& { return mine.rails[pair.mine].network; };
  std::sort(pairs.begin(), pairs.end(), [&](const Pair& a, const Pair& b) {
    const size_t sum_a = a.mine + a.theirs, sum_b = b.mine + b.theirs;
    return sum_a != sum_b ? sum_a < sum_b : network(a) < network(b);
  });
  return pairs;
}

}  // namespace smddp::transport::rails
