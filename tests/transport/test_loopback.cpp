// The suite over loopback: as it is, and with every fault, by seed: test_loopback [SEED …].
#include "transport/conformance.hpp"
#include "transport/faults.hpp"
#include "transport/loopback/loopback.hpp"

#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

namespace loopback = smddp::transport::loopback;

namespace {

test::Network network_of(const std::string& name, const loopback::Faults& faults) {
  auto hub = std::make_shared<std::shared_ptr<loopback::Hub>>();
  test::Network network;
  network.name = name;
  network.begin = [=](int size) { *hub = std::make_shared<loopback::Hub>(size, faults); };
  network.make = [=](int rank, int size) {
    smddp::transport::MessageOptions options;
    options.size = size;
    return loopback::make(*hub, rank, options);
  };
  return network;
}

loopback::Faults every_fault(uint64_t seed) {
  loopback::Faults faults = test::packet_faults(seed);
  faults.late_conceal = 0.5;
  faults.put_bytes = seed % 3 == 0 ? 0 : 5000;
  return faults;
}

using namespace test;

// A network that never gives memory back costs the transport, in bounded time, and says so.
std::string closes_when_memory_stays(const Network&) {
  loopback::Faults faults;
  faults.hold_puts = true;
  return run(network_of("loopback that holds puts", faults), 3, [](Rank& rank) -> std::string {
    constexpr size_t kBytes = 300000;
    std::vector<std::byte> memory(kBytes);
    Event event, small;
    if (rank.rank == 2) {
      rank.meet();
      return {};
    }
    if (rank.rank == 1) {
      TRY(rank.receive(0, 1, memory.data(), kBytes, event));
      TRY(rank.wait_ok(event, kBytes));
      rank.meet();
      return {};
    }
    TRY(rank.send(1, 1, memory.data(), kBytes, event));
    TRY(rank.receive(1, 2, nullptr, 0, small));
    const int64_t deadline = now_ns() + 10 * kSecond;
    while (rank.transport.counters().puts == 0 && now_ns() < deadline) rank.transport.progress();
    rank.meet();
    rank.progress_for(kSecond / 100);
    EXPECT(!event.done(), "the put was given back");
    rank.transport.fail_peer(1, "rank 1 died of a test");
    TRY(rank.wait(event, kSecond));
    EXPECT(event.result == Result::kPeerFailed && event.sentence == "rank 1 died of a test", "'%s'", event.sentence.c_str());
    EXPECT(rank.transport.failure().find("rank 1") != std::string::npos, "'%s'", rank.transport.failure().c_str());
    Event late;
    TRY(rank.send(1, 3, nullptr, 0, late));
    EXPECT(late.result == Result::kPeerFailed, "result %d", static_cast<int>(late.result));
    EXPECT(!rank.transport.progress() && rank.transport.arm().may_sleep, "it moves");
    rank.transport.fail_peer(2, "rank 2 died later");
    rank.transport.cancel(small, "not wanted");
    rank.transport.discard(0, 0);
    TRY(rank.receive(2, 1, nullptr, 0, late));
    EXPECT(late.sentence == "rank 2 died later", "'%s'", late.sentence.c_str());
    return {};
  }, false);
}

// A connection that breaks under a message: its end waits for the news that the rank has died, and for no longer than some seconds.
std::string awaits_news(const Network&) {
  loopback::Faults faults;
  faults.break_puts = true;
  return run(network_of("loopback that breaks puts", faults), 3, [](Rank& rank) -> std::string {
    constexpr size_t kBytes = 300000;
    std::vector<std::byte> memory[2]{std::vector<std::byte>(kBytes), std::vector<std::byte>(kBytes)};
    Event events[3];
    if (rank.rank != 0) {
      TRY(rank.receive(0, 1, memory[0].data(), kBytes, events[0]));
      if (rank.rank == 2) TRY(rank.receive(0, 2, memory[1].data(), kBytes, events[1]));
      rank.meet_serving();
      rank.transport.fail_peer(0, "rank 0 has left the test");
      return {};
    }
    TRY(rank.send(1, 1, memory[0].data(), kBytes, events[0]));
    TRY(rank.send(2, 1, memory[0].data(), kBytes, events[1]));
    TRY(rank.send(2, 2, memory[1].data(), kBytes, events[2]));
    rank.progress_for(kSecond / 4);
    EXPECT(rank.transport.counters().puts >= 3, "%llu puts", static_cast<unsigned long long>(rank.transport.counters().puts));
    EXPECT(!events[0].done() && !events[1].done() && !events[2].done(), "it ended before anybody could say why");
    rank.transport.fail_peer(1, "rank 1 died of a test");
    EXPECT(events[0].result == Result::kPeerFailed && events[0].sentence == "rank 1 died of a test", "'%s'", events[0].sentence.c_str());
    rank.transport.cancel(events[2], "not needed");
    EXPECT(events[2].result == Result::kCancelled, "result %d", static_cast<int>(events[2].result));
    TRY(rank.wait(events[1], 6 * kSecond));
    EXPECT(events[1].result == Result::kPeerFailed && events[1].sentence == "the connection to rank 2 broke (broken by a test)", "'%s'",
           events[1].sentence.c_str());
    EXPECT(rank.transport.failure().empty(), "%s", rank.transport.failure().c_str());
    rank.meet_serving();
    return {};
  }, false);
}

// Bytes that nobody of this job has sent, and packets of the job that were cut or whose numbers are wild.
std::string strangers(const Network&) {
  auto hub = std::make_shared<loopback::Hub>(3);
  const std::unique_ptr<Transport> one = loopback::make(hub, 0), two = loopback::make(hub, 1);
  const std::vector<std::string> addresses{one->address(), two->address()};
  one->connect(addresses, 0);
  two->connect(addresses, 1);
  uint32_t nonce;
  std::memcpy(&nonce, addresses[0].data() + 4, sizeof(nonce));
  std::mt19937_64 random(5);
  Event event;
  std::vector<std::byte> room(200000);
  one->receive(1, 77, room.data(), room.size(), &event);
  for (int i = 0; i < 20000; ++i) {
    loopback::Item item;
    item.put = random() % 8 == 0;
    item.key = random() % 4;
    item.offset = random() % 3 ? random() % 300000 : random();
    item.immediate = static_cast<uint32_t>(random());
    item.bytes.resize(random() % 120);
    for (std::byte& byte : item.bytes) byte = static_cast<std::byte>(random());
    if (i % 2 && item.bytes.size() >= 24) {
      std::memcpy(item.bytes.data(), &nonce, sizeof(nonce));
      const uint32_t kind = static_cast<uint32_t>(random() % 12) << 24 | static_cast<uint32_t>(random() % 3);
      std::memcpy(item.bytes.data() + 4, &kind, sizeof(kind));
    }
    hub->post(2, 0, std::move(item));
    one->progress();
  }
  for (const size_t cut : {size_t{0}, size_t{8}, addresses[0].size() - 1}) {
    const std::unique_ptr<Transport> other = loopback::make(hub, 2);
    try {
      other->connect({addresses[0].substr(0, cut), addresses[1]}, 1);
      return format("an address of %zu bytes was taken", cut);
    } catch (const smddp::Error& error) {
      EXPECT(std::string(error.what()).find("rank 0") != std::string::npos, "%s", error.what());
    }
  }
  return {};
}

// A rank dies after a random number of packets, whatever it was doing; faults of every kind meanwhile.
std::string dies_at_random(const Network&) {
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    loopback::Faults faults = every_fault(seed);
    faults.victim = 1;
    faults.kill_after = 1 + seed * seed % 700;
    auto hub = std::make_shared<loopback::Hub>(3, faults);
    Network network = network_of("loopback", faults);
    network.begin = nullptr;
    network.make = [hub](int rank, int) { return loopback::make(hub, rank); };
    const std::string wrong = run(network, 3, [&hub](Rank& rank) -> std::string {
      std::vector<Event> events(64);
      std::vector<std::unique_ptr<Pages>> memory;
      for (uint64_t round = 0; round < 40 && !hub->dead(1); ++round) {
        size_t count = 0;
        memory.clear();
        for (const size_t bytes : {size_t{16}, size_t{3000}, size_t{70000}}) {
          for (int peer = 0; peer < 3; ++peer) {
            if (peer == rank.rank) continue;
            for (const bool sends : {false, true}) {
              memory.push_back(std::make_unique<Pages>(bytes));
              const uint64_t id = round << 8 | bytes % 251;
              TRY(sends ? rank.send(peer, id, memory.back()->data(), bytes, events[count]) : rank.receive(peer, id, memory.back()->data(), bytes, events[count]));
              ++count;
            }
          }
        }
        for (size_t i = 0; i < count; ++i) {
          while (!events[i].done()) {
            if (!rank.transport.progress()) sched_yield();
            if (!hub->dead(1)) continue;
            if (rank.rank != 1) rank.transport.fail_peer(1, "rank 1 died");
            for (size_t k = 0; k < count; ++k) rank.transport.cancel(events[k], "over");
            for (size_t k = 0; k < count; ++k) TRY(rank.wait(events[k], 3 * kSecond));
          }
        }
        memory.clear();
      }
      memory.clear();
      rank.progress_for(kSecond / 200);
      return {};
    }, false);
    if (!wrong.empty()) return format("seed %llu: %s", static_cast<unsigned long long>(seed), wrong.c_str());
  }
  return {};
}

const Requirement kLoopback[] = {{"closes_when_memory_stays", closes_when_memory_stays}, {"awaits_news", awaits_news}, {"strangers", strangers},
                                 {"dies_at_random", dies_at_random}, {nullptr, nullptr}};

}  // namespace

int main(int argc, char** argv) {
  int failures = 0;
  if (argc == 1) {
    failures += test::run_suite(network_of("loopback", {}));
    failures += test::run_requirements(network_of("loopback", {}), {kLoopback});
    loopback::Faults packets;
    packets.put_bytes = 0;
    failures += test::run_suite(network_of("loopback without puts", packets));
  }
  const char* const seeds[] = {"", "1", "2", "3"};
  for (int i = 1; i < (argc > 1 ? argc : 4); ++i) {
    const char* seed = argc > 1 ? argv[i] : seeds[i];
    test::Network network = network_of(std::string("loopback, faults of seed ") + seed, every_fault(std::strtoull(seed, nullptr, 10)));
    network.rounds = 500;
    network.flood = 8000;
    failures += test::run_suite(network);
  }
  return failures;
}
