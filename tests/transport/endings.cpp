// How events end that do not end well: their memory is unmapped at once, so that any later touch ends the program.
#include "transport/conformance.hpp"

#include <cstdio>
#include <memory>

namespace test {
namespace {

constexpr uint64_t kComm = uint64_t{3} << 48, kMask = uint64_t{0xffff} << 48;

std::string ping(Rank& rank, int peer, uint64_t id, size_t bytes) {
  Buffer out(bytes), in(bytes);
  fill(out.data(), bytes, id);
  Event sent, received;
  TRY(rank.receive(peer, id, in.data(), bytes, received));
  TRY(rank.send(peer, id, out.data(), bytes, sent));
  TRY(rank.wait_ok(sent, bytes));
  TRY(rank.wait_ok(received, bytes));
  return check(in.data(), bytes, id);
}

std::vector<size_t> few_sizes(const Rank& rank) {
  std::vector<size_t> chosen;
  for (const size_t bytes : {size_t{8}, size_t{8000}, size_t{200000}, size_t{3} << 20}) {
    if (bytes <= rank.network.most_bytes) chosen.push_back(bytes);
  }
  return chosen;
}

// Receives that nobody sends to, and sends that nobody receives, while the peer is well.
std::string cancel_alone(const Network& network) {
  return run(network, 2, [](Rank& rank) -> std::string {
    uint64_t id = kComm;
    for (const size_t bytes : few_sizes(rank)) {
      Pages in(bytes), out(bytes);
      Event received, sent;
      TRY(rank.receive(rank.other(), ++id, in.data(), bytes, received));
      TRY(rank.send(rank.other(), ++id + static_cast<uint64_t>(rank.rank) * 1000, out.data(), bytes, sent));
      rank.progress_for(kSecond / 100);
      rank.transport.cancel(received, "not wanted");
      rank.transport.cancel(sent, "not needed");
      TRY(rank.wait(received, 2 * kSecond));
      TRY(rank.wait(sent, 2 * kSecond));
      in.unmap();
      out.unmap();
      EXPECT(received.result == Result::kCancelled, "result %d", static_cast<int>(received.result));
      EXPECT(received.sentence == "not wanted", "'%s'", received.sentence.c_str());
      EXPECT(sent.result == Result::kCancelled || sent.result == Result::kOk, "result %d", static_cast<int>(sent.result));
      rank.transport.cancel(received, "twice");
      EXPECT(received.sentence == "not wanted", "'%s'", received.sentence.c_str());
      TRY(rank.meet_moving());
    }
    rank.transport.discard(kComm, kMask);
    EXPECT(rank.transport.counters().unexpected_bytes < 4000, "%llu bytes", static_cast<unsigned long long>(rank.transport.counters().unexpected_bytes));
    EXPECT(rank.transport.failure().empty(), "%s", rank.transport.failure().c_str());
    return ping(rank, rank.other(), 5, 1000);
  });
}

// A cancel that races with the message: it ends one way or the other.
std::string cancel_race(const Network& network) {
  return run(network, 2, [](Rank& rank) -> std::string {
    uint64_t id = kComm;
    for (int round = 0; round < 40; ++round) {
      for (const size_t bytes : few_sizes(rank)) {
        ++id;
        Pages memory(bytes);
        Event event;
        if (rank.rank == 0) {
          TRY(rank.receive(1, id, memory.data(), bytes, event));
          for (int i = 0; i < round * 3; ++i) rank.transport.progress();
          rank.transport.cancel(event, "raced");
          TRY(rank.wait(event, 2 * kSecond));
          EXPECT(event.result == Result::kCancelled || event.result == Result::kOk, "result %d", static_cast<int>(event.result));
        } else {
          fill(memory.data(), bytes, id);
          TRY(rank.send(0, id, memory.data(), bytes, event));
          for (int i = 0; i < 400 && !event.done(); ++i) rank.transport.progress();
          rank.transport.cancel(event, "raced");
          TRY(rank.wait(event, 2 * kSecond));
        }
        memory.unmap();
        TRY(rank.meet_moving());
      }
      rank.transport.discard(kComm, kMask);
    }
    EXPECT(rank.transport.failure().empty(), "%s", rank.transport.failure().c_str());
    return ping(rank, rank.other(), 5, 1000);
  });
}

// Rank 1 stops serving, as a stopped process does, with everything outstanding: what it called for is on its way to it, and what it
// was called for does not come. The others go on among themselves.
std::string dead_peer(const Network& network) {
  struct Outstanding {
    std::vector<std::unique_ptr<Pages>> memory;
    std::vector<Event> events;
  };
  Outstanding all[3];  // outlive the transports
  return run(network, 3, [&all](Rank& rank) -> std::string {
    constexpr size_t kEach = 6;
    const int other = rank.rank == 0 ? 2 : 0;
    const std::vector<size_t> sizes = few_sizes(rank);
    std::vector<std::unique_ptr<Pages>>& memory = all[rank.rank].memory;
    std::vector<Event>& events = all[rank.rank].events;
    events.resize(sizes.size() * kEach * 2);
    size_t count = 0;
    const auto post = [&](int peer, bool sends, uint64_t id, size_t bytes) -> std::string {
      memory.push_back(std::make_unique<Pages>(bytes));
      Event& event = events[count++];
      return sends ? rank.send(peer, id, memory.back()->data(), bytes, event) : rank.receive(peer, id, memory.back()->data(), bytes, event);
    };
    TRY(rank.meet_moving());
    if (rank.rank == 1) {
      for (const size_t bytes : sizes) {
        for (size_t i = 0; i < kEach; ++i) {
          if (i % 3 == 2) continue;  // nobody is at the other end
          for (const int peer : {0, 2}) TRY(post(peer, i % 2 == 0, kComm + bytes * kEach + i, bytes));
        }
      }
      rank.meet();
      rank.meet();
      return {};
    }
    rank.meet();
    for (const size_t bytes : sizes) {
      for (size_t i = 0; i < kEach; ++i) TRY(post(1, i % 2 == 1, kComm + bytes * kEach + i, bytes));
    }
    rank.progress_for(kSecond / 50);
    TRY(ping(rank, other, 3, 20000));
    size_t open = 0;
    for (size_t i = 0; i < count; ++i) open += !events[i].done();
    EXPECT(open > 0, "nothing was outstanding");
    rank.transport.fail_peer(1, "rank 1 died of a test");
    for (size_t i = 0; i < count; ++i) {
      TRY(rank.wait(events[i], 2 * kSecond));
      if (events[i].result == Result::kOk) continue;  // it was over before
      EXPECT(events[i].result == Result::kPeerFailed, "event %zu: result %d", i, static_cast<int>(events[i].result));
      EXPECT(events[i].sentence == "rank 1 died of a test", "'%s'", events[i].sentence.c_str());
    }
    memory.clear();
    Event late;
    TRY(rank.send(1, 9, nullptr, 0, late));
    EXPECT(late.result == Result::kPeerFailed && late.sentence == "rank 1 died of a test", "'%s'", late.sentence.c_str());
    late = {};
    TRY(rank.receive(1, 9, nullptr, 0, late));
    EXPECT(late.result == Result::kPeerFailed, "result %d", static_cast<int>(late.result));
    rank.transport.fail_peer(1, "said twice");
    if (rank.transport.failure().empty()) {
      for (const size_t bytes : sizes) TRY(ping(rank, other, 50 + bytes, bytes));
    } else {
      std::printf("%s: rank %d: %s\n", rank.network.name.c_str(), rank.rank, rank.transport.failure().c_str());
      EXPECT(rank.network.may_close, "%s", rank.transport.failure().c_str());
    }
    rank.meet_serving();
    return {};
  }, false);
}

// What has come and has no receive is forgotten, and its credit is worth something again.
std::string discarded(const Network& network) {
  return run(network, 2, [](Rank& rank) -> std::string {
    std::byte small[64]{};
    for (int round = 0; round < 8; ++round) {
      for (uint64_t i = 0; i < 300; ++i) {
        Event event;
        TRY(rank.send(rank.other(), kComm | static_cast<uint64_t>(round) << 16 | i, small, sizeof(small), event));
        TRY(rank.wait_ok(event, sizeof(small)));
      }
      TRY(rank.meet_moving());
      rank.progress_for(kSecond / 200);
      TRY(rank.meet_moving());
      rank.transport.discard(kComm, kMask);
      TRY(rank.meet_moving());
    }
    EXPECT(rank.transport.counters().eager >= 2400, "%llu eager messages", static_cast<unsigned long long>(rank.transport.counters().eager));
    return ping(rank, rank.other(), 5, 1000);
  });
}

}  // namespace

const Requirement kEndings[] = {
    {"cancel_alone", cancel_alone}, {"cancel_race", cancel_race}, {"dead_peer", dead_peer}, {"discarded", discarded}, {nullptr, nullptr}};

}  // namespace test
