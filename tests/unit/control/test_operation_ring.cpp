// The ring keeps the last 16 operations, and a reader never sees half of one.
#include "control/operation_ring.hpp"

#include <thread>

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

uint32_t note_of(uint32_t sequence) { return sequence * 2654435761u; }

void begin(OperationRing& ring, uint32_t sequence) {
  node::Call call;
  call.collective = Collective::kBroadcast;
  call.dtype = SMDDP_FLOAT16;
  call.op = SMDDP_MAX;
  call.count = sequence * size_t{3};
  call.root = static_cast<int>(sequence % 7);
  ring.begin(note_of(sequence), call, "ring", sequence + 1);
}

bool is_right(const Record& record) {
  return record.note == note_of(record.sequence) && record.call.count == record.sequence * size_t{3} && record.call.collective == Collective::kBroadcast &&
         record.call.dtype == SMDDP_FLOAT16 && record.call.op == SMDDP_MAX && record.call.root == static_cast<int>(record.sequence % 7) &&
         record.algorithm == "ring" && record.segment_elements == record.sequence + 1;
}

void keeps_the_last(void**) {
  OperationRing ring;
  assert_int_equal(ring.read().size(), 0);
  assert_int_equal(ring.begun(), 0);
  for (uint32_t s = 1; s <= 40; ++s) {
    begin(ring, s);
    assert_int_equal(ring.begun(), s);
    assert_int_equal(ring.ended(), s - 1);
    const std::vector<Record> records = ring.read();
    assert_int_equal(records.size(), std::min<size_t>(s, OperationRing::kOperations));
    for (size_t i = 0; i < records.size(); ++i) {
      assert_int_equal(records[i].sequence, s - static_cast<uint32_t>(records.size() - 1 - i));
      assert_true(is_right(records[i]));
    }
    ring.end();
  }
}

void readers_see_whole_records(void**) {
  OperationRing ring;
  std::atomic<bool> stop{false};
  size_t seen = 0, wrong = 0;
  std::thread reader([&] {
    while (!stop.load()) {
      for (const Record& record : ring.read()) {
        ++seen;
        wrong += !is_right(record);
      }
    }
  });
  for (uint32_t s = 1; s <= 1000000; ++s) begin(ring, s);
  stop.store(true);
  reader.join();
  assert_int_equal(wrong, 0);
  assert_true(seen > 0);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(keeps_the_last), cmocka_unit_test(readers_see_whole_records)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
