// Frames: what is encoded is decoded, in any pieces; nothing else is, whatever it is made of.
#include "bootstrap/frame.hpp"

#include "base/error.hpp"

#include <cstdlib>
#include <random>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
extern "C" {
#include <cmocka.h>
}

using namespace smddp;
using namespace smddp::bootstrap;
using State = FrameReader::State;

static Hello sample() {
  Hello hello;
  hello.token = 0x0123456789abcdefu;
  hello.rank = 3;
  hello.size = 5;
  hello.protocol = 9;
  hello.timeout_ms = -1;
  hello.left_ms = 1234567890123;
  hello.member = {"node", "host", 4242, "0-3,8"};
  hello.job_id = "job";
  hello.parameters = "SMDDP_X=1\n";
  return hello;
}

static void layout_of_the_header_is_fixed(void**) {
  const std::string bytes = encode(Accepted{"h", 258});
  assert_memory_equal(bytes.data(), "SMDDP-B\n\x01\x00\x02\x00\x0d\x00\x00\x00", 16);
  assert_int_equal(bytes.size(), 24 + 8 + 4 + 1);
  assert_memory_equal(bytes.data() + 24, "\x02\x01\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00h", 13);
}

static void every_frame_comes_back(void**) {
  size_t used = 0;
  const std::string hello_bytes = encode(sample());
  FrameReader reader(kMaxHelloBody);
  assert_int_equal(reader.feed(hello_bytes + "rest", used), State::kComplete);
  assert_int_equal(used, hello_bytes.size());
  Hello hello;
  assert_true(decode(reader.body(), hello));
  assert_true(hello.token == sample().token && hello.rank == 3 && hello.size == 5 && hello.protocol == 9);
  assert_true(hello.timeout_ms == -1 && hello.left_ms == 1234567890123);
  assert_string_equal(hello.member.cpus.c_str(), "0-3,8");
  assert_int_equal(hello.member.pid, 4242);
  assert_string_equal(hello.job_id.c_str(), "job");
  assert_string_equal(hello.parameters.c_str(), "SMDDP_X=1\n");

  Verdict verdict;
  reader.restart(kMaxReplyBody);
  reader.feed(encode(Verdict{Reason::kDuplicate, SMDDP_ERR_VERSION, "why"}), used);
  assert_true(decode(reader.body(), verdict));
  assert_true(verdict.reason == Reason::kDuplicate && verdict.code == SMDDP_ERR_VERSION && verdict.text == "why");

  Meeting meeting, copy;
  meeting.nonce[15] = 200;
  meeting.members = {{"a", "b", 1, "c"}, {"d", "e", 2, "f"}};
  reader.restart(kMaxReplyBody);
  reader.feed(encode(meeting), used);
  assert_true(decode(reader.body(), 2, copy));
  assert_true(copy.nonce == meeting.nonce && copy.members[1].host == "e" && copy.members[0].pid == 1);
  assert_false(decode(reader.body(), 3, copy));
  assert_false(decode(reader.body(), 1, copy));
}

static void a_long_verdict_is_cut(void**) {
  size_t used = 0;
  FrameReader reader(kMaxReplyBody);
  assert_int_equal(reader.feed(encode(Verdict{Reason::kFailed, SMDDP_ERR_TIMEOUT, std::string(100000, 'x')}), used), State::kComplete);
  Verdict verdict;
  assert_true(decode(reader.body(), verdict));
  assert_true(verdict.text.size() > 8000);
}

static void any_pieces_will_do(void**) {
  std::mt19937 random(7);
  const std::string bytes = encode(sample());
  for (int i = 0; i < 200; ++i) {
    FrameReader reader(kMaxHelloBody);
    size_t at = 0, used = 0;
    State state = State::kMore;
    while (at < bytes.size()) {
      assert_int_equal(state, State::kMore);
      state = reader.feed(std::string_view(bytes).substr(at, 1 + random() % 9), used);
      assert_true(used > 0);
      at += used;
    }
    assert_int_equal(state, State::kComplete);
    Hello hello;
    assert_true(decode(reader.body(), hello));
  }
}

static void other_versions_are_told_apart(void**) {
  std::string bytes = encode(sample());
  bytes[8] = 2;
  FrameReader reader(kMaxHelloBody);
  size_t used = 0;
  assert_int_equal(reader.feed(bytes, used), State::kVersion);
  assert_int_equal(reader.version(), 2);
  assert_int_equal(used, kHeaderBytes);
}

static void the_first_wrong_byte_ends_it(void**) {
  FrameReader reader(kMaxHelloBody);
  size_t used = 0;
  assert_int_equal(reader.feed("G", used), State::kGarbage);
  reader.restart(kMaxHelloBody);
  assert_int_equal(reader.feed("SMDDP-X", used), State::kGarbage);
  std::string large = encode(sample());
  large[14] = '\x7f';
  reader.restart(kMaxHelloBody);
  assert_int_equal(reader.feed(std::string_view(large).substr(0, kHeaderBytes), used), State::kGarbage);
}

// Every changed bit, every shorter length and random bodies: refused, without touching what is not there (the sanitizers look on).
static void fuzz(void**) {
  const char* text = std::getenv("SMDDP_TEST_SEED");
  const unsigned seed = text ? static_cast<unsigned>(std::atoi(text)) : 1;
  std::mt19937 random(seed);
  const std::string good = encode(sample());
  size_t used = 0;
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    FrameReader reader(kMaxHelloBody);
    const State state = reader.feed(bytes, used);
    Hello hello;
    // The kind is covered by the checksum as well.
    if (state == State::kComplete) fail_msg("seed %u: bit %zu went unnoticed", seed, bit);
  }
  const std::string body = good.substr(kHeaderBytes);
  for (size_t length = 0; length < body.size(); ++length) {
    Hello hello;
    assert_false(decode(std::string_view(body).substr(0, length), hello));
  }
  for (int i = 0; i < 200000; ++i) {
    std::string bytes = body;
    for (unsigned n = 1 + random() % 4; n > 0; --n) bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 2) bytes.resize(random() % bytes.size());
    Hello hello;
    Accepted accepted;
    Verdict verdict;
    Meeting meeting;
    decode(bytes, accepted);
    decode(bytes, static_cast<int>(random() % 100), meeting);
    if (decode(bytes, hello) && hello.parameters.size() > kMaxParameters) fail_msg("seed %u: round %d", seed, i);
    if (decode(bytes, verdict) && verdict.code == SMDDP_SUCCESS) fail_msg("seed %u: round %d: a verdict of success", seed, i);
  }
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(layout_of_the_header_is_fixed), cmocka_unit_test(every_frame_comes_back),
      cmocka_unit_test(a_long_verdict_is_cut),         cmocka_unit_test(any_pieces_will_do),
      cmocka_unit_test(other_versions_are_told_apart), cmocka_unit_test(the_first_wrong_byte_ends_it),
      cmocka_unit_test(fuzz),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
