#include "control/inquiries.hpp"

#include "base/clock.hpp"

#include <algorithm>

namespace smddp::control {
namespace {

constexpr int64_t kStepNs = 2000000;  // later than the rank before, so that of all ranks of a large job few ask
constexpr int64_t kMostSteps = 100;

// A verdict follows whatever the members say.
bool ends(Reason reason) { return reason != Reason::kLook; }

}  // namespace

Inquiries::Inquiries(Links& links, int rank, std::vector<std::string> hosts, Sources sources)
    : links_(links), rank_(rank), hosts_(std::move(hosts)), sources_(std::move(sources)) {}

// Under the lock.
bool Inquiries::is_left_to_others(uint64_t comm, Reason reason) const {
  const auto other = heard_.find(comm);
  return other != heard_.end() && now_ns() - other->second.time < kAnswerMs * 1000000 && (other->second.ends || !ends(reason));
}

void Inquiries::ask(Question question) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool must = ends(question.reason);
  if (is_left_to_others(question.comm, question.reason)) return;
  if (const auto own = running_.find(question.comm); own != running_.end() && (ends(own->second.question.reason) || !must)) return;
  const auto& members = question.members;
  const auto place = std::find(members.begin(), members.end(), rank_) - members.begin();
  Inquiry inquiry;
  inquiry.due = now_ns() + std::min<int64_t>(place, kMostSteps) * kStepNs;
  inquiry.reports.resize(members.size());
  inquiry.missing = members.size() - 1;
  const uint64_t comm = question.comm;
  inquiry.question = std::move(question);
  running_[comm] = std::move(inquiry);
}

void Inquiries::send(Inquiry& inquiry) {
  Notice notice;
  notice.kind = Notice::Kind::kInquiry;
  notice.rank = rank_;
  notice.comm = inquiry.question.comm;
  notice.code = static_cast<smddp_status_t>(ends(inquiry.question.reason));
  inquiry.serials.push_back(links_.send(notice));
  inquiry.due = deadline_after_ms(kAnswerMs / static_cast<int64_t>(kTimes));
}

void Inquiries::hear(const Notice& inquiry) {
  links_.answer(inquiry, encode(sources_.report(inquiry.comm)));
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool must = inquiry.code != 0;
  Heard& heard = heard_[inquiry.comm];
  const int64_t now = now_ns();
  heard = {now, must || (heard.ends && now - heard.time < kAnswerMs * 1000000)};
  const auto own = running_.find(inquiry.comm);
  if (own == running_.end() || (!own->second.serials.empty() && inquiry.rank > rank_)) return;
  if (must || !ends(own->second.question.reason)) running_.erase(own);
}

void Inquiries::take(const Notice& answer) {
  Inquiry whole;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto own = running_.find(answer.comm);
    if (own == running_.end()) return;
    Inquiry& inquiry = own->second;
    if (std::find(inquiry.serials.begin(), inquiry.serials.end(), answer.serial) == inquiry.serials.end()) return;
    const std::vector<int>& members = inquiry.question.members;
    const auto place = static_cast<size_t>(std::find(members.begin(), members.end(), answer.rank) - members.begin());
    if (place == members.size() || inquiry.reports[place].answered) return;
    Report report;
    if (!decode(answer.text, report)) return;
    inquiry.reports[place] = std::move(report);
    if (--inquiry.missing > 0) return;
    whole = std::move(inquiry);
    running_.erase(own);
  }
  judge(std::move(whole));
}

int64_t Inquiries::deadline() {
  const std::lock_guard<std::mutex> lock(mutex_);
  int64_t first = kNever;
  for (const auto& [comm, inquiry] : running_) first = std::min(first, inquiry.due);
  return first;
}

void Inquiries::expire() {
  const int64_t now = now_ns();
  std::vector<Inquiry> late;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::erase_if(heard_, [now](const auto& entry) { return now - entry.second.time > kAnswerMs * 1000000; });
    for (auto it = running_.begin(); it != running_.end();) {
      Inquiry& inquiry = it->second;
      if (inquiry.due <= now && inquiry.serials.size() == kTimes) {
        late.push_back(std::move(inquiry));
        it = running_.erase(it);
        continue;
      }
      if (inquiry.due <= now) send(inquiry);
      ++it;
    }
  }
  for (Inquiry& inquiry : late) judge(std::move(inquiry));
}

void Inquiries::judge(Inquiry inquiry) {
  const std::vector<int>& members = inquiry.question.members;
  for (size_t i = 0; i < members.size(); ++i) {
    Report& report = inquiry.reports[i];
    if (members[i] == rank_) {
      report = sources_.report(inquiry.question.comm);
      report.answered = true;
    } else if (!report.answered) {
      report.left = sources_.departed(members[i]);
    }
  }
  const Status verdict = analyse(inquiry.question, inquiry.reports, hosts_);
  if (!verdict.ok()) sources_.end(inquiry.question.comm, verdict);
}

}  // namespace smddp::control
