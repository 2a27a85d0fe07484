// A process is killed in the middle of traffic, over libfabric: test_killed PROVIDER BULK. The survivors' events end, their memory is theirs
// again (it is unmapped), and they go on among themselves, or say that the transport had to be closed.
#include "transport/ofi/ofi.hpp"
#include "transport/ofi/provider.hpp"
#include "transport/world.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

namespace ofi = smddp::transport::ofi;
using namespace test;

namespace {

constexpr int kRanks = 3, kVictim = 1, kRounds = 12;
std::string g_provider;
ofi::Bulk g_bulk = ofi::Bulk::kPackets;

std::string read_message(int fd) {
  pollfd entry{fd, POLLIN, 0};
  if (poll(&entry, 1, 20000) <= 0) return {};
  char bytes[4096];
  const ssize_t length = recv(fd, bytes, sizeof(bytes), 0);
  return length > 0 ? std::string(bytes, static_cast<size_t>(length)) : std::string();
}

void write_message(int fd, const std::string& text) {
  [[maybe_unused]] const ssize_t sent = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
}

// One rank of one round. What it found goes to the parent.
std::string survive(int rank, int fd) {
  ofi::Options options;
  options.provider = g_provider;
  options.source_address = "127.0.0.1";
  options.bulk = g_bulk;
  options.messages.size = kRanks;
  const std::unique_ptr<Transport> transport = ofi::make(options);
  write_message(fd, transport->address());
  std::vector<std::string> addresses(kRanks);
  for (std::string& address : addresses) address = read_message(fd);
  transport->connect(addresses, rank);
  const size_t sizes[] = {64, 30000, 500000, 4u << 20};
  uint64_t id = 0;
  std::vector<std::unique_ptr<Pages>> memory;
  std::vector<Event> events(64);
  std::string killed;
  for (;;) {  // rounds of exchanges with everyone, until the parent says that the victim is dead
    size_t count = 0;
    memory.clear();
    for (const size_t bytes : sizes) {
      if (bytes > 100000 && g_provider.find("udp") != std::string::npos) continue;
      ++id;
      for (int peer = 0; peer < kRanks; ++peer) {
        if (peer == rank) continue;
        for (const bool sends : {false, true}) {
          memory.push_back(std::make_unique<Pages>(bytes));
          Event& event = events[count++];
          event = {};
          std::byte* data = memory.back()->data();
          while (!(sends ? transport->send(peer, id, data, bytes, &event) : transport->receive(peer, id, data, bytes, &event))) transport->progress();
        }
      }
    }
    int64_t deadline = now_ns() + 30 * kSecond;
    for (size_t i = 0; i < count;) {
      if (events[i].done()) {
        ++i;
        continue;
      }
      if (!transport->progress()) sched_yield();
      pollfd entry{fd, POLLIN, 0};
      if (killed.empty() && poll(&entry, 1, 0) > 0) {
        killed = read_message(fd);
        transport->fail_peer(kVictim, "rank 1 was killed");
        deadline = now_ns() + 2 * kSecond;
        // Of the other survivor's messages some are not coming: it may be a round behind.
      }
      if (now_ns() < deadline) continue;
      if (killed.empty()) return "no end before the kill";
      for (size_t k = 0; k < count; ++k) transport->cancel(events[k], "the other survivor is in another round");
      deadline = now_ns() + 30 * kSecond;
      for (size_t k = 0; k < count; ++k) {
        while (!events[k].done() && now_ns() < deadline) transport->progress();
        if (!events[k].done()) return "a cancelled event did not end";
      }
    }
    if (!killed.empty()) break;
  }
  memory.clear();
  const int64_t until = now_ns() + kSecond / 10;  // whoever still writes there crashes
  while (now_ns() < until) transport->progress();
  if (!transport->failure().empty()) return "closed: " + transport->failure();
  Event sent, received;
  const int other = 2 - rank;
  transport->receive(other, uint64_t{1} << 60, nullptr, 0, &received);
  transport->send(other, uint64_t{1} << 60, nullptr, 0, &sent);
  const int64_t deadline = now_ns() + 4 * kSecond;
  while ((!sent.done() || !received.done()) && now_ns() < deadline) transport->progress();
  transport->quiesce(now_ns() + 2 * kSecond);  // a send that is done may still be with its transport
  return received.result == Result::kOk ? "ok" : "the survivors do not hear each other";
}

void killed_at_random(void**) {
  std::mt19937 random(7);
  int closed = 0;
  for (int round = 0; round < kRounds; ++round) {
    int fds[kRanks];
    pid_t children[kRanks];
    for (int rank = 0; rank < kRanks; ++rank) {
      int ends[2];
      assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
      children[rank] = fork();
      if (children[rank] == 0) {
        alarm(90);
        std::string found;
        try {
          found = survive(rank, ends[1]);
        } catch (const std::exception& error) {
          found = error.what();
        }
        write_message(ends[1], found);
        _exit(0);
      }
      close(ends[1]);
      fds[rank] = ends[0];
    }
    std::vector<std::string> addresses;
    for (const int fd : fds) addresses.push_back(read_message(fd));
    for (const int fd : fds) {
      for (const std::string& address : addresses) write_message(fd, address);
    }
    usleep(50000 + random() % 200000);
    kill(children[kVictim], SIGKILL);
    int status = 0;
    waitpid(children[kVictim], &status, 0);
    for (const int rank : {0, 2}) write_message(fds[rank], "dead");
    std::string wrong;
    std::string found[kRanks];
    int closed_now = 0;
    for (const int rank : {0, 2}) {
      found[rank] = read_message(fds[rank]);
      waitpid(children[rank], &status, 0);
      if (status != 0) wrong += format("rank %d ended with status %d; ", rank, status);
      closed_now += found[rank].compare(0, 7, "closed:") == 0;
    }
    closed += closed_now;
    for (const int rank : {0, 2}) {  // one that had to close answers the other one no more
      if (closed_now == 0 && found[rank] != "ok") wrong += format("rank %d: %s; ", rank, found[rank].c_str());
    }
    for (const int fd : fds) close(fd);
    if (!wrong.empty()) fail_msg("%s, round %d: %s", g_provider.c_str(), round, wrong.c_str());
  }
  std::printf("%s by %s: %d kills, %d of %d survivors had to close\n", g_provider.c_str(), ofi::bulk_name(g_bulk), kRounds, closed, 2 * kRounds);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s PROVIDER write|tagged|packets\n", argv[0]);
    return 2;
  }
  g_provider = argv[1];
  for (const ofi::Bulk one : {ofi::Bulk::kTagged, ofi::Bulk::kWrite}) {
    if (std::strcmp(argv[2], ofi::bulk_name(one)) == 0) g_bulk = one;
  }
  if (ofi::candidates(g_provider, "127.0.0.1").empty()) {
    std::printf("SKIP: libfabric has no provider %s here\n", g_provider.c_str());
    return 77;
  }
  const CMUnitTest tests[] = {cmocka_unit_test(killed_at_random)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
