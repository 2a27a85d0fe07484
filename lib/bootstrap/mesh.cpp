// Connections between ranks other than the star of the meeting. Invariant: when connect_peers returns, it returns on all ranks, and each
// connection is one that both its ranks have made with the nonce of this start.
#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/bytes.hpp"
#include "bootstrap/frame.hpp"
#include "bootstrap/resolve.hpp"
#include "bootstrap/socket.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>

namespace smddp::bootstrap {
namespace {

constexpr size_t kMostStrangers = 64;
constexpr size_t kMaxPeerBody = 64;
constexpr int kWordMs = 1000;

struct Peer {
  int32_t from = 0, to = 0;
};

std::string encode(const Meeting& meeting, const Peer& peer) {
  ByteWriter writer;
  writer.raw(meeting.nonce.data(), meeting.nonce.size());
  writer.number(peer.from);
  writer.number(peer.to);
  return frame(Kind::kPeer, writer.take());
}

bool decode(std::string_view body, const Meeting& meeting, Peer& peer) {
  ByteReader reader(body);
  auto nonce = meeting.nonce;
  reader.raw(nonce.data(), nonce.size());
  peer.from = reader.number<int32_t>();
  peer.to = reader.number<int32_t>();
  return reader.complete() && nonce == meeting.nonce;
}

class Mesh {
 public:
  Mesh(const Meeting& meeting, int rank, const std::vector<int>& peers, int64_t deadline)
      : meeting_(meeting), rank_(rank), peers_(peers), deadline_(deadline), listener_(listen_everywhere(0)), connections_(peers.size()) {
    if (!listener_) throw system_error("listen", "for other ranks in smddp_init");
  }

  int port() const { return local_address(listener_.get()).port(); }

  // place: "port address" of the peer.
  void reach(size_t i, const std::string& place) {
    const size_t space = place.find(' ');
    const Resolution found = resolve(place.substr(space + 1), deadline_);
    const int port = std::atoi(place.c_str());
    if (space == std::string::npos || found.addresses.empty()) {
      throw Error(SMDDP_ERR_BOOTSTRAP, format("%s says '%s' of where it can be reached (smddp_init)", name(peers_[i]).c_str(), place.c_str()));
    }
    const Address address = found.addresses[0].with_port(port);
    UniqueFd fd = connect_to(address, deadline_);
    const std::string hello = encode(meeting_, {rank_, peers_[i]});
    if (!fd || ::send(fd.get(), hello.data(), hello.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(hello.size())) {
      const int error = errno;
      check_meeting(kWordMs);  // it may have failed, and be about to say why
      throw Error(SMDDP_ERR_BOOTSTRAP, format("%s cannot connect to %s at %s: %s", name(rank_).c_str(), name(peers_[i]).c_str(), address.text().c_str(), strerror(error)));
    }
    connections_[i] = std::move(fd);
  }

  // Until all higher peers have come.
  std::vector<UniqueFd> await() {
    while (const int missing = first_missing()) {
      if (now_ns() >= deadline_) {
        throw Error(SMDDP_ERR_TIMEOUT, format("%s has met the others but then did not connect to %s in time (smddp_init)", name(missing).c_str(), name(rank_).c_str()));
      }
      turn();
    }
    return std::move(connections_);
  }

 private:
  struct Stranger {
    UniqueFd fd;
    FrameReader reader{kMaxPeerBody};
  };

  // 0: none, as rank 0 is never awaited.
  int first_missing() const {
    for (size_t i = 0; i < peers_.size(); ++i) {
      if (!connections_[i]) return peers_[i];
    }
    return 0;
  }

  // Throws if a rank of the meeting has ended or failed.
  void check_meeting(int wait_ms) {
    std::vector<pollfd> entries;
    for (const UniqueFd& connection : meeting_.connections) entries.push_back({connection ? connection.get() : -1, POLLRDHUP, 0});
    if (poll(entries.data(), entries.size(), wait_ms) <= 0) return;
    for (size_t r = 0; r < entries.size(); ++r) {
      if (entries[r].revents) throw_failure(static_cast<int>(r), entries[r].fd);
    }
  }

  std::string name(int rank) const { return member_name(rank, meeting_.ranks()); }

  [[noreturn]] void throw_failure(int rank, int connection) const {
    const std::string sentence = heard_failure(connection, 0).value_or("");
    throw Error(SMDDP_ERR_PEER_GONE, sentence.empty() ? name(rank) + " ended or failed in smddp_init" : sentence);
  }

  void turn() {
    std::vector<pollfd> entries{{listener_.get(), POLLIN, 0}};
    for (const Stranger& stranger : strangers_) entries.push_back({stranger.fd.get(), POLLIN, 0});
    const size_t meeting_at = entries.size();
    for (const UniqueFd& connection : meeting_.connections) entries.push_back({connection ? connection.get() : -1, POLLRDHUP, 0});
    if (poll(entries.data(), entries.size(), remaining_ms(deadline_)) <= 0) return;
    for (size_t r = meeting_at; r < entries.size(); ++r) {
      if (entries[r].revents) throw_failure(static_cast<int>(r - meeting_at), entries[r].fd);
    }
    std::erase_if(strangers_, [this](Stranger& stranger) { return admit(stranger); });
    for (;;) {
      UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!fd) break;
      set_stream_options(fd.get());
      if (strangers_.size() >= kMostStrangers) strangers_.pop_front();
      strangers_.emplace_back().fd = std::move(fd);
      if (admit(strangers_.back())) strangers_.pop_back();
    }
  }

  // Whether it is settled who this is.
  bool admit(Stranger& stranger) {
    const FrameReader::State state = stranger.reader.read(stranger.fd.get());
    if (state == FrameReader::State::kMore) return false;
    Peer peer;
    if (state != FrameReader::State::kComplete || stranger.reader.kind() != Kind::kPeer || !decode(stranger.reader.body(), meeting_, peer)) return true;
    const auto place = static_cast<size_t>(std::find(peers_.begin(), peers_.end(), peer.from) - peers_.begin());
    if (peer.to == rank_ && peer.from > rank_ && place < peers_.size() && !connections_[place]) connections_[place] = std::move(stranger.fd);
    return true;
  }

  const Meeting& meeting_;
  const int rank_;
  const std::vector<int>& peers_;
  const int64_t deadline_;
  UniqueFd listener_;
  std::vector<UniqueFd> connections_;
  std::deque<Stranger> strangers_;
};

}  // namespace

std::vector<UniqueFd> connect_peers(const Meeting& meeting, int rank, const std::vector<int>& peers, const std::string& address, int64_t deadline) {
  Mesh mesh(meeting, rank, peers, deadline);
  const std::vector<std::string> places = gather_texts(meeting, rank, format("%d %s", mesh.port(), address.c_str()), deadline);
  for (size_t i = 0; i < peers.size(); ++i) {
    if (peers[i] < rank) mesh.reach(i, places[static_cast<size_t>(peers[i])]);
  }
  std::vector<UniqueFd> connections = mesh.await();
  gather_texts(meeting, rank, "", deadline);  // until then a closed connection of the meeting is a failure
  return connections;
}

}  // namespace smddp::bootstrap
