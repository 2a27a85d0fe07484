// The suite over several rails: two loopback networks of different speed and faults, one of which may go down: test_rails [SEED …].
#include "transport/conformance.hpp"
#include "transport/faults.hpp"
#include "transport/loopback/loopback.hpp"
#include "transport/messages/packet.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

namespace loopback = smddp::transport::loopback;
namespace rails = smddp::transport::rails;

namespace {

using namespace test;

using Hubs = std::vector<std::shared_ptr<loopback::Hub>>;

// A lane is given up sooner than it should be on a busy machine: that must cost nothing but its use.
constexpr rails::RailOptions kHasty{40000000, 10000000};

struct RailNetwork : Network {
  std::shared_ptr<Hubs> hubs = std::make_shared<Hubs>();
};

RailNetwork network_of(const std::string& name, const std::vector<loopback::Faults>& faults, const rails::RailOptions& options = {},
                       const std::function<bool(int, size_t)>& has = {}) {
  RailNetwork network;
  network.name = name;
  network.begin = [=, hubs = network.hubs](int size) {
    hubs->clear();
    for (const loopback::Faults& one : faults) hubs->push_back(std::make_shared<loopback::Hub>(size, one));
  };
  network.make = [=, hubs = network.hubs](int rank, int size) {
    smddp::transport::MessageOptions messages;
    messages.size = size;
    return loopback::make_rails(*hubs, rank, messages, options, has);
  };
  return network;
}

loopback::Faults slow(double bytes_per_us) {
  loopback::Faults faults;
  faults.bytes_per_us = bytes_per_us;
  return faults;
}

// Traffic both ways until both ranks have had so many messages of so many bytes.
std::string exchange(Rank& rank, int rounds, size_t bytes, uint64_t first_id) {
  for (int round = 0; round < rounds; ++round) {
    constexpr size_t kAtOnce = 8;
    std::vector<Buffer> out(kAtOnce, Buffer(bytes)), in(kAtOnce, Buffer(bytes));
    std::vector<Event> sent(kAtOnce), received(kAtOnce);
    const uint64_t id = first_id + static_cast<uint64_t>(round) * kAtOnce;
    for (size_t i = 0; i < kAtOnce; ++i) {
      TRY(rank.receive(rank.other(), id + i, in[i].data(), bytes, received[i]));
      fill(out[i].data(), bytes, (id + i) * 2 + static_cast<uint64_t>(rank.rank));
      TRY(rank.send(rank.other(), id + i, out[i].data(), bytes, sent[i]));
    }
    for (size_t i = 0; i < kAtOnce; ++i) {
      TRY(rank.wait_ok(sent[i], bytes));
      TRY(rank.wait_ok(received[i], bytes));
      TRY(check(in[i].data(), bytes, (id + i) * 2 + static_cast<uint64_t>(rank.other())));
      TRY(in[i].guards());
    }
  }
  return {};
}

// Both carry bytes, the faster one more.
std::string speeds(const Network&) {
  return run(network_of("unequal rails", {slow(20), slow(60)}), 2, [](Rank& rank) -> std::string {
    TRY(exchange(rank, 5, 2 << 20, 1));
    const auto& counters = rank.transport.counters();
    std::printf("rails of 20 and 60 bytes/us: %llu and %llu bytes\n", static_cast<unsigned long long>(counters.rail_bytes[0]),
                static_cast<unsigned long long>(counters.rail_bytes[1]));
    EXPECT(counters.rail_bytes[0] > 0, "the slow rail was not used");
    EXPECT(counters.rail_bytes[1] > counters.rail_bytes[0], "%llu bytes over the slow rail, %llu over the fast one",
           static_cast<unsigned long long>(counters.rail_bytes[0]), static_cast<unsigned long long>(counters.rail_bytes[1]));
    EXPECT(counters.lost_rails == 0, "%llu lost", static_cast<unsigned long long>(counters.lost_rails));
    return {};
  });
}

// One rail goes down in the middle, early or late, whichever: every message arrives, once; each rank knows of it.
std::string goes_down(const Network&) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    std::vector<loopback::Faults> faults{packet_faults(seed), packet_faults(seed + 100)};
    faults[seed % 2].cut_after = 1 + seed * 37 % 400;
    const std::string wrong = run(network_of("a rail that goes down", faults, kHasty), 2, [](Rank& rank) -> std::string {
      TRY(exchange(rank, 4, 100, 1));
      TRY(exchange(rank, 4, 300000, 10000));
      EXPECT(rank.transport.counters().lost_rails == 1, "%llu lost", static_cast<unsigned long long>(rank.transport.counters().lost_rails));
      return {};
    });
    if (!wrong.empty()) return format("seed %llu: %s", static_cast<unsigned long long>(seed), wrong.c_str());
  }
  return {};
}

// A peer that is away confirms nothing; its rails are well.
std::string away(const Network&) {
  return run(network_of("a peer that is away", {{}, {}}), 2, [](Rank& rank) -> std::string {
    TRY(exchange(rank, 2, 300000, 1));
    if (rank.rank == 1) {
      rank.meet();
      const timespec nap{2, 0};
      nanosleep(&nap, nullptr);
      TRY(exchange(rank, 2, 300000, 1000));
    } else {
      rank.meet();
      TRY(exchange(rank, 2, 300000, 1000));
    }
    EXPECT(rank.transport.counters().lost_rails == 0, "%llu lost", static_cast<unsigned long long>(rank.transport.counters().lost_rails));
    return {};
  });
}

// The last rail of a pair stays in use whatever it does: there is nothing better.
std::string both_go_down(const Network&) {
  std::vector<loopback::Faults> faults(2);
  faults[0].cut_after = 40;
  faults[1].cut_after = 60;
  return run(network_of("both rails go down", faults, kHasty), 2, [](Rank& rank) -> std::string {
    Buffer out(4 << 20), in(4 << 20);
    Event sent, received;
    TRY(rank.receive(rank.other(), 1, in.data(), in.size(), received));
    TRY(rank.send(rank.other(), 1, out.data(), out.size(), sent));
    rank.progress_for(kSecond / 2);
    EXPECT(!received.done(), "it came");
    rank.transport.fail_peer(rank.other(), "it does not answer");
    TRY(rank.wait(sent, kSecond));
    TRY(rank.wait(received, kSecond));
    EXPECT(received.result == Result::kPeerFailed, "result %d", static_cast<int>(received.result));
    return {};
  }, false);
}

// Frames that nobody of this job has sent, or with wild numbers.
std::string strangers(const Network&) {
  const Hubs hubs{std::make_shared<loopback::Hub>(3), std::make_shared<loopback::Hub>(3)};
  const std::unique_ptr<Transport> one = loopback::make_rails(hubs, 0, {}, {}), two = loopback::make_rails(hubs, 1, {}, {});
  const std::vector<std::string> addresses{one->address(), two->address()};
  one->connect(addresses, 0);
  two->connect(addresses, 1);
  const std::string plain = addresses[0].substr(sizeof(smddp::transport::Hello));  // begins with the nonce
  std::mt19937_64 random(7);
  Event events[2];
  std::vector<std::byte> room(200000);
  one->receive(1, 77, room.data(), room.size(), &events[0]);
  one->send(1, 78, room.data(), room.size(), &events[1]);
  for (int i = 0; i < 20000; ++i) {
    loopback::Item item;
    item.bytes.resize(random() % 120);
    for (std::byte& byte : item.bytes) byte = static_cast<std::byte>(random());
    if (i % 2 && item.bytes.size() >= 36) {
      std::memcpy(item.bytes.data(), plain.data(), 4);
      const uint32_t kind = static_cast<uint32_t>(random() % 6) << 24 | static_cast<uint32_t>(random() % 3);
      std::memcpy(item.bytes.data() + 4, &kind, sizeof(kind));
    }
    hubs[random() % 2]->post(2, 0, std::move(item));
    one->progress();
  }
  for (size_t cut = 0; cut < addresses[0].size(); ++cut) {
    const std::unique_ptr<Transport> other = loopback::make_rails(hubs, 2, {}, {});
    try {
      other->connect({addresses[0].substr(0, cut), addresses[1]}, 1);
      return format("an address of %zu bytes was taken", cut);
    } catch (const smddp::Error& error) {
      EXPECT(std::string(error.what()).find("rank 0") != std::string::npos, "%s", error.what());
    }
  }
  return {};
}

const Requirement kRails[] = {{"speeds", speeds}, {"goes_down", goes_down}, {"away", away}, {"both_go_down", both_go_down},
                              {"strangers", strangers}, {nullptr, nullptr}};

}  // namespace

int main(int argc, char** argv) {
  int failures = 0;
  if (argc == 1) {
    failures += test::run_suite(network_of("two rails", {{}, {}}));
    failures += test::run_requirements(network_of("two rails", {{}, {}}), {kRails});
    // Rank 1 has one of them only.
    failures += test::run_suite(network_of("rails of some", {slow(200), {}}, {}, [](int rank, size_t hub) { return rank != 1 || hub == 0; }));
  }
  const char* const seeds[] = {"", "1", "2"};
  for (int i = 1; i < (argc > 1 ? argc : 3); ++i) {
    const char* text = argc > 1 ? argv[i] : seeds[i];
    const uint64_t seed = std::strtoull(text, nullptr, 10);
    std::vector<loopback::Faults> faults{packet_faults(seed), packet_faults(seed + 1)};
    faults[seed % 2].bytes_per_us = 50;
    faults[(seed + 1) % 2].cut_after = 2000 + seed * 777 % 3000;
    RailNetwork network = network_of(std::string("rails, one goes down, faults of seed ") + text, faults, kHasty);
    network.rounds = 300;
    network.flood = 6000;
    failures += test::run_suite(network);
  }
  return failures;
}
