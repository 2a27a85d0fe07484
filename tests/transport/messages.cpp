// What arrives, in whatever order sends and receives are posted.
#include "transport/conformance.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <set>

namespace test {
namespace {

std::vector<size_t> sizes(const Rank& rank) {
  std::set<size_t> all{0, 1, 2, 3, 4, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000, 4095, 4096, 4097, 65535, 65536, 65537};
  const size_t eager = rank.transport.capabilities().eager_bytes;
  for (const size_t limit : {eager, size_t{16384}, size_t{128} << 10, size_t{1} << 20, size_t{4} << 20}) {
    for (const size_t around : {limit - 25, limit - 24, limit - 1, limit, limit + 1, limit + 24}) all.insert(around);
  }
  std::vector<size_t> chosen;
  for (const size_t size : all) {
    if (size <= rank.network.most_bytes) chosen.push_back(size);
  }
  return chosen;
}

enum class Order { kReceiveFirst, kSendFirst, kAtOnce };

// Both directions at once, every size, at odd alignments.
std::string exchange(Rank& rank, Order order) {
  uint64_t id = 100;
  for (const size_t bytes : sizes(rank)) {
    ++id;
    Buffer out(bytes, id % 8), in(bytes, (id * 3 + 1) % 8);
    fill(out.data(), bytes, id * 2 + static_cast<uint64_t>(rank.rank));
    Event sent, received;
    if (order == Order::kSendFirst) TRY(rank.send(rank.other(), id, out.data(), bytes, sent));
    if (order == Order::kSendFirst) TRY(rank.meet_moving());
    TRY(rank.receive(rank.other(), id, in.data(), bytes, received));
    if (order == Order::kReceiveFirst) TRY(rank.meet_moving());
    if (order != Order::kSendFirst) TRY(rank.send(rank.other(), id, out.data(), bytes, sent));
    TRY(rank.wait_ok(sent, bytes));
    TRY(rank.wait_ok(received, bytes));
    TRY(check(in.data(), bytes, id * 2 + static_cast<uint64_t>(rank.other())));
    TRY(in.guards());
    TRY(out.guards());
    TRY(check(out.data(), bytes, id * 2 + static_cast<uint64_t>(rank.rank)));
  }
  return {};
}

std::string receive_first(const Network& network) {
  return run(network, 2, [](Rank& rank) { return exchange(rank, Order::kReceiveFirst); });
}
std::string send_first(const Network& network) {
  return run(network, 2, [](Rank& rank) { return exchange(rank, Order::kSendFirst); });
}
std::string at_once(const Network& network) {
  return run(network, 2, [](Rank& rank) { return exchange(rank, Order::kAtOnce); });
}

// Room for more than comes, on either side of every limit.
std::string shorter(const Network& network) {
  return run(network, 2, [](Rank& rank) -> std::string {
    uint64_t id = 1;
    const size_t eager = rank.transport.capabilities().eager_bytes;
    for (const bool receive_first : {true, false}) {
      for (const size_t bytes : {size_t{0}, size_t{5}, eager - 1, eager, eager + 1, 3 * eager, size_t{100000}}) {
        for (const size_t more : {size_t{1}, size_t{100}, eager, size_t{200000}}) {
          ++id;
          if (bytes + more > rank.network.most_bytes) continue;
          Buffer out(bytes), in(bytes + more);
          fill(out.data(), bytes, id);
          Event sent, received;
          if (receive_first) TRY(rank.receive(rank.other(), id, in.data(), bytes + more, received));
          if (receive_first) TRY(rank.meet_moving());
          TRY(rank.send(rank.other(), id, out.data(), bytes, sent));
          if (!receive_first) TRY(rank.meet_moving());
          if (!receive_first) TRY(rank.receive(rank.other(), id, in.data(), bytes + more, received));
          TRY(rank.wait_ok(sent, bytes));
          TRY(rank.wait_ok(received, bytes));
          TRY(check(in.data(), bytes, id));
          TRY(in.guards());
        }
      }
    }
    return {};
  });
}

std::string truncated(const Network& network) {
  return run(network, 2, [](Rank& rank) -> std::string {
    uint64_t id = 1;
    const size_t eager = rank.transport.capabilities().eager_bytes;
    for (const bool receive_first : {true, false}) {
      for (const size_t room : {size_t{0}, size_t{5}, eager - 1, eager, eager + 1, 3 * eager}) {
        for (const size_t more : {size_t{1}, size_t{100}, eager, 2 * eager}) {
          ++id;
          if (room + more > rank.network.most_bytes) continue;
          Buffer out(room + more), in(room);
          Event sent, received;
          if (receive_first) TRY(rank.receive(rank.other(), id, in.data(), room, received));
          if (receive_first) TRY(rank.meet_moving());
          TRY(rank.send(rank.other(), id, out.data(), room + more, sent));
          if (!receive_first) TRY(rank.meet_moving());
          if (!receive_first) TRY(rank.receive(rank.other(), id, in.data(), room, received));
          TRY(rank.wait(sent));
          TRY(rank.wait(received));
          EXPECT(received.result == Result::kTruncated, "%zu + %zu bytes: result %d", room, more, static_cast<int>(received.result));
          EXPECT(received.bytes == room + more, "%zu bytes", received.bytes);
          EXPECT(received.sentence.find(std::to_string(room)) != std::string::npos, "'%s'", received.sentence.c_str());
          EXPECT(sent.result == Result::kOk || sent.result == Result::kTruncated, "result %d", static_cast<int>(sent.result));
          TRY(in.guards());
        }
      }
    }
    return {};
  });
}

// Both sides mean different messages under one id: no data is placed, both learn of it or the sender is done, and others go on.
std::string notes(const Network& network) {
  return run(network, 2, [](Rank& rank) -> std::string {
    uint64_t id = 1;
    const size_t eager = rank.transport.capabilities().eager_bytes;
    for (const bool receive_first : {true, false}) {
      for (const size_t bytes : {size_t{0}, size_t{4}, eager, eager + 1, 3 * eager}) {
        for (const size_t room : {bytes, bytes + 1, 4 * eager, bytes / 2}) {
          for (const bool same : {true, false}) {
            ++id;
            if (std::max(bytes, room) > rank.network.most_bytes) continue;
            Buffer out(bytes), in(room);
            fill(out.data(), bytes, id);
            fill(in.data(), room, ~id);
            Event sent, received;
            sent.note = 7;
            received.note = same ? 7 : 8;
            if (receive_first) TRY(rank.receive(rank.other(), id, in.data(), room, received));
            if (receive_first) TRY(rank.meet_moving());
            TRY(rank.send(rank.other(), id, out.data(), bytes, sent));
            if (!receive_first) TRY(rank.meet_moving());
            if (!receive_first) TRY(rank.receive(rank.other(), id, in.data(), room, received));
            TRY(rank.wait(sent));
            TRY(rank.wait(received));
            TRY(in.guards());
            if (same) {
              EXPECT(received.result == (bytes <= room ? Result::kOk : Result::kTruncated), "%zu for %zu bytes", bytes, room);
              if (bytes <= room) TRY(check(in.data(), bytes, id));
              continue;
            }
            EXPECT(received.result == Result::kMismatch, "%zu for %zu bytes: result %d", bytes, room, static_cast<int>(received.result));
            EXPECT(sent.result == Result::kOk || sent.result == Result::kMismatch, "result %d", static_cast<int>(sent.result));
            EXPECT(!received.sentence.empty(), "no sentence");
            TRY(check(in.data(), room, ~id));
          }
        }
      }
    }
    return {};
  });
}

// A fast sender takes bounded memory of a slow receiver; and messages that lack credit do not stand in the way of others.
std::string flood(const Network& network) {
  return run(network, 2, [](Rank& rank) -> std::string {
    const auto count = static_cast<size_t>(rank.network.flood);
    constexpr size_t kBytes = 64;
    constexpr size_t kInFlight = 2000;
    if (rank.rank == 0) {
      std::vector<Event> events(kInFlight);
      std::vector<std::array<std::byte, kBytes>> data(kInFlight);
      for (size_t i = 0; i < count; ++i) {
        Event& event = events[i % kInFlight];
        if (i >= kInFlight) TRY(rank.wait_ok(event, kBytes));
        fill(data[i % kInFlight].data(), kBytes, i);
        TRY(rank.send(1, i, data[i % kInFlight].data(), kBytes, event));
        if (i == count / 4) {  // of another conversation, while the credit of this one is spent
          Event other;
          TRY(rank.send(1, ~uint64_t{0}, nullptr, 0, other));
          TRY(rank.wait_ok(other, 0));
        }
      }
      for (size_t i = count > kInFlight ? count - kInFlight : 0; i < count; ++i) TRY(rank.wait_ok(events[i % kInFlight], kBytes));
      return {};
    }
    rank.progress_for(kSecond / 5);
    std::array<std::byte, kBytes> in;
    Event event, other;
    for (size_t i = 0; i < count; ++i) {
      if (i == count / 8) TRY(rank.receive(0, ~uint64_t{0}, nullptr, 0, other));
      TRY(rank.receive(0, i, in.data(), kBytes, event));
      TRY(rank.wait_ok(event, kBytes));
      TRY(check(in.data(), kBytes, i));
    }
    TRY(rank.wait_ok(other, 0));
    const auto& counters = rank.transport.counters();
    const size_t most = rank.transport.capabilities().window_bytes + 64 * kInFlight;
    EXPECT(counters.unexpected_bytes_peak <= most, "%zu bytes, not %zu", static_cast<size_t>(counters.unexpected_bytes_peak), most);
    EXPECT(counters.unexpected > 0, "the receiver was not slow");
    EXPECT(counters.unexpected_bytes == 0, "%zu bytes left", static_cast<size_t>(counters.unexpected_bytes));
    return {};
  });
}

std::string many_peers(const Network& network) {
  return run(network, network.ranks, [](Rank& rank) -> std::string {
    const auto size = static_cast<size_t>(rank.size);
    for (const size_t bytes : {size_t{8}, size_t{5000}, size_t{100000}}) {
      if (bytes > rank.network.most_bytes) continue;
      std::vector<Event> sent(size), received(size);
      std::vector<Buffer> out(size, Buffer(bytes)), in(size, Buffer(bytes));
      for (size_t step = 1; step < size; ++step) {
        const auto from = static_cast<int>((static_cast<size_t>(rank.rank) + size - step) % size);
        TRY(rank.receive(from, bytes, in[static_cast<size_t>(from)].data(), bytes, received[static_cast<size_t>(from)]));
        const auto to = (static_cast<size_t>(rank.rank) + step) % size;
        fill(out[to].data(), bytes, static_cast<uint64_t>(rank.rank) * 100 + to);
        TRY(rank.send(static_cast<int>(to), bytes, out[to].data(), bytes, sent[to]));
      }
      for (size_t i = 0; i < size; ++i) {
        if (static_cast<int>(i) == rank.rank) continue;
        TRY(rank.wait_ok(sent[i], bytes));
        TRY(rank.wait_ok(received[i], bytes));
        TRY(check(in[i].data(), bytes, i * 100 + static_cast<uint64_t>(rank.rank)));
      }
    }
    return {};
  });
}

std::string reused_ids(const Network& network) {
  return run(network, 2, [](Rank& rank) -> std::string {
    const size_t largest = std::min<size_t>(rank.network.most_bytes, 70000);
    std::vector<std::byte> out(largest), in(largest);
    const size_t lengths[] = {4, largest, 0, 300, 17000, 16384};
    for (int round = 0; round < rank.network.rounds; ++round) {
      const size_t bytes = std::min(lengths[round % 6], largest);
      const auto seed = static_cast<uint64_t>(round);
      fill(out.data(), bytes, seed * 2 + static_cast<uint64_t>(rank.rank));
      Event sent, received;
      if ((round + rank.rank) % 3) TRY(rank.receive(rank.other(), 7, in.data(), bytes, received));
      TRY(rank.send(rank.other(), 7, out.data(), bytes, sent));
      if ((round + rank.rank) % 3 == 0) TRY(rank.receive(rank.other(), 7, in.data(), bytes, received));
      TRY(rank.wait_ok(sent, bytes));
      TRY(rank.wait_ok(received, bytes));
      TRY(check(in.data(), bytes, seed * 2 + static_cast<uint64_t>(rank.other())));
      // Both sides have to be done before the id serves again.
      Event told, heard;
      TRY(rank.receive(rank.other(), 8 + seed, nullptr, 0, heard));
      TRY(rank.send(rank.other(), 8 + seed, nullptr, 0, told));
      TRY(rank.wait_ok(told, 0));
      TRY(rank.wait_ok(heard, 0));
    }
    const auto left = static_cast<size_t>(rank.transport.counters().unexpected_bytes);
    EXPECT(left == 0, "%zu bytes of messages that are over", left);  // an offer that came after its message would take the next one's place
    return {};
  });
}

std::string unexpected_first(const Network& network) {
  return run(network, 2, [](Rank& rank) -> std::string {
    constexpr size_t kCount = 60;
    std::vector<Event> sent(kCount), received(kCount);
    std::vector<Buffer> out, in;
    const auto bytes_of = [&](size_t i) { return std::min(i * i * 40, rank.network.most_bytes); };
    for (size_t i = 0; i < kCount; ++i) {
      out.emplace_back(bytes_of(i));
      in.emplace_back(bytes_of(i));
      fill(out[i].data(), bytes_of(i), i);
      TRY(rank.send(rank.other(), i, out[i].data(), bytes_of(i), sent[i]));
    }
    rank.progress_for(kSecond / 20);
    for (size_t i = kCount; i-- > 0;) TRY(rank.receive(rank.other(), i, in[i].data(), bytes_of(i), received[i]));
    for (size_t i = 0; i < kCount; ++i) {
      TRY(rank.wait_ok(sent[i], bytes_of(i)));
      TRY(rank.wait_ok(received[i], bytes_of(i)));
      TRY(check(in[i].data(), bytes_of(i), i));
    }
    return {};
  });
}

// Any sizes, in any order, between all ranks.
std::string random_traffic(const Network& network) {
  const int size = std::min(network.ranks, 4);
  return run(network, size, [](Rank& rank) -> std::string {
    struct Message {
      int from, to;
      size_t bytes;
    };
    std::mt19937_64 shared(42), own(static_cast<uint64_t>(rank.rank));
    const size_t count = static_cast<size_t>(rank.network.rounds) / 10;
    for (int round = 0; round < 4; ++round) {
      std::vector<Message> messages;
      for (size_t i = 0; i < count; ++i) {
        const int from = static_cast<int>(shared() % static_cast<uint64_t>(rank.size));
        const int to = (from + 1 + static_cast<int>(shared() % static_cast<uint64_t>(rank.size - 1))) % rank.size;
        const size_t bytes = std::min<size_t>(size_t{1} << shared() % 18, rank.network.most_bytes) + shared() % 3;
        messages.push_back({from, to, bytes});
      }
      std::vector<Buffer> buffers;
      std::vector<size_t> order;
      for (size_t i = 0; i < count; ++i) {
        const bool mine = messages[i].from == rank.rank || messages[i].to == rank.rank;
        buffers.emplace_back(mine ? messages[i].bytes : 0, own() % 4);
        if (mine) order.push_back(i);
      }
      std::shuffle(order.begin(), order.end(), own);
      std::vector<Event> events(count);
      for (const size_t i : order) {
        const Message& message = messages[i];
        const uint64_t id = static_cast<uint64_t>(round) << 32 | i;
        if (message.from == rank.rank) {
          fill(buffers[i].data(), message.bytes, id);
          TRY(rank.send(message.to, id, buffers[i].data(), message.bytes, events[i]));
        } else {
          TRY(rank.receive(message.from, id, buffers[i].data(), message.bytes, events[i]));
        }
        if (own() % 4 == 0) rank.transport.progress();
      }
      for (const size_t i : order) {
        TRY(rank.wait_ok(events[i], messages[i].bytes));
        TRY(check(buffers[i].data(), messages[i].bytes, static_cast<uint64_t>(round) << 32 | i));
        TRY(buffers[i].guards());
      }
    }
    return {};
  });
}

// A rank that waits sleeps, and wakes when a message comes.
std::string sleeps(const Network& network) {
  return run(network, 2, [](Rank& rank) -> std::string {
    TRY(rank.meet_moving());
    if (rank.rank == 0) {
      const auto naps = rank.transport.counters().naps, slept = rank.transport.counters().sleeps;
      Event event;
      TRY(rank.receive(1, 5, nullptr, 0, event));
      TRY(rank.wait_asleep(event));
      const uint64_t fell_asleep = rank.transport.counters().naps + rank.transport.counters().sleeps - naps - slept;
      EXPECT(fell_asleep > 0, "it did not sleep");
      EXPECT(fell_asleep < 2000, "it slept %llu times in 0.3 s", static_cast<unsigned long long>(fell_asleep));
    } else {
      timespec nap{0, 300000000};
      nanosleep(&nap, nullptr);
      Event event;
      TRY(rank.send(0, 5, nullptr, 0, event));
      TRY(rank.wait_ok(event, 0));
    }
    return {};
  });
}

}  // namespace

const Requirement kMessages[] = {{"receive_first", receive_first}, {"send_first", send_first}, {"at_once", at_once},
                                 {"shorter", shorter}, {"truncated", truncated}, {"notes", notes}, {"flood", flood},
                                 {"many_peers", many_peers}, {"reused_ids", reused_ids}, {"unexpected_first", unexpected_first},
                                 {"random_traffic", random_traffic}, {"sleeps", sleeps}, {nullptr, nullptr}};

}  // namespace test
