#include "engine/servers.hpp"

#include "coll/algorithms.hpp"

namespace smddp::engine {

void tell_servers(Queue& queue, const Request& request, uint32_t history) {
  const node::Call& call = request.call;
  ServerCall told;
  told.count = call.count;
  told.segment_elements = request.segment_elements;
  told.sequence = request.execution->sequence();
  told.history = history;
  told.dtype = static_cast<uint16_t>(call.dtype);
  told.op = static_cast<uint16_t>(call.op);
  told.algorithm = coll::number_of(*coll::find_algorithm(call.collective, request.schedule->algorithm));
  told.named = call.algorithm;
  static_assert(sizeof(told) <= node::kMailInlineBytes);  // then sending never waits
  for (int server = 0; server < request.schedule->servers; ++server) {
    Status ignored;  // a server that has left, or a broken communicator, ends the request itself
    queue.remote->send(queue.route->ranks() + server, 0, &told, sizeof(told), ignored);
  }
}

node::Call expect(const ServerCall& told, Route& route) {
  route.sequence = told.sequence - 1;
  route.history = told.history;
  node::Call call;
  call.collective = coll::algorithm_of(told.algorithm)->collective;
  call.dtype = static_cast<smddp_dtype_t>(told.dtype);
  call.op = static_cast<smddp_op_t>(told.op);
  call.count = told.count;
  call.divisor = route.ranks();
  call.algorithm = told.named;
  return call;
}

}  // namespace smddp::engine
