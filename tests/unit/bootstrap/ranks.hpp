// Ranks that meet, as threads of a test, and the strangers that disturb them. Invariant: a thread returns what it found; only the main
// thread asserts.
#pragma once

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/random.hpp"
#include "bootstrap/socket.hpp"

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace smddp::bootstrap::test {

struct Outcome {
  smddp_status_t code = SMDDP_SUCCESS;
  std::string text;
  Meeting meeting;
  int64_t took_ms = 0;
};

struct Rank {
  Placement placement;
  Member member;
  uint32_t protocol = 7;
  std::string parameters = "SMDDP_A=1\nSMDDP_B=2\n";
  int64_t timeout_ms = 60000;

  Rank(int rank, int size, int port, std::string address = "127.0.0.1") {
    placement.rank = rank;
    placement.size = size;
    placement.address = std::move(address);
    placement.port = port;
    placement.job_id = "job A";
    member.node = "node " + std::to_string(rank % 2);
    member.host = "host" + std::to_string(rank);
    member.pid = 1000 + rank;
    member.cpus = "0-" + std::to_string(rank);
  }
};

inline Outcome attend(Rank rank) {
  Outcome outcome;
  const int64_t start = now_ns();
  try {
    outcome.meeting = meet(rank.placement, rank.member, rank.protocol, rank.parameters, deadline_after_ms(rank.timeout_ms));
  } catch (const Error& error) {
    outcome.code = error.code();
    outcome.text = error.what();
  }
  outcome.took_ms = (now_ns() - start) / 1000000;
  return outcome;
}

using Attendance = std::future<Outcome>;

inline Attendance start(Rank rank) {
  auto shared = std::make_shared<Rank>(std::move(rank));
  return std::async(std::launch::async, [shared] { return attend(std::move(*shared)); });
}

// The first of count neighbouring ports that were free a moment ago. They lie below those that the kernel gives to connections, which
// hold theirs for a minute after their end.
inline int free_ports(int count) {
  for (;;) {
    const int first = 12000 + static_cast<int>(random_number() % 18000);
    int taken = 0;
    for (UniqueFd fd; taken < count && (fd = listen_everywhere(first + taken)); ++taken) continue;
    if (taken == count) return first;
  }
}

inline int free_port() { return free_ports(1); }

inline Address loopback(int port) {
  Address address = wildcard(AF_INET, port);
  reinterpret_cast<sockaddr_in*>(&address.storage)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// "" if all is well, else what is wrong with a complete meeting of size ranks made by Rank.
inline std::string check_meeting(const Outcome& outcome, int size) {
  if (outcome.code != SMDDP_SUCCESS) return std::string(status_name(outcome.code)) + ": " + outcome.text;
  if (static_cast<int>(outcome.meeting.members.size()) != size) return format("%zu members", outcome.meeting.members.size());
  for (int rank = 0; rank < size; ++rank) {
    const Member& member = outcome.meeting.members[static_cast<size_t>(rank)];
    const Member expected = Rank(rank, size, 0).member;
    if (member.node != expected.node || member.host != expected.host || member.pid != expected.pid || member.cpus != expected.cpus) {
      return format("member %d is host %s pid %lld", rank, member.host.c_str(), static_cast<long long>(member.pid));
    }
  }
  return "";
}

inline std::string check_all(std::vector<Attendance>& ranks, int size) {
  std::string wrong;
  std::vector<Outcome> outcomes;
  for (Attendance& rank : ranks) outcomes.push_back(rank.get());
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const std::string text = check_meeting(outcomes[i], size);
    if (!text.empty()) wrong += format("[%zu] %s\n", i, text.c_str());
    else if (outcomes[i].meeting.nonce != outcomes[0].meeting.nonce) wrong += format("[%zu] another nonce\n", i);
  }
  return wrong;
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace smddp::bootstrap::test

// Prints the texts when it fails.
#define assert_contains(text, part)                                                                        \
  do {                                                                                                     \
    if (!smddp::bootstrap::test::contains(text, part)) fail_msg("'%s' is not in: %s", part, (text).c_str()); \
  } while (0)
#define assert_nothing(text)                               \
  do {                                                     \
    const std::string found_ = (text);                     \
    if (!found_.empty()) fail_msg("%s", found_.c_str());   \
  } while (0)
#define assert_code(outcome, expected)                                                                                    \
  do {                                                                                                                    \
    if ((outcome).code != (expected))                                                                                     \
      fail_msg("%s instead of %s: %s", smddp::status_name((outcome).code), smddp::status_name(expected), (outcome).text.c_str()); \
  } while (0)
