// Ranks as threads on several nodes with a loopback network between them, and communicators of some of them, as core makes them.
#pragma once

#include "coll/algorithms.hpp"
#include "coll/node.hpp"
#include "engine/engine.hpp"
#include "protocol/ranks.hpp"
#include "transport/loopback/loopback.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <tuple>

namespace test {

// A request as core makes it.
inline engine::Request* new_request(const std::shared_ptr<engine::Engine>& engine, engine::RequestKind kind, int64_t timeout_ms) {
  engine::Request* request = engine::take_request();
  request->kind = kind;
  request->engine = engine;
  request->timeout_ms = timeout_ms;
  request->deadline = deadline_after_ms(timeout_ms);
  return request;
}

// The same for all members.
struct CommPlan {
  std::vector<int> world_ranks;     // by rank
  coll::Shape shape;
  std::vector<uint64_t> boards;     // by node of the world; where it has members
  std::vector<uint16_t> indices;    // by rank
  uint32_t first_sequence = 0;
};

class LoopbackWorld {
 public:
  LoopbackWorld(const std::vector<int>& labels, const transport::loopback::Faults& faults, const transport::MessageOptions& options)
      : shape(coll::Shape::of_labels(labels)), hub_(std::make_shared<transport::loopback::Hub>(shape.size(), faults)) {
    for (const auto& ranks : shape.nodes) nodes.push_back(std::make_unique<Node>(static_cast<int>(ranks.size())));
    for (int r = 0; r < shape.size(); ++r) {
      const auto remote = shape.size() - static_cast<int>(shape.node_of(r).size());
      wires.push_back(std::make_unique<engine::Wire>(transport::loopback::make(hub_, r, options), shape.size(), remote));
      addresses_.push_back(wires.back()->transport().address());
    }
  }

  void connect(int rank) { wires[static_cast<size_t>(rank)]->transport().connect(addresses_, rank); }

  // first_sequence: of the boards and of the wire.
  void add_comm(std::vector<int> world_ranks, uint32_t first_sequence) {
    CommPlan plan;
    plan.first_sequence = first_sequence;
    plan.boards.assign(nodes.size(), node::kNoOffset);
    std::vector<int> labels;
    for (const int r : world_ranks) labels.push_back(shape.places[static_cast<size_t>(r)].node);
    for (size_t n = 0; n < nodes.size(); ++n) {
      const auto here = std::count(labels.begin(), labels.end(), static_cast<int>(n));
      if (here) plan.boards[n] = nodes[n]->add_board(static_cast<int>(here), first_sequence);
    }
    for (const int r : world_ranks) plan.indices.push_back(static_cast<uint16_t>(wires[static_cast<size_t>(r)]->take_index()));
    plan.shape = coll::Shape::of_labels(labels);
    plan.world_ranks = std::move(world_ranks);
    comms.push_back(std::move(plan));
  }

  coll::Shape shape;
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<std::unique_ptr<engine::Wire>> wires;  // by rank; each moves into its engine
  std::vector<CommPlan> comms;
  std::atomic<bool> failed{false};

 private:
  std::shared_ptr<transport::loopback::Hub> hub_;
  std::vector<std::string> addresses_;
};

// One member's communicator.
struct Comm {
  const CommPlan& plan;
  int rank;
  std::unique_ptr<node::Board> board;
  std::unique_ptr<engine::Queue> queue;
  std::map<std::tuple<const coll::Algorithm*, Collective, int>, coll::Schedule> schedules;

  static std::unique_ptr<Comm> make(LoopbackWorld& world, const CommPlan& plan, int world_rank, engine::Wire* wire, uint64_t p2p_bytes) {
    const auto place = std::find(plan.world_ranks.begin(), plan.world_ranks.end(), world_rank);
    if (place == plan.world_ranks.end()) return nullptr;
    auto comm = std::unique_ptr<Comm>(new Comm{plan, static_cast<int>(place - plan.world_ranks.begin()), nullptr, nullptr, {}});
    const int own = world.shape.places[static_cast<size_t>(world_rank)].node;
    std::vector<int> local, board_ranks;
    int board_rank = 0;
    for (const int r : plan.world_ranks) {
      const coll::Place at = world.shape.places[static_cast<size_t>(r)];
      if (r == world_rank) board_rank = static_cast<int>(local.size());
      board_ranks.push_back(at.node == own ? static_cast<int>(local.size()) : -1);
      if (at.node == own) local.push_back(at.local);
    }
    const auto node = static_cast<size_t>(own);
    comm->board = world.nodes[node]->attach(plan.boards[node], local, board_rank, plan.first_sequence);
    comm->board->name = "test";
    std::unique_ptr<engine::Route> route;
    if (plan.shape.node_count() > 1) {
      route.reset(new engine::Route{*wire, plan.world_ranks, plan.indices, std::move(board_ranks), comm->rank, plan.first_sequence, 0, {}});
    }
    comm->queue = std::make_unique<engine::Queue>(*comm->board, p2p_bytes, std::move(route));
    comm->queue->ask = [](const control::Question&) {};  // nobody analyses
    return comm;
  }

  const coll::Schedule& schedule(const coll::Algorithm* algorithm, Collective collective, int root) {
    const auto key = std::make_tuple(algorithm, collective, root);
    const auto found = schedules.find(key);
    if (found != schedules.end()) return found->second;
    const coll::Position position{plan.shape, rank, root};
    return schedules.emplace(key, algorithm ? algorithm->schedule(position) : coll::node_schedule(collective, position)).first->second;
  }
};

}  // namespace test
