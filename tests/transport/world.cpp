#include "transport/world.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <thread>

namespace test {
namespace {

// Moves the transport, or sleeps as it says.
void pause(Transport& transport, int& idle, int most_idle = 200) {
  if (transport.progress()) {
    idle = 0;
    return;
  }
  if (++idle < most_idle) {
    sched_yield();
    return;
  }
  const smddp::transport::Sleep sleep = transport.arm();
  if (!sleep.may_sleep) return;
  if (sleep.fd >= 0) {
    pollfd entry{sleep.fd, POLLIN, 0};
    poll(&entry, 1, 100);
  } else {
    const timespec nap{0, sleep.nap_us * 1000};
    nanosleep(&nap, nullptr);
  }
}

std::string post(Rank& rank, const char* what, const std::function<bool()>& call) {
  const int64_t deadline = now_ns() + rank.network.deadline_ns;
  int idle = 0;
  while (!call()) {
    if (now_ns() > deadline) return format("rank %d: a %s was refused until the deadline", rank.rank, what);
    pause(rank.transport, idle);
  }
  return {};
}

}  // namespace

// As new, but for what its owner says in it.
static void renew(Event& event) {
  Event fresh;
  fresh.note = event.note;
  event = fresh;
}

std::string Rank::send(int peer, uint64_t id, const void* data, size_t bytes, Event& event) {
  renew(event);
  return post(*this, "send", [&] { return transport.send(peer, id, data, bytes, &event); });
}

std::string Rank::receive(int peer, uint64_t id, void* data, size_t bytes, Event& event) {
  renew(event);
  return post(*this, "receive", [&] { return transport.receive(peer, id, data, bytes, &event); });
}

std::string Rank::wait(Event& event, int64_t limit_ns) {
  const int64_t deadline = now_ns() + (limit_ns ? limit_ns : network.deadline_ns);
  int idle = 0;
  while (!event.done()) {
    if (now_ns() > deadline) return format("rank %d: an event was not done until the deadline", rank);
    pause(transport, idle);
  }
  return {};
}

std::string Rank::wait_asleep(Event& event) {
  const int64_t deadline = now_ns() + network.deadline_ns;
  int idle = 0;
  while (!event.done()) {
    if (now_ns() > deadline) return format("rank %d: an event was not done until the deadline", rank);
    pause(transport, idle, 0);
  }
  EXPECT(event.result == Result::kOk, "rank %d: %s", rank, event.sentence.c_str());
  return {};
}

std::string Rank::wait_ok(Event& event, size_t bytes) {
  TRY(wait(event));
  EXPECT(event.result == Result::kOk, "rank %d: result %d, %s", rank, static_cast<int>(event.result), event.sentence.c_str());
  EXPECT(event.bytes == bytes, "rank %d: %zu bytes, not %zu", rank, event.bytes, bytes);
  return {};
}

void Rank::progress_for(int64_t ns) {
  const int64_t end = now_ns() + ns;
  int idle = 0;
  while (now_ns() < end) pause(transport, idle);
}

void Rank::meet_serving() {
  const uint64_t number = meeting_.come();
  int idle = 0;
  while (!meeting_.over(number)) pause(transport, idle);
}

// Dissemination: in round k a token goes 2^k ranks further.
std::string Rank::meet_moving() {
  static thread_local uint64_t round = 0;
  ++round;
  for (int step = 1; step < size; step *= 2) {
    Event sent, received;
    const uint64_t id = uint64_t{0xffff} << 48 | round << 16 | static_cast<uint64_t>(step);
    TRY(receive((rank + size - step) % size, id, nullptr, 0, received));
    TRY(send((rank + step) % size, id, nullptr, 0, sent));
    TRY(wait_ok(sent, 0));
    TRY(wait_ok(received, 0));
  }
  return {};
}

uint64_t Meeting::come() {
  const std::lock_guard lock(mutex_);
  const uint64_t number = number_;
  ++there_;
  end_if_complete();
  return number;
}

bool Meeting::over(uint64_t number) {
  const std::lock_guard lock(mutex_);
  return number_ != number;
}

void Meeting::wait(uint64_t number) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return number_ != number; });
}

void Meeting::leave() {
  const std::lock_guard lock(mutex_);
  --expected_;
  end_if_complete();
}

void Meeting::end_if_complete() {
  if (there_ < expected_ || there_ == 0) return;
  there_ = 0;
  ++number_;
  changed_.notify_all();
}

std::string run(const Network& network, int size, const Body& body, bool quiesce) {
  if (network.begin) network.begin(size);
  std::vector<std::string> addresses(static_cast<size_t>(size)), wrongs(static_cast<size_t>(size));
  Meeting meeting(size);
  std::atomic<bool> failed{false};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      std::string& wrong = wrongs[static_cast<size_t>(rank)];
      std::unique_ptr<Transport> transport;
      try {
        transport = network.make(rank, size);
        addresses[static_cast<size_t>(rank)] = transport->address();
      } catch (const std::exception& error) {
        wrong = error.what();
        failed = true;
      }
      meeting.wait(meeting.come());
      if (failed) return;
      try {
        transport->connect(addresses, rank);
        Rank self(*transport, network, meeting, rank, size);
        wrong = body(self);
        if (wrong.empty() && quiesce && !transport->quiesce(now_ns() + 10 * kSecond)) wrong = "quiesce: not all have said good-bye";
      } catch (const std::exception& error) {
        wrong = error.what();
      }
      meeting.leave();
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::string all;
  for (int rank = 0; rank < size; ++rank) {
    if (!wrongs[static_cast<size_t>(rank)].empty()) all += format("rank %d: %s\n", rank, wrongs[static_cast<size_t>(rank)].c_str());
  }
  return all;
}

void fill(std::byte* data, size_t bytes, uint64_t seed) {
  uint64_t value = seed * 0x9e3779b97f4a7c15u + 1;
  size_t i = 0;
  for (; i + 8 <= bytes; i += 8, value = value * 6364136223846793005u + 1442695040888963407u) std::memcpy(data + i, &value, 8);
  for (; i < bytes; ++i) data[i] = static_cast<std::byte>(value >> (i % 8 * 8));
}

std::string check(const std::byte* data, size_t bytes, uint64_t seed) {
  std::vector<std::byte> expected(bytes);
  fill(expected.data(), bytes, seed);
  if (bytes == 0 || std::memcmp(data, expected.data(), bytes) == 0) return {};
  size_t at = 0;
  while (data[at] == expected[at]) ++at;
  return format("byte %zu of %zu is wrong", at, bytes);
}

Buffer::Buffer(size_t bytes, size_t misalign)
    : bytes_(bytes), misalign_(misalign), memory_(bytes + misalign + 2 * kGuard, std::byte{0xa5}) {}

std::string Buffer::guards() const {
  for (size_t i = 0; i < memory_.size(); ++i) {
    if (i == kGuard + misalign_) i += bytes_;
    if (i < memory_.size() && memory_[i] != std::byte{0xa5}) return format("byte %zd beside a buffer of %zu was written", i - kGuard - misalign_, bytes_);
  }
  return {};
}

Pages::Pages(size_t bytes) : bytes_(bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("mmap");
  data_ = static_cast<std::byte*>(memory);
}

void Pages::unmap() {
  if (data_) munmap(data_, bytes_);
  data_ = nullptr;
}

}  // namespace test
