// Layout, little-endian: magic 8, version 2, family 2, port 2, zero 2, address 16, nonce 16, creator's pid 8, hash of its node 8, zero
// up to 120, checksum of the 120 bytes 8. Invariant: every bit is covered by the checksum.
#include "bootstrap/unique_id.hpp"

#include "base/error.hpp"
#include "bootstrap/bytes.hpp"
#include "bootstrap/interfaces.hpp"
#include "bootstrap/random.hpp"
#include "bootstrap/socket.hpp"

#include <arpa/inet.h>

#include <cerrno>
#include <map>
#include <mutex>

namespace smddp::bootstrap {
namespace {

constexpr char kMagic[] = {'S', 'M', 'D', 'D', 'P', '-', 'I', 'D'};
constexpr uint16_t kVersion = 1;
constexpr size_t kCovered = SMDDP_UNIQUE_ID_BYTES - 8;

using Nonce = std::array<uint8_t, 16>;

struct Fields {
  uint16_t version = kVersion, family = 0, port = 0;
  std::array<uint8_t, 16> address{};  // in network order
  Nonce nonce{};
  int64_t pid = 0;
  uint64_t node = 0;
};

struct Listener {
  UniqueFd fd;
  pid_t creator;  // a forked child has the entry too
};

std::mutex g_mutex;
std::map<Nonce, Listener> g_listeners;

smddp_unique_id_t encode_id(const Fields& fields) {
  ByteWriter writer;
  writer.raw(kMagic, sizeof(kMagic));
  writer.number(fields.version);
  writer.number(fields.family);
  writer.number(fields.port);
  writer.number(uint16_t{0});
  writer.raw(fields.address.data(), fields.address.size());
  writer.raw(fields.nonce.data(), fields.nonce.size());
  writer.number(fields.pid);
  writer.number(fields.node);
  std::string bytes = writer.take();
  bytes.resize(kCovered);
  writer.number(checksum(bytes));
  bytes += writer.take();
  smddp_unique_id_t id;
  std::memcpy(id.bytes, bytes.data(), sizeof(id.bytes));
  return id;
}

Fields decode_id(const smddp_unique_id_t& id) {
  const auto refuse = [](const std::string& why) {
    return Error(SMDDP_ERR_INVALID_ARGUMENT, "options.unique_id was not made by smddp_unique_id_create: " + why);
  };
  const std::string_view bytes(id.bytes, sizeof(id.bytes));
  if (bytes.find_first_not_of('\0') == std::string_view::npos) throw refuse("all its bytes are 0");
  if (std::memcmp(id.bytes, kMagic, sizeof(kMagic)) != 0) throw refuse("its first 8 bytes are not SMDDP-ID");
  Fields fields;
  ByteReader reader(bytes.substr(sizeof(kMagic)));
  fields.version = reader.number<uint16_t>();
  fields.family = reader.number<uint16_t>();
  fields.port = reader.number<uint16_t>();
  reader.number<uint16_t>();
  reader.raw(fields.address.data(), fields.address.size());
  reader.raw(fields.nonce.data(), fields.nonce.size());
  fields.pid = reader.number<int64_t>();
  fields.node = reader.number<uint64_t>();
  if (ByteReader(bytes.substr(kCovered)).number<uint64_t>() != checksum(bytes.substr(0, kCovered))) {
    throw refuse("its checksum is wrong, so it was changed or cut on its way");
  }
  if (fields.version != kVersion) {
    throw Error(SMDDP_ERR_VERSION, format("options.unique_id has version %d, this library knows %d", fields.version, kVersion));
  }
  return fields;
}

std::string address_text(const Fields& fields) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(fields.family == 6 ? AF_INET6 : AF_INET, fields.address.data(), text, sizeof(text));
  return text;
}

UniqueFd take_listener(const Fields& fields) {
  const std::lock_guard lock(g_mutex);
  const auto found = g_listeners.find(fields.nonce);
  if (found != g_listeners.end() && found->second.creator == getpid()) {
    UniqueFd fd = std::move(found->second.fd);
    g_listeners.erase(found);
    return fd;
  }
  if (fields.pid == getpid() && fields.node == checksum(node_id())) {
    throw Error(SMDDP_ERR_INVALID_USAGE, "this unique id has been used by a rank 0 of this process already; each start needs a new one");
  }
  throw Error(SMDDP_ERR_INVALID_USAGE,
              format("the process that makes a unique id must become rank 0: process %lld at %s made this one, rank 0 is process %d",
                     static_cast<long long>(fields.pid), address_text(fields).c_str(), static_cast<int>(getpid())));
}

}  // namespace

smddp_unique_id_t create_unique_id() {
  const Address address = reachable_address();
  UniqueFd fd = listen_everywhere(0);
  if (!fd) {
    if (errno != EMFILE && errno != ENFILE && errno != ENOMEM) throw system_error("listen", "for a unique id");
    throw Error(SMDDP_ERR_RESOURCE, "no descriptor is left for the socket of a unique id (ulimit -n)");
  }
  Fields fields;
  fields.port = static_cast<uint16_t>(local_address(fd.get()).port());
  if (address.family() == AF_INET6) {
    fields.family = 6;
    std::memcpy(fields.address.data(), &reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_addr, 16);
  } else {
    fields.family = 4;
    std::memcpy(fields.address.data(), &reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_addr, 4);
  }
  random_bytes(fields.nonce.data(), fields.nonce.size());
  fields.pid = getpid();
  fields.node = checksum(node_id());
  const std::lock_guard lock(g_mutex);
  g_listeners[fields.nonce] = {std::move(fd), getpid()};
  return encode_id(fields);
}

void use_unique_id(const smddp_unique_id_t& id, Placement& placement) {
  const Fields fields = decode_id(id);
  placement.address = address_text(fields);
  placement.port = fields.port;
  placement.job_id = "unique id " + hex({reinterpret_cast<const char*>(fields.nonce.data()), fields.nonce.size()});
  if (placement.rank == 0) placement.listener = take_listener(fields);
}

}  // namespace smddp::bootstrap
