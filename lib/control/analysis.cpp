#include "control/analysis.hpp"

#include <algorithm>

namespace smddp::control {
namespace {

constexpr int kMostNamed = 8;

bool after(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b) > 0; }

const Record* find(const Report& report, uint32_t sequence) {
  for (const Record& record : report.records) {
    if (record.sequence == sequence) return &record;
  }
  return nullptr;
}

// Two members and an operation in which they do not mean the same.
struct Difference {
  size_t first = 0, second = 0;
  uint32_t sequence = 0;
};

// The earliest operation that two members remember differently; of these, the lowest ranks.
bool find_difference(const std::vector<Report>& reports, Difference& found) {
  bool any = false;
  for (size_t second = 1; second < reports.size(); ++second) {
    for (const Record& record : reports[second].records) {
      if (any && !after(found.sequence, record.sequence)) break;
      for (size_t first = 0; first < second; ++first) {
        const Record* other = find(reports[first], record.sequence);
        if (!other) continue;
        if (other->note != record.note) {
          found = {first, second, record.sequence};
          any = true;
        }
        break;  // equal to the lowest one that remembers it: nothing new from the others
      }
    }
  }
  return any;
}

std::string mismatch_text(const Question& question, const std::vector<Report>& reports, const Difference& found) {
  const Record& one = *find(reports[found.first], found.sequence);
  const Record& two = *find(reports[found.second], found.sequence);
  std::string left = node::call_text(one.call), right = node::call_text(two.call);
  const int first = question.members[found.first], second = question.members[found.second];
  if (left == right && one.algorithm == two.algorithm && one.segment_elements == two.segment_elements) {
    return format("mismatch on comm '%s': rank %d and rank %d have called different things some time before operation #%u, the first that both remember",
                  question.name.c_str(), first, second, found.sequence);
  }
  if (left == right) {
    left += format(" by '%s' in segments of %llu", one.algorithm.c_str(), static_cast<unsigned long long>(one.segment_elements));
    right += format(" by '%s' in segments of %llu", two.algorithm.c_str(), static_cast<unsigned long long>(two.segment_elements));
  }
  return format("mismatch in operation #%u on comm '%s': rank %d called %s, rank %d called %s", found.sequence, question.name.c_str(), first,
                left.c_str(), second, right.c_str());
}

// What keeps a member from the operation; "" if it takes part.
std::string absence(const Question& question, const Report& report, int rank, const std::string& host) {
  if (!report.answered && !report.left.empty()) return report.left;
  if (!report.answered) {
    return format("rank %d on host %s does not answer: its process is stopped or its host hangs", rank, host.c_str());
  }
  if (!report.known) return format("rank %d has not made this communicator, or has freed it", rank);
  if (!after(question.sequence, report.begun)) return "";
  if (report.begun == 0) return format("rank %d has not called it (it has called nothing on this comm)", rank);
  const Record* last = find(report, report.begun);
  const std::string call = last ? node::call_text(last->call) : "another call";
  if (after(report.begun, report.ended)) return format("rank %d is still in %s #%u", rank, call.c_str(), report.begun);
  return format("rank %d has not called it (its last call is %s #%u)", rank, call.c_str(), report.begun);
}

std::string timeout_text(const Question& question, const std::vector<Report>& reports, const std::vector<std::string>& hosts) {
  std::string text;
  int count = 0;
  for (size_t i = 0; i < reports.size(); ++i) {
    const int rank = question.members[i];
    if (rank == question.rank) continue;
    const std::string why = absence(question, reports[i], rank, hosts[static_cast<size_t>(rank)]);
    if (!why.empty() && count++ < kMostNamed) text += (text.empty() ? "" : ", ") + why;
  }
  if (count > kMostNamed) text += format(" and %d more", count - kMostNamed);
  if (text.empty()) {
    text = "all have called it" + (question.missing.empty() ? std::string(" but are slow") : ", but " + question.missing);
  }
  return format("timed out: rank %d waited %lld ms in %s #%u on comm '%s': %s", question.rank, static_cast<long long>(question.timeout_ms),
                node::call_text(question.call).c_str(), question.sequence, question.name.c_str(), text.c_str());
}

}  // namespace

Status analyse(const Question& question, const std::vector<Report>& reports, const std::vector<std::string>& hosts) {
  // After a death calls diverge and ranks stay away, since each learns of it in another call: then the death is the cause.
  for (const Report& report : reports) {
    if (report.death.empty()) continue;
    return question.reason == Reason::kLook ? Status{} : Status{SMDDP_ERR_PEER_GONE, report.death};
  }
  Difference difference;
  if (find_difference(reports, difference)) return {SMDDP_ERR_MISMATCH, mismatch_text(question, reports, difference)};
  switch (question.reason) {
    case Reason::kLook: return {};
    case Reason::kTimeout: return {SMDDP_ERR_TIMEOUT, timeout_text(question, reports, hosts)};
    case Reason::kMismatch: break;
  }
  return {SMDDP_ERR_MISMATCH, format("mismatch in operation #%u on comm '%s': rank %d called %s, and another rank means something else, %s",
                                     question.sequence, question.name.c_str(), question.rank, node::call_text(question.call).c_str(),
                                     question.missing.empty() ? "which nobody remembers" : question.missing.c_str())};
}

}  // namespace smddp::control
