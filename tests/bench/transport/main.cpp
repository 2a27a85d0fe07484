// Exchanges between two processes, by each transport and by bare libfabric in turn: transport_bench [PROVIDER …] [-a ADDRESS] [-m MOST] [-p PACKET].
// Prints the time of an exchange that one in ten undercuts (both ranks send and receive) and its ratio to the bare loop of the same run.
#include "base/clock.hpp"
#include "base/units.hpp"
#include "bench/transport/bare.hpp"
#include "transport/ofi/ofi.hpp"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sched.h>
#include <stdexcept>
#include <vector>

namespace ofi = smddp::transport::ofi;
using smddp::now_ns;
using smddp::transport::Event;
using smddp::transport::Transport;

namespace {

struct Settings {
  std::string provider, address = "127.0.0.1";
  size_t most_bytes = 16u << 20, packet_bytes = 0;
};

// The other process, for addresses and for meeting.
class Other {
 public:
  explicit Other(int fd) : fd_(fd) {}
  std::string swap(const std::string& mine) {
    char bytes[1024];
    if (send(fd_, mine.data(), mine.size(), 0) < 0) throw std::runtime_error("send");
    const ssize_t length = recv(fd_, bytes, sizeof(bytes), 0);
    if (length <= 0) throw std::runtime_error("the other process has ended");
    return std::string(bytes, static_cast<size_t>(length));
  }

 private:
  int fd_;
};

bool exchange(Transport& transport, int other, const void* out, void* in, size_t bytes, uint64_t id) {
  Event sent, received;
  while (!transport.receive(other, id, in, bytes, &received)) transport.progress();
  while (!transport.send(other, id, out, bytes, &sent)) transport.progress();
  while (!sent.done() || !received.done()) transport.progress();
  return sent.result == smddp::transport::Result::kOk && received.result == smddp::transport::Result::kOk;
}

struct Contestant {
  std::string name;
  std::unique_ptr<Transport> transport;
  std::vector<double> times;
};

// The time that one in ten undercuts: what others do on the machine is above it.
double quiet(std::vector<double>& times) {
  const auto place = static_cast<std::ptrdiff_t>(times.size() / 10);
  std::nth_element(times.begin(), times.begin() + place, times.end());
  return times[static_cast<size_t>(place)];
}

int measure(int rank, Other& other, const Settings& settings) {
  auto found = ofi::candidates(settings.provider, settings.address);
  if (found.empty() || !found.front().plan.usable) throw std::runtime_error("no provider " + settings.provider);
  bench::Bare bare(std::move(found.front()));
  bare.connect(other.swap(bare.address()));
  std::vector<Contestant> ours;
  for (const ofi::Bulk bulk : {ofi::Bulk::kTagged, ofi::Bulk::kWrite}) {
    ofi::Options options;
    options.provider = settings.provider;
    options.source_address = settings.address;
    options.bulk = bulk;
    options.packet_bytes = settings.packet_bytes;
    if (settings.packet_bytes) options.messages.eager_bytes = settings.packet_bytes;
    ours.push_back({ofi::bulk_name(bulk), ofi::make(options), {}});
    Transport& transport = *ours.back().transport;
    const std::string mine = transport.address(), its = other.swap(mine);
    transport.connect(rank == 0 ? std::vector<std::string>{mine, its} : std::vector<std::string>{its, mine}, rank);
  }
  if (rank == 0) {
    std::printf("%s, exchange between two processes, first decile, µs\n%10s %10s", settings.provider.c_str(), "bytes", "bare");
    for (const Contestant& one : ours) std::printf(" %10s %6s", one.name.c_str(), "ratio");
    std::printf("\n");
  }
  uint64_t id = 1;
  for (size_t bytes = 4; bytes <= settings.most_bytes; bytes *= bytes < 1024 ? 8 : 2) {
    std::vector<std::byte> out(bytes), in(bytes);
    const int rounds = bytes <= 16384 ? 200 : bytes <= (1u << 20) ? 40 : 8;
    std::vector<double> plain;
    for (Contestant& one : ours) one.times.clear();
    for (int block = 0; block < 5; ++block) {
      for (int i = -2; i < rounds; ++i) {
        const int64_t start = now_ns();
        if (!bare.exchange(out.data(), in.data(), bytes, id++)) throw std::runtime_error("bare libfabric failed");
        if (i >= 0) plain.push_back(static_cast<double>(now_ns() - start) * 1e-3);
      }
      other.swap("x");
      for (Contestant& one : ours) {
        for (int i = -2; i < rounds; ++i) {
          const int64_t start = now_ns();
          if (!exchange(*one.transport, 1 - rank, out.data(), in.data(), bytes, id++)) throw std::runtime_error(one.name + " failed");
          if (i >= 0) one.times.push_back(static_cast<double>(now_ns() - start) * 1e-3);
        }
        other.swap("x");
      }
    }
    if (rank != 0) continue;
    const double base = quiet(plain);
    std::printf("%10zu %10.2f", bytes, base);
    for (Contestant& one : ours) {
      const double time = quiet(one.times);
      std::printf(" %10.2f %6.2f", time, time / base);
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  for (Contestant& one : ours) one.transport->quiesce(now_ns() + 1000000000);
  return 0;
}

int run(const Settings& settings) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) return 1;
  const pid_t child = fork();
  const int rank = child == 0 ? 1 : 0;
  close(ends[1 - rank]);
  cpu_set_t allowed, one;
  sched_getaffinity(0, sizeof(allowed), &allowed);
  if (CPU_COUNT(&allowed) >= 2) {
    int seen = -1;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &allowed) || ++seen != rank) continue;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      sched_setaffinity(0, sizeof(one), &one);
    }
  }
  int status = 1;
  try {
    Other other(ends[rank]);
    status = measure(rank, other, settings);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
  }
  close(ends[rank]);
  if (child == 0) _exit(status);
  int ended = 0;
  waitpid(child, &ended, 0);
  return status | (ended != 0);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  std::vector<std::string> providers;
  for (int i = 1; i < argc; ++i) {
    int64_t bytes = 0;
    if (std::strcmp(argv[i], "-a") == 0 && i + 1 < argc) settings.address = argv[++i];
    else if (std::strcmp(argv[i], "-m") == 0 && i + 1 < argc && smddp::parse_bytes(argv[++i], bytes)) settings.most_bytes = static_cast<size_t>(bytes);
    else if (std::strcmp(argv[i], "-p") == 0 && i + 1 < argc && smddp::parse_bytes(argv[++i], bytes)) settings.packet_bytes = static_cast<size_t>(bytes);
    else providers.push_back(argv[i]);
  }
  if (providers.empty()) providers = {"net", "tcp;ofi_rxm", "udp;ofi_rxd"};
  int status = 0;
  for (const std::string& provider : providers) {
    settings.provider = provider;
    Settings one = settings;
    if (provider.find("udp") != std::string::npos) one.most_bytes = std::min<size_t>(one.most_bytes, 65536);
    status |= run(one);
  }
  return status;
}
