// Invariant: equal for all processes of a node, whatever part of /proc they see, as long as they see the same part.
#include "bootstrap/node_id.hpp"

#include "base/error.hpp"
#include "base/parameters.hpp"
#include "base/unique_fd.hpp"
#include "bootstrap/bootstrap.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace smddp::bootstrap {
namespace {

std::string first_line(const char* path) {
  const UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
  char text[128];
  ssize_t bytes;
  do bytes = fd ? ::read(fd.get(), text, sizeof(text)) : 0;
  while (bytes < 0 && errno == EINTR);
  std::string line(text, bytes > 0 ? static_cast<size_t>(bytes) : 0);
  return line.substr(0, line.find('\n'));
}

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return name;
}

std::string network_namespace(const char* path) {
  struct stat status;
  if (::stat(path, &status) == 0) return std::to_string(status.st_ino);
#ifdef SO_NETNS_COOKIE
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  uint64_t cookie = 0;
  socklen_t length = sizeof(cookie);
  if (getsockopt(fd.get(), SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &length) == 0) return "cookie " + std::to_string(cookie);
#endif
  return "unknown";
}

}  // namespace

std::string node_id_from(const char* boot_id_file, const char* namespace_file) {
  std::string boot = first_line(boot_id_file);
  if (boot.empty()) boot = first_line("/etc/machine-id") + "-" + host_name();
  return boot + "/" + network_namespace(namespace_file);
}

std::string node_id() {
  if (parameter_is_set(parameter::kNodeId)) return parameter_text(parameter::kNodeId);
  // A thread may have left the namespace of its process.
  const bool has_thread = ::access("/proc/thread-self/ns/net", F_OK) == 0;
  return node_id_from("/proc/sys/kernel/random/boot_id", has_thread ? "/proc/thread-self/ns/net" : "/proc/self/ns/net");
}

}  // namespace smddp::bootstrap
