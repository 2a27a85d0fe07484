// Invariant: verdict_time_ is the smallest of all places.
#include "bootstrap/roster.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/random.hpp"

#include <algorithm>
#include <string_view>

namespace smddp::bootstrap {
namespace {

std::string_view next_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// "NAME is VALUE on rank A and VALUE on rank B" for the first line that differs.
std::string first_difference(std::string_view mine, std::string_view theirs, const std::string& they) {
  for (;;) {
    const std::string_view a = next_line(mine), b = next_line(theirs);
    if (a == b && mine.empty() && theirs.empty()) return "parameters differ";
    if (a == b) continue;
    const std::string name(a.empty() ? b.substr(0, b.find('=')) : a.substr(0, a.find('=')));
    const auto value = [&](std::string_view line) {
      const size_t equals = line.find('=');
      if (equals == std::string_view::npos || line.substr(0, equals) != name) return std::string("not known");
      return "'" + std::string(line.substr(equals + 1)) + "'";
    };
    return format("%s differs: %s on rank 0, %s on %s; it must be the same on all ranks", name.c_str(), value(a).c_str(),
                  value(b).c_str(), they.c_str());
  }
}

Verdict refuse(Reason reason, smddp_status_t code, std::string text) { return {reason, code, std::move(text)}; }

}  // namespace

std::string who(const Member& member) { return format("%s, pid %lld", member.host.c_str(), static_cast<long long>(member.pid)); }

namespace {

// Of the ranks, or of the servers.
std::string missing_ones(const char* word, const std::vector<int>& present, int size) {
  constexpr int kMostPieces = 8;
  std::string text;
  int pieces = 0, shown = 0, next = 0;
  const auto gap = [&](int from, int to) {
    if (from > to || ++pieces > kMostPieces) return;
    text += (text.empty() ? "" : ", ") + std::to_string(from);
    if (to > from) text += (to == from + 1 ? ", " : "-") + std::to_string(to);
    shown += to - from + 1;
  };
  for (const int rank : present) {
    gap(next, rank - 1);
    next = rank + 1;
  }
  gap(next, size - 1);
  const int missing = size - static_cast<int>(present.size());
  if (missing > shown) text += format(" and %d more", missing - shown);
  return format("%s%s %s of %d", word, missing == 1 ? "" : "s", text.c_str(), size);
}

}  // namespace

std::string missing_members(const std::vector<int>& present, int ranks, int servers) {
  std::vector<int> here, serving;
  for (const int member : present) {
    if (member < ranks) here.push_back(member); else serving.push_back(member - ranks);
  }
  std::string text;
  if (static_cast<int>(here.size()) < ranks) text = missing_ones("rank", here, ranks);
  if (static_cast<int>(serving.size()) < servers) text += (text.empty() ? "" : " and ") + missing_ones("server", serving, servers);
  return text;
}

Roster::Roster(Hello self, int64_t verdict_time) : self_(std::move(self)), verdict_time_(kNever) {
  enter(self_, 0);
  confirm(self_.rank, verdict_time);
}

uint64_t Roster::holder(int rank) const {
  const auto place = places_.find(rank);
  return place == places_.end() ? 0 : place->second.connection;
}

bool Roster::is_again(const Hello& hello) const {
  const auto place = places_.find(hello.rank);
  return place != places_.end() && place->second.connection != 0 && place->second.token == hello.token;
}

std::optional<Verdict> Roster::judge(const Hello& hello, bool holder_alive) const {
  const std::string they = name(hello.rank) + " (" + who(hello.member) + ")";
  if (hello.job_id != self_.job_id) {
    return refuse(Reason::kJob, SMDDP_ERR_BOOTSTRAP,
                  format("job id differs: rank 0 (%s) belongs to job '%s', %s to job '%s'", who(self_.member).c_str(),
                         self_.job_id.c_str(), they.c_str(), hello.job_id.c_str()));
  }
  if (hello.size != self_.size) {
    const std::string difference = first_difference(self_.parameters, hello.parameters, they);
    if (difference.rfind("SMDDP_SERVERS", 0) == 0) return refuse(Reason::kVersion, SMDDP_ERR_VERSION, difference);
    return refuse(Reason::kSize, SMDDP_ERR_BOOTSTRAP,
                  format("number of ranks differs: %d on rank 0 (%s), %d on %s", self_.size - self_.servers, who(self_.member).c_str(),
                         hello.size - self_.servers, they.c_str()));
  }
  if (hello.rank < 0 || hello.rank >= self_.size) {
    return refuse(Reason::kRank, SMDDP_ERR_BOOTSTRAP,
                  format("%s is not one of 0 to %d", they.c_str(), self_.size - self_.servers - 1));
  }
  const auto place = places_.find(hello.rank);
  if (place != places_.end() && holder_alive && !is_again(hello)) {
    return refuse(Reason::kDuplicate, SMDDP_ERR_BOOTSTRAP,
                  format("duplicate %s: %s has come as %s already, now %s does", name(hello.rank).c_str(),
                         who(place->second.member).c_str(), name(hello.rank).c_str(), who(hello.member).c_str()));
  }
  if (hello.protocol != self_.protocol) {
    return refuse(Reason::kVersion, SMDDP_ERR_VERSION,
                  format("protocol version differs: %u on rank 0 (%s), %u on %s: they run different versions of the library",
                         self_.protocol, who(self_.member).c_str(), hello.protocol, they.c_str()));
  }
  if (hello.parameters != self_.parameters) {
    return refuse(Reason::kVersion, SMDDP_ERR_VERSION,
                  first_difference(self_.parameters, hello.parameters, they));
  }
  return std::nullopt;
}

void Roster::enter(const Hello& hello, uint64_t connection) {
  if (places_.count(hello.rank) > 0) leave(hello.rank);
  places_[hello.rank] = {hello.member, hello.token, connection, hello.timeout_ms, false, kNever};
}

void Roster::confirm(int rank, int64_t verdict_time) {
  Place& place = places_.at(rank);
  place.confirmed = true;
  place.verdict_time = verdict_time;
  ++confirmed_;
  if (verdict_time >= verdict_time_) return;
  verdict_time_ = verdict_time;
  first_to_give_up_ = rank;
}

std::string Roster::leave(int rank) {
  const auto place = places_.find(rank);
  std::string text;
  if (place->second.confirmed) {
    text = format("%s (%s) left before all %d ranks had come", name(rank).c_str(), who(place->second.member).c_str(), self_.size - self_.servers);
    --confirmed_;
    note_refusal(text);
  }
  places_.erase(place);
  find_verdict_time();
  return text;
}

void Roster::note_refusal(const std::string& text) { refused_ = text.substr(0, 512); }

void Roster::find_verdict_time() {
  verdict_time_ = kNever;
  for (const auto& [rank, place] : places_) {
    if (place.verdict_time >= verdict_time_) continue;
    verdict_time_ = place.verdict_time;
    first_to_give_up_ = rank;
  }
}

std::string Roster::timeout_sentence() const {
  std::vector<int> present;
  for (const auto& [rank, place] : places_) {
    if (place.confirmed) present.push_back(rank);
  }
  const auto place = places_.find(first_to_give_up_);
  const int64_t waited_ms = place == places_.end() ? self_.timeout_ms : place->second.timeout_ms;
  std::string text = format("%s waited %lld ms; %s did not come", name(first_to_give_up_).c_str(), static_cast<long long>(waited_ms),
                            missing_members(present, self_.size - self_.servers, self_.servers).c_str());
  if (!refused_.empty()) text += "; last event: " + refused_;
  return text;
}

Meeting Roster::meeting() const {
  Meeting meeting;
  random_bytes(meeting.nonce.data(), meeting.nonce.size());
  meeting.members.reserve(places_.size());
  for (const auto& entry : places_) meeting.members.push_back(entry.second.member);
  return meeting;
}

}  // namespace smddp::bootstrap
