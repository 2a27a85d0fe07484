// Invariant: either all addresses that were chosen are listened at, on one port, or none is.
#include "bootstrap/listening.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/greeting.hpp"
#include "bootstrap/resolve.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace smddp::bootstrap {
namespace {

constexpr int kAskMs = 400;        // one holder of a port
constexpr int kPatienceMs = 1000;  // all of them, and ports that a connection of somebody holds for a moment

Error cannot_listen(const std::string& where, int error) {
  const smddp_status_t code = error == EMFILE || error == ENFILE || error == ENOMEM ? SMDDP_ERR_RESOURCE : SMDDP_ERR_BOOTSTRAP;
  return Error(code, format("rank 0 cannot listen at %s: %s", where.c_str(), strerror(error)));
}

Error no_loopback(const std::string& where) {
  return Error(SMDDP_ERR_BOOTSTRAP, format("rank 0 cannot be reached at %s: is the interface lo up?", where.c_str()));
}

struct Chosen {
  std::vector<Address> exact;  // bound as they are, if not empty
  std::vector<Address> named;  // what the placement's address means here
};

Chosen choose(const Placement& placement, int64_t deadline) {
  Chosen chosen;
  const Resolution found = resolve(placement.address, deadline);
  // A name service that does not answer hurts only those who must find rank 0.
  if (found.addresses.empty() && !found.temporary) {
    throw Error(SMDDP_ERR_BOOTSTRAP,
                format("address '%s' of rank 0 cannot be resolved: %s", placement.address.c_str(), found.error.c_str()));
  }
  chosen.named = found.addresses;
  const auto is_loopback = [](const Address& address) { return address.is_loopback(); };
  const bool here = placement.address == "localhost" && std::all_of(chosen.named.begin(), chosen.named.end(), is_loopback);
  if (found.numeric || here) chosen.exact = found.addresses;
  return chosen;
}

// errno, 0 for success. Addresses of a family that this machine lacks are left out.
int listen_on_port(const Chosen& chosen, int port, Listening& listening) {
  std::vector<UniqueFd> sockets;
  int unavailable = 0;
  for (const Address& address : chosen.exact) {
    // Without lo the kernel may still let a socket be bound, which nobody can reach.
    if (address.is_loopback() && !has_route(address)) {
      unavailable = EADDRNOTAVAIL;
      continue;
    }
    UniqueFd fd = listen_at(address.with_port(port));
    if (fd) {
      listening.where = address.with_port(port).text();
      sockets.push_back(std::move(fd));
    } else if (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT) {
      unavailable = errno;
    } else {
      return errno;
    }
  }
  if (sockets.empty()) {
    const bool loopback = !chosen.exact.empty() && chosen.exact[0].is_loopback();
    if (loopback) return unavailable;
    UniqueFd fd = listen_everywhere(port);
    if (!fd) return errno;
    listening.where = format("all addresses, port %d", port);
    if (unavailable) listening.where += format(" (%s is not an address of this machine)", chosen.exact[0].host().c_str());
    sockets.push_back(std::move(fd));
  }
  listening.sockets = std::move(sockets);
  return 0;
}

// Who holds the port: a sentence, or "" if nobody answers as a rank 0. Throws if it is rank 0 of this job.
std::string ask_holder(const Chosen& chosen, int port, const Hello& self, int64_t patience) {
  for (const Address& address : chosen.named) {
    const int64_t until = std::min(patience, deadline_after_ms(kAskMs));
    const Greeting greeting = greet(address.with_port(port), encode(self), until);
    if (greeting.outcome == Greeted::kVersion) return format("rank 0 of a job with another version of the library holds it");
    if (greeting.outcome != Greeted::kRefused) continue;
    if (greeting.verdict.reason == Reason::kJob) {
      return format("rank 0 of another job holds it: %s", greeting.verdict.text.c_str());
    }
    throw Error(SMDDP_ERR_BOOTSTRAP,
                format("port %d of %s is in use by a rank 0: %s", port, address.host().c_str(), greeting.verdict.text.c_str()));
  }
  return "";
}

}  // namespace

Listening listen_for_ranks(Placement& placement, const Hello& self, int64_t deadline) {
  Listening listening;
  if (placement.listener) {
    const Address address = local_address(placement.listener.get());
    listening.where = address.text();
    if (address.is_loopback() && !has_route(address)) throw no_loopback(listening.where);
    set_nonblocking(placement.listener.get());
    listening.sockets.push_back(std::move(placement.listener));
    return listening;
  }
  const int64_t patience = std::min(deadline, deadline_after_ms(kPatienceMs));
  const Chosen chosen = choose(placement, deadline);
  const int last = placement.port + placement.port_count - 1;
  std::string holder;
  for (int round = 0;; ++round) {
    for (int port = placement.port; port <= last; ++port) {
      const int error = listen_on_port(chosen, port, listening);
      if (error == 0) return listening;
      const std::string where = format("%s port %d", placement.address.c_str(), port);
      if (error == EADDRNOTAVAIL || error == EAFNOSUPPORT) {
        throw no_loopback(where);
      }
      if (error != EADDRINUSE) throw cannot_listen(where, error);
      if (round == 0 || holder.empty()) holder = ask_holder(chosen, port, self, patience);
    }
    // A holder that answers stays; one that does not may be a connection's own end, gone in a moment.
    if (!holder.empty() || now_ns() + 100000000 >= patience) break;
    wait_for(-1, 0, std::min(patience, deadline_after_ms(100)));
  }
  const std::string ports = placement.port_count == 1 ? format("port %d", placement.port) : format("ports %d-%d", placement.port, last);
  throw Error(SMDDP_ERR_BOOTSTRAP,
              format("%s of %s: in use by %s; give this job a port of its own", ports.c_str(), placement.address.c_str(),
                     holder.empty() ? "another program" : holder.c_str()));
}

}  // namespace smddp::bootstrap
