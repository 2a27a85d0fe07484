// The executor runs a schedule of several node steps segment by segment: the hierarchical allreduce on one node gives, for any segment,
// the bits of the node group's own.
#include "coll/allreduce/hierarchical.hpp"
#include "core/comm.hpp"

#include <smddp/smddp.h>

#include <cstdarg>
#include <csetjmp>
#include <cstddef>
#include <cstring>
#include <thread>

extern "C" {
#include <cmocka.h>
}

namespace {

using namespace smddp;

std::string run_rank(const smddp_unique_id_t& id, int rank, int size) {
  smddp_init_options_t options{};
  options.struct_size = sizeof(options);
  options.rank = rank;
  options.size = size;
  options.unique_id = &id;
  options.timeout_ms = 60000;
  smddp_comm_t world = nullptr;
  if (smddp_init(&options, &world) != SMDDP_SUCCESS) return smddp_last_error();
  const coll::Schedule schedule = coll::hierarchical_allreduce(rank, size);
  std::string problem;
  for (const size_t count : {size_t{1}, size_t{63}, size_t{1000}, size_t{30000}, size_t{200000}}) {
    for (const size_t segment : {size_t{64}, size_t{4096}, size_t{65536}}) {
      if (count / segment > 100) continue;
      std::vector<float> send(count), expected(count), got(count, -1.0f);
      for (size_t i = 0; i < count; ++i) send[i] = 0.37f * static_cast<float>((i * 7 + static_cast<size_t>(rank) * 13) % 1009) - 100.0f;
      if (smddp_allreduce(send.data(), expected.data(), count, SMDDP_FLOAT32, SMDDP_SUM, world, nullptr) != SMDDP_SUCCESS) problem = smddp_last_error();

      engine::Request* request = engine::take_request();
      request->engine = world->context->engine_pointer();
      request->deadline = deadline_after_ms(60000);
      request->timeout_ms = 60000;
      request->schedule = &schedule;
      request->call.collective = Collective::kAllreduce;
      request->call.dtype = SMDDP_FLOAT32;
      request->call.op = SMDDP_SUM;
      request->call.count = count;
      request->call.sendbuf = send.data();
      request->call.recvbuf = got.data();
      request->segment_elements = segment;
      request->segments = static_cast<uint32_t>((count + segment - 1) / segment);
      request->engine->submit(*world->queue, *request, false);
      const Status status = core::finish(request, nullptr);
      if (!status.ok() && problem.empty()) problem = status.text;
      if (problem.empty() && std::memcmp(expected.data(), got.data(), count * sizeof(float)) != 0) {
        problem = smddp::format("rank %d of %d, %zu elements in segments of %zu: other bits", rank, size, count, segment);
      }
    }
  }
  smddp_finalize(world);
  return problem;
}

void hierarchical_equals_node(void**) {
  for (const int size : {1, 2, 3, 5}) {
    smddp_unique_id_t id;
    assert_int_equal(smddp_unique_id_create(&id), SMDDP_SUCCESS);
    std::vector<std::string> problems(static_cast<size_t>(size));
    std::vector<std::thread> threads;
    for (int r = 0; r < size; ++r) threads.emplace_back([&, r] { problems[static_cast<size_t>(r)] = run_rank(id, r, size); });
    for (std::thread& thread : threads) thread.join();
    for (const std::string& problem : problems) assert_string_equal(problem.c_str(), "");
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(hierarchical_equals_node)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
