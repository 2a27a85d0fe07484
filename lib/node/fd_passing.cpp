#include "node/fd_passing.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace smddp::node {
namespace {

socklen_t abstract_address(const std::string& name, sockaddr_un& address) {
  std::memset(&address, 0, sizeof(address));
  address.sun_family = AF_UNIX;
  const size_t length = name.size() < sizeof(address.sun_path) - 1 ? name.size() : sizeof(address.sun_path) - 1;
  std::memcpy(address.sun_path + 1, name.data(), length);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

UniqueFd unix_socket() {
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) throw system_error("socket", "AF_UNIX, to join the ranks of this node; see ulimit -n if it is the limit of open files");
  return fd;
}

// Waits for readiness; false at the deadline.
bool wait_for(int fd, short events, int64_t deadline) {
  for (;;) {
    pollfd entry{fd, events, 0};
    const int ready = poll(&entry, 1, remaining_ms(deadline));
    if (ready > 0) return true;
    if (ready == 0 && remaining_ms(deadline) == 0) return false;
    if (ready < 0 && errno != EINTR) throw system_error("poll", "on an AF_UNIX socket");
  }
}

}  // namespace

UniqueFd listen_abstract(const std::string& name, int backlog) {
  UniqueFd fd = unix_socket();
  sockaddr_un address;
  const socklen_t length = abstract_address(name, address);
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) throw system_error("bind", "to abstract socket " + name);
  if (listen(fd.get(), backlog) != 0) throw system_error("listen", "on abstract socket " + name);
  return fd;
}

UniqueFd connect_abstract(const std::string& name) {
  UniqueFd fd = unix_socket();
  sockaddr_un address;
  const socklen_t length = abstract_address(name, address);
  while (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) {
    if (errno == EINTR) continue;
    if (errno == ECONNREFUSED || errno == ENOENT || errno == EAGAIN) return UniqueFd();
    throw system_error("connect", "to abstract socket " + name);
  }
  return fd;
}

void send_message(int socket, const void* data, size_t bytes, const int* fds, size_t fd_count) {
  iovec part{const_cast<void*>(data), bytes};
  std::vector<char> control(CMSG_SPACE(fd_count * sizeof(int)));
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fd_count) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds, fd_count * sizeof(int));
  }
  while (sendmsg(socket, &message, MSG_NOSIGNAL) < 0) {
    if (errno == EINTR) continue;
    if (errno == EAGAIN) {
      wait_for(socket, POLLOUT, deadline_after_ms(5000));
      continue;
    }
    if (errno == EPIPE || errno == ECONNRESET) throw Error(SMDDP_ERR_PEER_GONE, "a rank of this node left while the ranks were joining");
    throw system_error("sendmsg", format("with %zu descriptors", fd_count));
  }
}

bool receive_message(int socket, void* data, size_t bytes, std::vector<UniqueFd>& fds, size_t fd_count, int64_t deadline) {
  std::vector<char> control(CMSG_SPACE(253 * sizeof(int)));
  iovec part{data, bytes};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got;
  while ((got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC)) < 0) {
    if (errno == EINTR) continue;
    if (errno == ECONNRESET) return false;
    if (errno != EAGAIN) throw system_error("recvmsg", "from a rank of this node");
    if (!wait_for(socket, POLLIN, deadline)) return false;
  }
  size_t received = 0;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      fds.emplace_back(fd);
      ++received;
    }
  }
  return static_cast<size_t>(got) == bytes && received == fd_count && !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
}

}  // namespace smddp::node
