// Connections between ranks beside those of the meeting: every pair gets its own, strangers get none, and a rank that fails meanwhile is
// an error on all.
#include "bootstrap/bytes.hpp"
#include "bootstrap/frame.hpp"
#include "unit/bootstrap/ranks.hpp"

#include <poll.h>

#include <array>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
extern "C" {
#include <cmocka.h>
}

using namespace smddp;
using namespace smddp::bootstrap;
using namespace smddp::bootstrap::test;

namespace {

// All ranks that are at a distance of at most `reach` around a circle.
std::vector<int> peers_of(int rank, int size, int reach) {
  std::vector<int> peers;
  for (int r = 0; r < size; ++r) {
    const int distance = (r - rank + size) % size;
    if (distance != 0 && (distance <= reach || size - distance <= reach)) peers.push_back(r);
  }
  return peers;
}

std::string say(int fd, int value) {
  const auto byte = static_cast<char>(value);
  return ::send(fd, &byte, 1, MSG_NOSIGNAL) == 1 ? "" : "cannot send";
}

std::string hear(int fd, int value) {
  char byte = 0;
  if (!wait_for(fd, POLLIN, deadline_after_ms(10000)) || ::recv(fd, &byte, 1, 0) != 1) return "nothing came";
  return byte == static_cast<char>(value) ? "" : format("%d came, not %d", byte, value);
}

// Meets and connects; "" or what is wrong. Afterwards each says its rank to all peers.
std::string connect(Rank self, int reach) {
  const int rank = self.placement.rank, size = self.placement.size;
  Outcome outcome = attend(std::move(self));
  if (const std::string wrong = check_meeting(outcome, size); !wrong.empty()) return wrong;
  try {
    const std::vector<int> peers = peers_of(rank, size, reach);
    const std::vector<UniqueFd> connections = connect_peers(outcome.meeting, rank, peers, "127.0.0.1", deadline_after_ms(30000));
    if (connections.size() != peers.size()) return "another number of connections";
    for (const UniqueFd& fd : connections) {
      if (const std::string wrong = say(fd.get(), rank); !wrong.empty()) return wrong;
    }
    for (size_t i = 0; i < peers.size(); ++i) {
      if (const std::string wrong = hear(connections[i].get(), peers[i]); !wrong.empty()) return format("rank %d from %d: %s", rank, peers[i], wrong.c_str());
    }
  } catch (const Error& error) {
    tell_failure(outcome.meeting, error.what());
    return error.what();
  }
  return "";
}

std::future<std::string> start_connecting(int rank, int size, int port, int reach) {
  return std::async(std::launch::async, [=] { return connect(Rank(rank, size, port), reach); });
}

void every_pair_has_its_own(void**) {
  for (const int size : {2, 3, 8, 24}) {
    for (const int reach : {1, 3}) {
      const int port = free_port();
      std::vector<std::future<std::string>> ranks;
      for (int r = 0; r < size; ++r) ranks.push_back(start_connecting(r, size, port, reach));
      for (auto& rank : ranks) assert_nothing(rank.get());
    }
  }
}

std::string peer_frame(const std::array<uint8_t, 16>& nonce, int from, int to) {
  ByteWriter writer;
  writer.raw(nonce.data(), nonce.size());
  writer.number(static_cast<int32_t>(from));
  writer.number(static_cast<int32_t>(to));
  return frame(Kind::kPeer, writer.take());
}

// Rank 2 does by hand what connect_peers does, after strangers of every kind have come to the others.
std::string among_strangers(int port) {
  Outcome outcome = attend(Rank(2, 3, port));
  if (const std::string wrong = check_meeting(outcome, 3); !wrong.empty()) return wrong;
  const std::vector<std::string> places = gather_texts(outcome.meeting, 2, "1 127.0.0.1", deadline_after_ms(30000));
  auto other = outcome.meeting.nonce;
  other[3] ^= 1;
  std::vector<UniqueFd> open, right;
  for (int to = 0; to < 2; ++to) {
    const Address address = loopback(std::atoi(places[static_cast<size_t>(to)].c_str()));
    const std::string good = peer_frame(outcome.meeting.nonce, 2, to);
    const std::string wrong[] = {"GET / HTTP/1.1\r\n\r\n", "", peer_frame(other, 2, to), peer_frame(outcome.meeting.nonce, 2, 1 - to),
                                 peer_frame(outcome.meeting.nonce, 77, to), good.substr(0, good.size() - 1),
                                 frame(Kind::kPeer, "short"), frame(Kind::kNotice, std::string(60, 'x'))};
    for (int i = 0; i < 200; ++i) {
      UniqueFd fd = connect_to(address, deadline_after_ms(5000));
      if (!fd) return "a stranger cannot connect";
      const std::string& bytes = wrong[static_cast<size_t>(i) % std::size(wrong)];
      if (::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) continue;
      if (i % 2) open.push_back(std::move(fd));
    }
    right.push_back(connect_to(address, deadline_after_ms(5000)));
    if (!right.back() || ::send(right.back().get(), good.data(), good.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(good.size())) return "cannot connect";
  }
  gather_texts(outcome.meeting, 2, "", deadline_after_ms(30000));
  for (const UniqueFd& fd : right) {
    if (const std::string wrong = say(fd.get(), 2); !wrong.empty()) return wrong;
  }
  for (int from = 0; from < 2; ++from) {
    if (const std::string wrong = hear(right[static_cast<size_t>(from)].get(), from); !wrong.empty()) return wrong;
  }
  return "";
}

void strangers_change_nothing(void**) {
  const int port = free_port();
  std::vector<std::future<std::string>> ranks;
  for (int r = 0; r < 2; ++r) ranks.push_back(start_connecting(r, 3, port, 1));
  ranks.push_back(std::async(std::launch::async, [=] { return among_strangers(port); }));
  for (auto& rank : ranks) assert_nothing(rank.get());
}

void a_rank_that_fails_is_named(void**) {
  for (const bool silent : {false, true}) {
    const int port = free_port();
    std::vector<std::future<std::string>> ranks;
    for (int r = 0; r < 2; ++r) ranks.push_back(start_connecting(r, 3, port, 1));
    {
      const Outcome outcome = attend(Rank(2, 3, port));
      assert_nothing(check_meeting(outcome, 3));
      gather_texts(outcome.meeting, 2, "1 127.0.0.1", deadline_after_ms(30000));
      if (!silent) tell_failure(outcome.meeting, "rank 2 failed in smddp_init: because");
    }
    const int64_t begin = now_ns();
    for (auto& rank : ranks) assert_string_equal(rank.get().c_str(), silent ? "rank 2 ended or failed in smddp_init" : "rank 2 failed in smddp_init: because");
    assert_true(now_ns() - begin < 5000000000);
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(every_pair_has_its_own), cmocka_unit_test(strangers_change_nothing), cmocka_unit_test(a_rank_that_fails_is_named)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
