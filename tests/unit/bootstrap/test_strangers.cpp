// TIMEOUT 180
// Strangers on the port of rank 0, and strangers where rank 0 should be: none of them delays or joins a meeting.
#include "base/log.hpp"
#include "bootstrap/frame.hpp"
#include "unit/bootstrap/ranks.hpp"

#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <random>
#include <thread>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
extern "C" {
#include <cmocka.h>
}

using namespace smddp;
using namespace smddp::bootstrap;
using namespace smddp::bootstrap::test;

static void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// Until rank 0 listens, or somebody else; for at most ten seconds.
static void wait_for_listener(int port) {
  for (const int64_t deadline = deadline_after_ms(10000); !connect_to(loopback(port), deadline_after_ms(1000)) && now_ns() < deadline;) sleep_ms(5);
}

static Hello hello_of(const Rank& rank) {
  Hello hello;
  hello.token = 99;
  hello.rank = rank.placement.rank;
  hello.size = rank.placement.size;
  hello.protocol = rank.protocol;
  hello.timeout_ms = hello.left_ms = rank.timeout_ms;
  hello.member = rank.member;
  hello.job_id = rank.placement.job_id;
  hello.parameters = rank.parameters;
  return hello;
}

static void send_text(int fd, const std::string& text) {
  [[maybe_unused]] const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
}

// Sends bytes and goes away, or stays without a word, while the ranks of a job of 4 come.
static void garbage_and_silence(void**) {
  std::mt19937 random(20240731);
  const int port = free_port();
  std::vector<Attendance> ranks;
  ranks.push_back(start(Rank(0, 4, port)));
  ranks.push_back(start(Rank(1, 4, port)));
  wait_for_listener(port);
  std::vector<UniqueFd> strangers;
  const std::string good = encode(hello_of(Rank(2, 4, port)));
  for (int i = 0; i < 300; ++i) {
    UniqueFd fd = connect_to(loopback(port), deadline_after_ms(5000));
    assert_true(fd.get() >= 0);
    std::string bytes;
    switch (i % 6) {
      case 0: bytes = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"; break;
      case 1: for (int n = 0; n < 500; ++n) bytes += static_cast<char>(random()); break;
      case 2: bytes = good.substr(0, random() % (good.size() - 1)); break;
      case 3:
        bytes = good;
        bytes[random() % bytes.size()] ^= static_cast<char>(1 + random() % 255);
        break;
      case 4: bytes = good.substr(0, 8) + std::string(1 << 16, '\xff'); break;
      default: break;  // half open
    }
    send_text(fd.get(), bytes);
    if (i % 3 != 0) strangers.push_back(std::move(fd));
  }
  ranks.push_back(start(Rank(2, 4, port)));
  ranks.push_back(start(Rank(3, 4, port)));
  const int64_t before = now_ns();
  assert_nothing(check_all(ranks, 4));
  assert_true(now_ns() - before < 10000000000);
}

// Sends the hello in ten parts with pauses and says what came back; kClosed if this machine made the pauses longer than a hello may take.
static FrameReader::State speak_slowly(int fd, const std::string& hello, FrameReader& reader) {
  const size_t part = hello.size() / 10 + 1;
  for (size_t at = 0; at < hello.size(); at += part) {
    send_text(fd, hello.substr(at, part));
    sleep_ms(50);
  }
  return wait_for(fd, POLLIN, deadline_after_ms(30000)) ? reader.read(fd) : FrameReader::State::kMore;
}

// One byte at a time until the connection ends, and never the last one: slower than the deadline of a hello allows.
static bool trickle_until_cut_off(int fd, const std::string& hello) {
  for (size_t at = 0; !wait_for(fd, POLLIN, deadline_after_ms(100)); ++at) {
    if (at < hello.size() - 1) send_text(fd, hello.substr(at, 1));
    else if (at == hello.size() + 300) return false;
  }
  char byte;
  const ssize_t got = recv(fd, &byte, 1, MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno == ECONNRESET);
}

// Who speaks too slowly is cut off, and a rank that speaks slowly but in time is not.
static void slow_speakers(void**) {
  const int port = free_port();
  Rank zero(0, 3, port);
  zero.placement.listener = listen_at(loopback(port));
  Attendance root = start(std::move(zero));
  const std::string hello = encode(hello_of(Rank(1, 3, port)));
  const UniqueFd trickle = connect_to(loopback(port), deadline_after_ms(5000));
  assert_true(trickle && trickle_until_cut_off(trickle.get(), hello));
  UniqueFd slow;
  FrameReader reader(kMaxReplyBody);
  FrameReader::State state = FrameReader::State::kClosed;
  for (int attempt = 0; attempt < 5 && state == FrameReader::State::kClosed; ++attempt) {
    slow = connect_to(loopback(port), deadline_after_ms(5000));
    reader.restart(kMaxReplyBody);
    state = speak_slowly(slow.get(), hello, reader);
  }
  assert_int_equal(static_cast<int>(state), static_cast<int>(FrameReader::State::kComplete));
  assert_int_equal(static_cast<int>(reader.kind()), static_cast<int>(Kind::kAccepted));
  send_text(slow.get(), std::string(1, kConfirmed));
  Attendance rank2 = start(Rank(2, 3, port));
  assert_nothing(check_meeting(rank2.get(), 3));
  assert_nothing(check_meeting(root.get(), 3));
}

// Connections that are opened as fast as possible and closed at once, all the time that ranks come.
static void port_scan(void**) {
  const int port = free_port();
  std::atomic<bool> stop{false};
  std::atomic<int> scans{0};
  std::vector<std::thread> scanners;
  for (int i = 0; i < 3; ++i) {
    scanners.emplace_back([&] {
      // Bounded, as every closed connection holds a port of this machine for a minute.
      for (int n = 0; n < 2000 && !stop; ++n) {
        if (connect_to(loopback(port), deadline_after_ms(1000))) ++scans;
      }
    });
  }
  std::vector<Attendance> ranks;
  for (int rank = 0; rank < 16; ++rank) {
    ranks.push_back(start(Rank(rank, 16, port)));
    sleep_ms(20);
  }
  const std::string wrong = check_all(ranks, 16);
  stop = true;
  for (std::thread& scanner : scanners) scanner.join();
  assert_nothing(wrong);
  assert_true(scans > 100);
}

// More strangers than the process has descriptors for: the oldest of them make room.
static void more_strangers_than_descriptors(void**) {
  rlimit before;
  getrlimit(RLIMIT_NOFILE, &before);
  const int port = free_port();
  std::vector<UniqueFd> strangers;
  rlimit few = before;
  few.rlim_cur = few.rlim_max = 160;
  const pid_t child = fork();
  if (child == 0) {
    setrlimit(RLIMIT_NOFILE, &few);
    const Outcome outcome = attend(Rank(0, 3, port));
    _exit(check_meeting(outcome, 3).empty() ? 0 : 1);
  }
  wait_for_listener(port);
  for (int i = 0; i < 400; ++i) strangers.push_back(connect_to(loopback(port), deadline_after_ms(3000)));
  std::vector<Attendance> ranks;
  ranks.push_back(start(Rank(1, 3, port)));
  ranks.push_back(start(Rank(2, 3, port)));
  const std::string wrong = check_all(ranks, 3);
  int status = -1;
  waitpid(child, &status, 0);
  assert_nothing(wrong);
  assert_int_equal(status, 0);
}

// A program that answers nothing, one that answers nonsense and a rank 0 of another job hold the first ports of the range.
static void strangers_hold_the_first_ports(void**) {
  const int first = free_ports(4);
  const UniqueFd silent = listen_at(loopback(first));
  const UniqueFd talker = listen_at(loopback(first + 1));
  assert_true(silent && talker);
  std::atomic<bool> stop{false};
  std::thread answering([&] {
    while (!stop) {
      if (!wait_for(talker.get(), POLLIN, deadline_after_ms(20))) continue;
      const UniqueFd fd(accept4(talker.get(), nullptr, nullptr, SOCK_CLOEXEC));
      send_text(fd.get(), "SSH-2.0-OpenSSH_9.2\r\n");
    }
  });
  Rank other(0, 2, first + 2);
  other.placement.job_id = "job B";
  other.timeout_ms = 4000;
  Attendance stranger = start(std::move(other));
  wait_for_listener(first + 2);
  std::vector<Attendance> ranks;
  for (int rank = 3; rank >= 0; --rank) {
    Rank member(rank, 4, first);
    member.placement.port_count = 4;
    ranks.push_back(start(std::move(member)));
  }
  const int64_t before = now_ns();
  const std::string wrong = check_all(ranks, 4);
  const int64_t took_ms = (now_ns() - before) / 1000000;
  stop = true;
  answering.join();
  assert_code(stranger.get(), SMDDP_ERR_TIMEOUT);
  assert_nothing(wrong);
  assert_true(took_ms < 20000);
}

static void port_in_use(void**) {
  const int port = free_port();
  const UniqueFd holder = listen_at(loopback(port));
  const Outcome outcome = attend(Rank(0, 2, port));
  assert_code(outcome, SMDDP_ERR_BOOTSTRAP);
  assert_contains(outcome.text, format("port %d of 127.0.0.1: in use by another program", port).c_str());
  assert_true(outcome.took_ms < 2000);
  Rank client(1, 2, port);
  client.timeout_ms = 1500;
  const Outcome other = attend(std::move(client));
  assert_code(other, SMDDP_ERR_TIMEOUT);
  assert_contains(other.text, "does not answer");
  assert_true(other.took_ms < 5000);
}

// A second rank 0 of the job must not settle on the next port of the range.
static void duplicate_root_in_a_range(void**) {
  const int first = free_ports(3);
  const auto member = [&](int rank) {
    Rank made(rank, 2, first);
    made.placement.port_count = 3;
    return made;
  };
  Attendance root = start(member(0));
  wait_for_listener(first);
  const Outcome second = attend(member(0));
  assert_code(second, SMDDP_ERR_BOOTSTRAP);
  assert_contains(second.text, "duplicate rank 0");
  assert_nothing(check_meeting(attend(member(1)), 2));
  assert_nothing(check_meeting(root.get(), 2));
}

// Job A of 4 waits for its rank 3 while all of job B come to the same port.
static void two_jobs_on_one_port(void**) {
  const int port = free_port();
  std::vector<Attendance> a, b;
  for (int rank = 0; rank < 3; ++rank) a.push_back(start(Rank(rank, 4, port)));
  wait_for_listener(port);
  for (int rank = 0; rank < 4; ++rank) {
    Rank member(rank, 4, port);
    member.placement.job_id = "job B";
    member.timeout_ms = 3000;
    b.push_back(start(std::move(member)));
  }
  for (Attendance& rank : b) {
    const Outcome outcome = rank.get();
    assert_code(outcome, SMDDP_ERR_BOOTSTRAP);
    assert_contains(outcome.text, "job id differs");
  }
  a.push_back(start(Rank(3, 4, port)));
  assert_nothing(check_all(a, 4));
  Rank late(3, 4, port);
  late.timeout_ms = 500;
  assert_code(attend(std::move(late)), SMDDP_ERR_TIMEOUT);
}

// A second rank 1 whose hello is read before the first one's confirmation, which lies in the socket: it is refused all the same.
static void duplicate_before_the_confirmation_is_read(void**) {
  const int port = free_port();
  Rank zero(0, 3, port);
  zero.placement.listener = listen_at(loopback(port));
  zero.timeout_ms = 1000;
  const UniqueFd first = connect_to(loopback(port), deadline_after_ms(5000));
  const UniqueFd second = connect_to(loopback(port), deadline_after_ms(5000));
  assert_true(first && second);
  Hello hello = hello_of(Rank(1, 3, port));
  send_text(first.get(), encode(hello) + std::string(1, kConfirmed));
  hello.token = 100;
  send_text(second.get(), encode(hello));
  Attendance root = start(std::move(zero));
  FrameReader reader(kMaxReplyBody);
  assert_true(wait_for(second.get(), POLLIN, deadline_after_ms(5000)));
  assert_int_equal(static_cast<int>(reader.read(second.get())), static_cast<int>(FrameReader::State::kComplete));
  assert_int_equal(static_cast<int>(reader.kind()), static_cast<int>(Kind::kVerdict));
  Verdict verdict;
  assert_true(decode(reader.body(), verdict));
  assert_contains(verdict.text, "duplicate rank 1");
  const Outcome outcome = root.get();
  assert_code(outcome, SMDDP_ERR_TIMEOUT);
  assert_contains(outcome.text, "rank 2 of 3 did not come");
}

int main() {
  set_log_level(Level::kError);
  const CMUnitTest tests[] = {
      cmocka_unit_test(garbage_and_silence),
      cmocka_unit_test(slow_speakers),
      cmocka_unit_test(port_scan),
      cmocka_unit_test(more_strangers_than_descriptors),
      cmocka_unit_test(strangers_hold_the_first_ports),
      cmocka_unit_test(port_in_use),
      cmocka_unit_test(duplicate_root_in_a_range),
      cmocka_unit_test(two_jobs_on_one_port),
      cmocka_unit_test(duplicate_before_the_confirmation_is_read),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
