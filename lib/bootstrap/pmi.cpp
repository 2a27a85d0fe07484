// Each line is words "name=value", the first of them "cmd=…"; each request has one answer.
#include "bootstrap/pmi.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/launchers.hpp"
#include "bootstrap/socket.hpp"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace smddp::bootstrap {
namespace {

constexpr size_t kMostLine = 16384;
constexpr int kFarewellMs = 2000;

// Hydra takes a process that began and ends without a last word for a failure of its job. MPI_Finalize says that word too; then nobody
// hears this one.
struct Farewell {
  int fd = -1;  // a duplicate: an MPI library closes the launcher's own
  pid_t process = 0;
} g_farewell;

void say_farewell() {
  constexpr char kText[] = "cmd=finalize\n";
  if (g_farewell.process != getpid()) return;  // a forked child
  if (send(g_farewell.fd, kText, sizeof(kText) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return;
  // Its answer must find somebody, or the launcher fails.
  const int64_t deadline = deadline_after_ms(kFarewellMs);
  char answer = '\0';
  while (answer != '\n' && wait_for(g_farewell.fd, POLLIN, deadline) && recv(g_farewell.fd, &answer, 1, MSG_DONTWAIT) == 1) continue;
}

void prepare_farewell(int fd) {
  if (g_farewell.fd >= 0) return;
  g_farewell = {fcntl(fd, F_DUPFD_CLOEXEC, 0), getpid()};
  if (g_farewell.fd >= 0) std::atexit(say_farewell);
}

// Answers that an exchange did not wait for any longer; they come before all others.
int g_owed = 0;

class Pmi {
 public:
  Pmi(const Placement& placement, int64_t deadline) : placement_(placement), deadline_(deadline) {
    const char* text = std::getenv("PMI_FD");
    fd_ = static_cast<int>(integer_variable("PMI_FD", text ? text : "", 0, 1 << 20));
    int type = 0;
    socklen_t length = sizeof(type);
    if (getsockopt(fd_, SOL_SOCKET, SO_TYPE, &type, &length) != 0) {
      throw Error(SMDDP_ERR_BOOTSTRAP, format("PMI_FD=%d is not a socket of this process (%s): was it started by mpiexec itself?", fd_,
                                              strerror(errno)));
    }
  }

  // Returns the answer's value of the name.
  std::string ask(const std::string& request, const char* answer, const char* name = "cmd") {
    for (; g_owed > 0; --g_owed) read_line("an earlier request");
    write_line(request);
    ++g_owed;
    const std::string line = read_line(request);
    --g_owed;
    std::string rc;
    if (word(line, "cmd") != answer || (!(rc = word(line, "rc")).empty() && rc != "0") || word(line, name).empty()) {
      throw failure(format("answers '%s' to '%.100s'", line.c_str(), request.c_str()));
    }
    return word(line, name);
  }

  int fd() const { return fd_; }

 private:
  static std::string word(std::string_view line, const std::string& name) {
    for (size_t begin = 0; begin < line.size();) {
      const size_t end = std::min(line.find(' ', begin), line.size());
      const std::string_view piece = line.substr(begin, end - begin);
      if (piece.size() > name.size() && piece.substr(0, name.size()) == name && piece[name.size()] == '=') {
        return std::string(piece.substr(name.size() + 1));
      }
      begin = end + 1;
    }
    return "";
  }

  Error failure(const std::string& what) const {
    g_owed = 0;  // nothing is to be expected here any more
    return Error(SMDDP_ERR_BOOTSTRAP,
                 format("rank %d of %d: the launcher's PMI (PMI_FD=%d) %s", placement_.rank, placement_.size, fd_, what.c_str()));
  }

  void write_line(const std::string& request) {
    const std::string line = request + "\n";
    for (size_t sent = 0; sent < line.size();) {
      const ssize_t length = send(fd_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (length > 0) sent += static_cast<size_t>(length);
      else if (errno == EAGAIN || errno == EWOULDBLOCK) wait(POLLOUT, request);
      else if (errno != EINTR) throw failure(format("is gone: %s", strerror(errno)));
    }
  }

  std::string read_line(const std::string& request) {
    // Byte by byte: what follows the line may be meant for an MPI library.
    std::string line;
    for (;;) {
      wait(POLLIN, request);
      char byte;
      const ssize_t length = recv(fd_, &byte, 1, MSG_DONTWAIT);
      if (length == 0) throw failure("is gone: it has closed the connection");
      if (length < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) throw failure(format("is gone: %s", strerror(errno)));
      if (length < 0) continue;
      if (byte == '\n') return line;
      line += byte;
      if (line.size() > kMostLine) throw failure("answers with a line without an end");
    }
  }

  void wait(short events, const std::string& request) {
    if (wait_for(fd_, events, deadline_)) return;
    if (request == "cmd=barrier_in") {
      throw Error(SMDDP_ERR_TIMEOUT, format("rank %d of %d asked the launcher (PMI_FD=%d) where rank 0 is, and waits for ranks that have not "
                                            "asked: some rank has not called smddp_init",
                                            placement_.rank, placement_.size, fd_));
    }
    throw Error(SMDDP_ERR_TIMEOUT, format("rank %d of %d: the launcher's PMI (PMI_FD=%d) did not answer '%.100s' in time", placement_.rank,
                                          placement_.size, fd_, request.c_str()));
  }

  const Placement& placement_;
  const int64_t deadline_;
  int fd_ = -1;
};

}  // namespace

std::string pmi_exchange(const Placement& placement, const std::string& key, const std::string& value, int64_t deadline) {
  Pmi pmi(placement, deadline);
  pmi.ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init");
  prepare_farewell(pmi.fd());
  const std::string space = pmi.ask("cmd=get_my_kvsname", "my_kvsname", "kvsname");
  if (placement.rank == 0) pmi.ask(format("cmd=put kvsname=%s key=%s value=%s", space.c_str(), key.c_str(), value.c_str()), "put_result");
  pmi.ask("cmd=barrier_in", "barrier_out");
  return pmi.ask(format("cmd=get kvsname=%s key=%s", space.c_str(), key.c_str()), "get_result", "value");
}

}  // namespace smddp::bootstrap
