// Who has come, as rank 0 sees it, and who may not. Invariant: a rank has at most one place; memory grows with the ranks that came,
// not with the size that somebody claims.
#pragma once

#include "bootstrap/frame.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace smddp::bootstrap {

class Roster {
 public:
  // self: of rank 0, which is present.
  Roster(Hello self, int64_t verdict_time);

  // Why hello may not have a place; nullopt if it may. alive says whether the holder of a place (its connection) still lives; a holder
  // that is the same call of meet() as hello, or is dead, gives way.
  std::optional<Verdict> judge(const Hello& hello, bool holder_alive) const;
  // Whether the mismatch that judge found can only be inside this job, so that the whole meeting has failed.
  static bool is_fatal(const Verdict& verdict) { return verdict.reason == Reason::kVersion; }

  // Connection that holds the rank's place, 0 if none does.
  uint64_t holder(int rank) const;
  // The holder may be replaced without asking: it is the same call of meet().
  bool is_again(const Hello& hello) const;

  // Takes or replaces the rank's place.
  void enter(const Hello& hello, uint64_t connection);
  // From now on the rank counts as present and needs a verdict by verdict_time.
  void confirm(int rank, int64_t verdict_time);
  // The place becomes free. Returns a sentence about who left, "" if it was never confirmed.
  std::string leave(int rank);
  void note_refusal(const std::string& text);

  int size() const { return self_.size; }
  size_t confirmed() const { return static_cast<size_t>(confirmed_); }
  bool complete() const { return confirmed_ == self_.size; }
  // Earliest time at which some rank needs a verdict, and the sentence for it.
  int64_t verdict_time() const { return verdict_time_; }
  std::string timeout_sentence() const;
  Meeting meeting() const;

 private:
  struct Place {
    Member member;
    uint64_t token, connection;
    int64_t timeout_ms;
    bool confirmed;
    int64_t verdict_time;
  };

  void find_verdict_time();
  std::string name(int rank) const { return member_name(rank, self_.size - self_.servers); }

  Hello self_;
  std::map<int, Place> places_;
  int confirmed_ = 0;
  int64_t verdict_time_;
  int first_to_give_up_ = 0;
  std::string refused_;
};

// "ranks 2, 5-9 of 12 and server 0 of 2"; present: the members that are not missing, ascending. Long lists end in "and N more".
std::string missing_members(const std::vector<int>& present, int ranks, int servers);

// "host, pid N".
std::string who(const Member& member);

}  // namespace smddp::bootstrap
