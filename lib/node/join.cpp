#include "node/join.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "node/arena.hpp"
#include "node/fd_passing.hpp"
#include "node/sleeper_fence.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace smddp::node {
namespace {

constexpr uint64_t kHelloMagic = 0x31494f4a50445353;
constexpr size_t kFdsPerMessage = 200;  // the kernel takes 253

struct Hello {
  uint64_t magic;
  uint32_t version;
  int32_t local_rank;
  uint64_t accepts_fences;
};

// What local rank 0 tells everybody, before the pids.
struct Welcome {
  uint64_t fences_all;
};

std::string socket_name(const std::array<uint8_t, 16>& nonce, const std::string& node) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a: only tells apart the nodes of one job
  for (unsigned char c : node) hash = (hash ^ c) * 1099511628211u;
  std::string name = "smddp-";
  for (uint8_t byte : nonce) name += format("%02x", byte);
  return name + format("-%016llx", static_cast<unsigned long long>(hash));
}

UniqueFd make_doorbell() {
  UniqueFd fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd) throw system_error("eventfd", "for a rank's doorbell; see ulimit -n if it is the limit of open files");
  return fd;
}

int64_t peer_pid(int socket) {
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 ? credentials.pid : 0;
}

// The user at the other end; nobody's number if the kernel does not say.
uid_t peer_user(int socket) {
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 ? credentials.uid : static_cast<uid_t>(-1);
}

std::string missing_text(const Joined& joined, const std::vector<int>& global_ranks) {
  std::string text;
  for (size_t r = 1; r < global_ranks.size(); ++r) {
    if (!joined.connections[r]) text += format("%s%d", text.empty() ? "" : ", ", global_ranks[r]);
  }
  return text;
}

// A rank that has met the others ended before it joined them.
Error ended(int global_rank, const std::string& sentence) {
  return Error(SMDDP_ERR_PEER_GONE, sentence.empty() ? format("rank %d died in smddp_init, after the ranks had met", global_rank) : sentence);
}

// Waits for a descriptor to be readable, or until it is time. Throws if a witness has something to tell.
void watch(int fd, const Witnesses& witnesses, const std::vector<int>& global_ranks, int64_t until) {
  std::vector<pollfd> entries{{fd, POLLIN, 0}};
  for (int socket : witnesses.sockets) entries.push_back({socket, POLLIN, 0});
  const int64_t left = until == kNever ? 0 : std::max<int64_t>(0, until - now_ns());
  const timespec limit{left / 1000000000, left % 1000000000};
  const int ready = ppoll(entries.data(), entries.size(), until == kNever ? nullptr : &limit, nullptr);
  if (ready < 0 && errno != EINTR) throw system_error("ppoll", "while the ranks of this node join");
  if (ready <= 0 || entries[0].revents) return;
  for (size_t r = 0; r < witnesses.sockets.size(); ++r) {
    if (!entries[r + 1].revents) continue;
    if (const auto sentence = witnesses.heard(witnesses.sockets[r], 200)) throw ended(global_ranks[r], *sentence);
  }
}

// Local rank 0: takes in the others, whose first message is Hello with their doorbell, then sends everyone everything.
Joined serve(const std::string& name, const Witnesses& witnesses, const std::vector<int>& global_ranks, uint64_t heap_bytes,
             int64_t deadline) {
  const size_t ranks = global_ranks.size();
  Joined joined;
  joined.doorbells.resize(ranks);
  joined.connections.resize(ranks);
  joined.pids.resize(ranks, 0);
  joined.doorbells[0] = make_doorbell();
  joined.pids[0] = getpid();
  joined.arena = Arena::create(static_cast<int>(ranks), heap_bytes);
  joined.fences_all = accept_fences();
  if (ranks == 1) return joined;

  const UniqueFd listener = listen_abstract(name, static_cast<int>(ranks));
  for (size_t arrived = 1; arrived < ranks;) {
    watch(listener.get(), witnesses, global_ranks, deadline);
    if (remaining_ms(deadline) == 0) {
      throw Error(SMDDP_ERR_TIMEOUT, format("rank %d waited in smddp_init for rank(s) %s of its node, which met it but did not join the "
                                            "shared memory", global_ranks[0], missing_text(joined, global_ranks).c_str()));
    }
    UniqueFd connection(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
      throw system_error("accept4", "of a rank of this node; see ulimit -n if it is the limit of open files");
    }
    if (!connection || peer_user(connection.get()) != geteuid()) continue;
    Hello hello{};
    std::vector<UniqueFd> fds;
    const int64_t hello_deadline = std::min(deadline, deadline_after_ms(2000));
    if (!receive_message(connection.get(), &hello, sizeof(hello), fds, 1, hello_deadline)) continue;
    const size_t r = static_cast<size_t>(hello.local_rank);
    if (hello.magic != kHelloMagic || hello.version != kProtocolVersion || r == 0 || r >= ranks || joined.connections[r]) continue;
    joined.pids[r] = peer_pid(connection.get());
    joined.doorbells[r] = std::move(fds[0]);
    joined.connections[r] = std::move(connection);
    joined.fences_all = joined.fences_all && hello.accepts_fences;
    ++arrived;
  }
  std::vector<int> all;
  all.push_back(joined.arena.get());
  for (const UniqueFd& bell : joined.doorbells) all.push_back(bell.get());
  const Welcome welcome{joined.fences_all};
  for (size_t r = 1; r < ranks; ++r) {
    send_message(joined.connections[r].get(), &welcome, sizeof(welcome), nullptr, 0);
    send_message(joined.connections[r].get(), joined.pids.data(), ranks * sizeof(int64_t), nullptr, 0);
    for (size_t i = 0; i < all.size(); i += kFdsPerMessage) {
      const size_t count = std::min(kFdsPerMessage, all.size() - i);
      send_message(joined.connections[r].get(), &kHelloMagic, sizeof(kHelloMagic), all.data() + i, count);
    }
  }
  return joined;
}

Joined enter(const std::string& name, const Witnesses& witnesses, const std::vector<int>& global_ranks, int local_rank,
             int64_t deadline) {
  const size_t ranks = global_ranks.size();
  const UniqueFd doorbell = make_doorbell();
  UniqueFd connection;
  for (long nap_us = 50; !(connection = connect_abstract(name)); nap_us = std::min(nap_us * 2, 20000L)) {
    if (remaining_ms(deadline) == 0) {
      throw Error(SMDDP_ERR_TIMEOUT, format("rank %d waited in smddp_init for rank %d to share its memory",
                                            global_ranks[static_cast<size_t>(local_rank)], global_ranks[0]));
    }
    watch(-1, witnesses, global_ranks, now_ns() + nap_us * 1000);
  }
  // It would let this rank in no more than this rank would let it.
  if (const uid_t user = peer_user(connection.get()); user != geteuid()) {
    throw Error(SMDDP_ERR_BOOTSTRAP, format("rank %d runs as user %u and rank %d, on the same node, as user %u: ranks that share memory must be of one "
                                            "user, or have different values of SMDDP_NODE_ID",
                                            global_ranks[static_cast<size_t>(local_rank)], geteuid(), global_ranks[0], user));
  }
  const Hello hello{kHelloMagic, kProtocolVersion, local_rank, accept_fences()};
  const int bell = doorbell.get();
  send_message(connection.get(), &hello, sizeof(hello), &bell, 1);

  Joined joined;
  joined.pids.resize(ranks, 0);
  std::vector<UniqueFd> fds;
  Welcome welcome{};
  bool complete = receive_message(connection.get(), &welcome, sizeof(welcome), fds, 0, deadline) &&
                  receive_message(connection.get(), joined.pids.data(), ranks * sizeof(int64_t), fds, 0, deadline);
  joined.fences_all = welcome.fences_all;
  while (complete && fds.size() < ranks + 1) {
    uint64_t magic = 0;
    const size_t count = std::min(kFdsPerMessage, ranks + 1 - fds.size());
    complete = receive_message(connection.get(), &magic, sizeof(magic), fds, count, deadline) && magic == kHelloMagic;
  }
  if (!complete) {
    if (remaining_ms(deadline) == 0) {
      throw Error(SMDDP_ERR_TIMEOUT, format("rank %d waited in smddp_init for the other ranks of its node",
                                            global_ranks[static_cast<size_t>(local_rank)]));
    }
    const auto sentence = witnesses.heard(witnesses.sockets[0], 1000);
    throw ended(global_ranks[0], sentence.value_or(""));
  }
  // The pids that local rank 0 sees are ours to use only if both live in one name space: then it sees us under our own.
  if (joined.pids[static_cast<size_t>(local_rank)] != getpid()) joined.pids.assign(ranks, 0);
  joined.arena = std::move(fds[0]);
  joined.doorbells.resize(ranks);
  for (size_t r = 0; r < ranks; ++r) joined.doorbells[r] = std::move(fds[r + 1]);
  joined.connections.push_back(std::move(connection));
  return joined;
}

}  // namespace

Joined join(const std::array<uint8_t, 16>& nonce, const Witnesses& witnesses, const std::string& node, const std::vector<int>& global_ranks, int local_rank,
            uint64_t heap_bytes, int64_t deadline) {
  const std::string name = socket_name(nonce, node);
  return local_rank == 0 ? serve(name, witnesses, global_ranks, heap_bytes, deadline) : enter(name, witnesses, global_ranks, local_rank, deadline);
}

}  // namespace smddp::node
