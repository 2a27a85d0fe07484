// How providers would be used that cannot run here, from tables of what they say of themselves; and the ones that can.
#include "transport/ofi/capability.hpp"

#include <cstring>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

using namespace smddp::transport::ofi;

namespace {

constexpr size_t kMtu = 8192 + 640, kGiga = size_t{1} << 30;  // "approximately 8 KiB": the provider is asked, this is only a table

Capability efa() {
  Capability c;
  c.provider = "efa";
  c.fabric = "efa";
  c.card = c.closing_stops_writes = c.tagged = c.rma = true;
  c.max_message_bytes = SIZE_MAX;
  c.max_rma_bytes = kGiga;
  c.inject_bytes = 4096;
  c.immediate_bytes = 4;
  c.registers_remote = c.virtual_addresses = true;
  return c;
}

Capability efa_direct() {
  Capability c = efa();
  c.fabric = "efa-direct";
  c.tagged = false;
  c.max_message_bytes = kMtu;
  c.inject_bytes = 32;
  c.registers_local = true;
  c.manual_progress = false;
  return c;
}

Capability sockets_tcp() {
  Capability c;
  c.provider = "tcp;ofi_rxm";
  c.tagged = c.rma = true;
  c.max_message_bytes = SIZE_MAX;
  c.max_rma_bytes = kGiga;
  c.inject_bytes = 64;
  c.immediate_bytes = 8;
  return c;
}

void efa_with_device_writes(void**) {
  const Plan plan = plan_for(efa());
  assert_true(plan.usable);
  assert_int_equal(plan.bulk, Bulk::kWrite);
  assert_int_equal(plan.put_bytes, kGiga);
}

// A card without writes: the provider builds them from messages, so messages are better.
void efa_without_device_writes(void**) {
  Capability c = efa();
  c.emulates_write = true;
  assert_int_equal(plan_for(c).bulk, Bulk::kTagged);
  c.rma = false;
  assert_int_equal(plan_for(c).bulk, Bulk::kTagged);
}

void efa_direct_with_writes(void**) {
  const Plan plan = plan_for(efa_direct());
  assert_true(plan.usable);
  assert_int_equal(plan.bulk, Bulk::kWrite);
  assert_int_equal(plan.packet_bytes, kMtu);
}

// p4d: no writes, and messages of the MTU are all there is.
void efa_direct_with_messages_alone(void**) {
  Capability c = efa_direct();
  c.rma = false;
  c.max_rma_bytes = 0;
  const Plan plan = plan_for(c);
  assert_true(plan.usable);
  assert_int_equal(plan.bulk, Bulk::kPackets);
  assert_int_equal(plan.put_bytes, 0);
}

void cards_before_sockets(void**) {
  assert_true(plan_for(efa_direct()).tier > plan_for(sockets_tcp()).tier);
  Capability messages_alone = efa_direct();
  messages_alone.rma = false;
  assert_true(plan_for(messages_alone).tier > plan_for(sockets_tcp()).tier);
  assert_true(plan_for(efa()).tier > plan_for(messages_alone).tier);
}

void sockets(void**) {
  assert_int_equal(plan_for(sockets_tcp()).bulk, Bulk::kTagged);
  Capability c = sockets_tcp();
  c.tagged = false;
  assert_int_equal(plan_for(c).bulk, Bulk::kWrite);
  c.immediate_bytes = 0;
  assert_int_equal(plan_for(c).bulk, Bulk::kPackets);
}

void refused_with_reason(void**) {
  Capability c = sockets_tcp();
  c.reaches_others = false;
  assert_false(plan_for(c).usable);
  assert_non_null(strstr(plan_for(c).reason.c_str(), "does not leave the machine"));
  c = sockets_tcp();
  c.max_message_bytes = 100;
  assert_non_null(strstr(plan_for(c).reason.c_str(), "100 bytes"));
  c.messages = false;
  assert_false(plan_for(c).usable);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(efa_with_device_writes), cmocka_unit_test(efa_without_device_writes),
                              cmocka_unit_test(efa_direct_with_writes), cmocka_unit_test(efa_direct_with_messages_alone),
                              cmocka_unit_test(cards_before_sockets), cmocka_unit_test(sockets), cmocka_unit_test(refused_with_reason)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
