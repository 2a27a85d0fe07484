// Asks the members of a communicator that stands still how far they are, for the analyser. Whoever has to know asks, the higher ranks a
// little later, if nobody has till then; of several that do at once the lowest goes on and the others leave it to that one. So all members
// end with one sentence. Whoever has not answered after half the time is asked once more: the answer may have been lost with a rank that
// was to pass it on, and the second inquiry finds ways without that one. Invariant: an inquiry ends when all have answered, or after
// kAnswerMs, whoever is dead or stopped.
#pragma once

#include "control/analysis.hpp"
#include "control/links.hpp"

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace smddp::control {

class Inquiries {
 public:
  static constexpr int64_t kAnswerMs = 1000;
  static constexpr size_t kTimes = 2;

  struct Sources {
    std::function<Report(uint64_t comm)> report;                      // of this rank
    std::function<std::string(int rank)> departed;                    // why a rank of the job will not answer; "" if it may
    std::function<void(uint64_t comm, const Status& verdict)> end;    // called without any lock of this class
  };

  Inquiries(Links& links, int rank, std::vector<std::string> hosts, Sources sources);

  // Any thread, before Monitor::wake(). The verdict, if there is one, comes by Sources::end of this rank or of another one that asks too.
  void ask(Question question);

  // On the monitor thread: another rank asks, a rank answers; when to call expire() at the latest.
  void hear(const Notice& inquiry);
  void take(const Notice& answer);
  int64_t deadline();
  void expire();

 private:
  struct Inquiry {
    Question question;
    std::vector<uint32_t> serials;  // of its notices, of which there will be kTimes
    int64_t due = 0;                // when to send the next one; after the last one, until when to wait for answers
    std::vector<Report> reports;  // by member
    size_t missing = 0;           // that have not answered
  };
  struct Heard {
    int64_t time = 0;
    bool ends = false;  // whether that inquiry will end with a verdict
  };
  bool is_left_to_others(uint64_t comm, Reason reason) const;
  void send(Inquiry& inquiry);
  void judge(Inquiry inquiry);

  Links& links_;
  const int rank_;
  const std::vector<std::string> hosts_;
  const Sources sources_;
  std::mutex mutex_;
  std::map<uint64_t, Inquiry> running_;  // by communicator
  std::map<uint64_t, Heard> heard_;      // from others, of late
};

}  // namespace smddp::control
