// The sentence of the analyser, from what the members say; and that a report survives its journey.
#include "control/analysis.hpp"

#include <cstring>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

using namespace smddp;
using namespace smddp::control;

namespace {

node::Call call_of(Collective collective, size_t count = 4096, smddp_op_t op = SMDDP_SUM, int root = 0) {
  node::Call call;
  call.collective = collective;
  call.dtype = SMDDP_FLOAT32;
  call.op = op;
  call.count = count;
  call.root = root;
  return call;
}

// A member that has made the calls first, first + 1, …; a note stands for a call and all before it.
Report report_of(const std::vector<node::Call>& calls, uint32_t first = 1, bool ended = true) {
  Report report;
  report.answered = report.known = true;
  uint32_t note = first;
  for (const node::Call& call : calls) {
    note = note * 31 + node::signature(call);
    report.records.push_back({static_cast<uint32_t>(first + report.records.size()), note, call, "ring", 0});
  }
  report.begun = static_cast<uint32_t>(first + calls.size() - 1);
  report.ended = report.begun - (ended || calls.empty() ? 0 : 1);
  return report;
}

Question question_of(Reason reason, uint32_t sequence = 2) {
  Question question;
  question.name = "world";
  question.members = {4, 5, 6, 7};
  question.rank = 5;
  question.reason = reason;
  question.sequence = sequence;
  question.call = call_of(Collective::kAllreduce);
  question.timeout_ms = 1500;
  return question;
}

const std::vector<std::string> kHosts = {"", "", "", "", "a", "a", "b", "b"};
const node::Call kSum = call_of(Collective::kAllreduce), kMax = call_of(Collective::kAllreduce, 4096, SMDDP_MAX), kBarrier = call_of(Collective::kBarrier);

void expect(const Question& question, const std::vector<Report>& reports, smddp_status_t code, const char* text) {
  const Status status = analyse(question, reports, kHosts);
  assert_string_equal(status.text.c_str(), text);
  assert_int_equal(status.code, code);
}

void mismatch(void**) {
  const std::vector<Report> reports = {report_of({kBarrier, kSum}), report_of({kBarrier, kSum}), report_of({kBarrier, kMax}), report_of({kBarrier})};
  for (const Reason reason : {Reason::kLook, Reason::kMismatch, Reason::kTimeout}) {
    expect(question_of(reason), reports, SMDDP_ERR_MISMATCH,
           "mismatch in operation #2 on comm 'world': rank 4 called allreduce(4096 × float32, sum), rank 6 called allreduce(4096 × float32, max)");
  }
}

// Several members are wrong in several operations: the earliest counts, between the lowest ranks.
void first_difference(void**) {
  expect(question_of(Reason::kLook, 3), {report_of({kBarrier, kSum, kSum}), report_of({kBarrier, kSum, kMax}), report_of({kMax, kSum}), report_of({kMax})},
         SMDDP_ERR_MISMATCH, "mismatch in operation #1 on comm 'world': rank 4 called barrier(), rank 6 called allreduce(4096 × float32, max)");
}

// The operation in which they parted is forgotten, or the calls are run in different ways.
void hidden_difference(void**) {
  Report other = report_of({kSum, kSum}, 20);
  for (Record& record : other.records) record.note ^= 1;
  expect(question_of(Reason::kMismatch, 21), {report_of({kSum, kSum}, 20), report_of({kSum, kSum}, 20), other, report_of({kSum}, 20)}, SMDDP_ERR_MISMATCH,
         "mismatch on comm 'world': rank 4 and rank 6 have called different things some time before operation #20, the first that both remember");
  other = report_of({kSum});
  other.records[0].note ^= 1;
  other.records[0].algorithm = "sharded";
  other.records[0].segment_elements = 64;
  expect(question_of(Reason::kMismatch, 1), {report_of({kSum}), other, Report(), Report()}, SMDDP_ERR_MISMATCH,
         "mismatch in operation #1 on comm 'world': rank 4 called allreduce(4096 × float32, sum) by 'ring' in segments of 0, "
         "rank 5 called allreduce(4096 × float32, sum) by 'sharded' in segments of 64");
}

void nothing_to_say(void**) { expect(question_of(Reason::kLook), {report_of({kSum, kSum}), report_of({kSum, kSum}), report_of({kSum}), Report()}, SMDDP_SUCCESS, ""); }

void timeout(void**) {
  Report gone;
  gone.left = "rank 7 has finalized";
  expect(question_of(Reason::kTimeout), {report_of({kBarrier}), report_of({kBarrier, kSum}, 1, false), Report(), gone}, SMDDP_ERR_TIMEOUT,
         "timed out: rank 5 waited 1500 ms in allreduce(4096 × float32, sum) #2 on comm 'world': rank 4 has not called it (its last call is barrier() #1), "
         "rank 6 on host b does not answer: its process is stopped or its host hangs, rank 7 has finalized");
  Report unknown;
  unknown.answered = true;
  expect(question_of(Reason::kTimeout), {report_of({}), report_of({kBarrier, kSum}), report_of({kBarrier}, 1, false), unknown}, SMDDP_ERR_TIMEOUT,
         "timed out: rank 5 waited 1500 ms in allreduce(4096 × float32, sum) #2 on comm 'world': rank 4 has not called it (it has called nothing on this comm), "
         "rank 6 is still in barrier() #1, rank 7 has not made this communicator, or has freed it");
  Question question = question_of(Reason::kTimeout);
  const std::vector<Report> all(4, report_of({kBarrier, kSum}));
  expect(question, all, SMDDP_ERR_TIMEOUT,
         "timed out: rank 5 waited 1500 ms in allreduce(4096 × float32, sum) #2 on comm 'world': all have called it but are slow");
  question.missing = "nothing has come from rank 4";
  expect(question, all, SMDDP_ERR_TIMEOUT,
         "timed out: rank 5 waited 1500 ms in allreduce(4096 × float32, sum) #2 on comm 'world': all have called it, but nothing has come from rank 4");
}

void death_is_the_cause(void**) {
  std::vector<Report> reports = {report_of({kSum}), report_of({kMax}), report_of({kMax}), Report()};
  reports[2].death = "rank 7 died (connection closed)";
  expect(question_of(Reason::kMismatch), reports, SMDDP_ERR_PEER_GONE, "rank 7 died (connection closed)");
  expect(question_of(Reason::kTimeout), reports, SMDDP_ERR_PEER_GONE, "rank 7 died (connection closed)");
  expect(question_of(Reason::kLook), reports, SMDDP_SUCCESS, "");
}

void many(void**) {
  Question question = question_of(Reason::kTimeout);
  question.members.clear();
  for (int r = 0; r < 30; ++r) question.members.push_back(r);
  std::vector<Report> reports(30, report_of({}));
  reports[5] = report_of({kSum, kSum});
  const Status status = analyse(question, reports, std::vector<std::string>(30, "a"));
  assert_non_null(strstr(status.text.c_str(), "rank 8 has not called it (it has called nothing on this comm) and 21 more"));
}

void travels(void**) {
  Report report = report_of(std::vector<node::Call>(16, call_of(Collective::kReduce, size_t{1} << 40, SMDDP_MIN, 3)), 0xfffffff8u);
  report.death = "rank 7 died (connection closed)";
  const std::string bytes = encode(report);
  Report back;
  assert_true(decode(bytes, back));
  assert_true(back.answered && back.known);
  assert_int_equal(back.begun, report.begun);
  assert_int_equal(back.ended, report.ended);
  assert_string_equal(back.death.c_str(), report.death.c_str());
  assert_int_equal(back.records.size(), 16);
  for (size_t i = 0; i < 16; ++i) {
    assert_int_equal(back.records[i].sequence, report.records[i].sequence);
    assert_int_equal(back.records[i].note, report.records[i].note);
    assert_string_equal(node::call_text(back.records[i].call).c_str(), node::call_text(report.records[i].call).c_str());
    assert_string_equal(back.records[i].algorithm.c_str(), "ring");
  }
  for (size_t cut = 0; cut < bytes.size(); ++cut) {
    Report part;
    assert_false(decode(std::string_view(bytes).substr(0, cut), part));
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(mismatch),       cmocka_unit_test(first_difference), cmocka_unit_test(hidden_difference),
                              cmocka_unit_test(nothing_to_say), cmocka_unit_test(timeout),          cmocka_unit_test(death_is_the_cause),
                              cmocka_unit_test(many),           cmocka_unit_test(travels)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
