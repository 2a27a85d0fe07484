#include "coll/builder.hpp"

#include <algorithm>

namespace smddp::coll {

Builder::Builder(Collective collective, const char* algorithm, const Position& position) {
  schedule.collective = collective;
  schedule.algorithm = algorithm;
  schedule.rank = position.rank;
  schedule.size = position.shape.size();
  schedule.root = position.root;
}

uint32_t Builder::send(int peer, const Slice& source) {
  ScheduleStep step;
  step.kind = StepKind::kSend;
  step.peer = peer;
  step.tag = sent_[peer]++;
  step.inputs = {source};
  return add(std::move(step));
}

uint32_t Builder::recv(int peer, const Slice& target) {
  ScheduleStep step;
  step.kind = StepKind::kRecv;
  step.peer = peer;
  step.tag = received_[peer]++;
  step.target = target;
  return add(std::move(step));
}

uint32_t Builder::copy(const Slice& source, const Slice& target) {
  ScheduleStep step;
  step.kind = StepKind::kCopy;
  step.inputs = {source};
  step.target = target;
  return add(std::move(step));
}

uint32_t Builder::reduce(std::vector<Slice> inputs, const Slice& target, bool finish) {
  ScheduleStep step;
  step.kind = StepKind::kReduce;
  step.inputs = std::move(inputs);
  step.target = target;
  step.finish = finish;
  return add(std::move(step));
}

uint32_t Builder::node(NodeStep node, const Slice& source, const Slice& target, int local_root, bool finish) {
  ScheduleStep step;
  step.node = node;
  step.inputs = {source};
  step.target = target;
  step.root = local_root;
  step.finish = finish;
  return add(std::move(step));
}

void Builder::order(uint32_t before, uint32_t after) { depend(schedule.steps[after], {before}); }

// A key for each share of each block, or for each slot of scratch.
std::vector<uint64_t> Builder::places(const Slice& slice, bool in_place) const {
  std::vector<uint64_t> keys;
  for (uint32_t i = 0; i < slice.blocks; ++i) {
    uint64_t block = slice.block + i;
    Buffer buffer = slice.buffer;
    const int other = in_place && buffer == Buffer::kSend ? in_place_block(schedule.collective, schedule.rank, slice.block + i) : -1;
    if (other >= 0) {
      block = static_cast<uint64_t>(other);
      buffer = Buffer::kReceive;
    }
    const uint64_t key = static_cast<uint64_t>(buffer) << 60 | block << 28;
    if (buffer == Buffer::kScratch) {
      keys.push_back(key);
    } else {
      for (uint32_t share = 0; share < slice.shares; ++share) keys.push_back(key | (slice.share + share));
    }
  }
  return keys;
}

uint32_t Builder::add(ScheduleStep step) {
  const auto index = static_cast<uint32_t>(schedule.steps.size());
  ancestors_.emplace_back(index / 64 + 1);
  std::vector<uint32_t> candidates;
  for (const bool in_place : {false, true}) {
    Memory& memory = memory_[in_place];
    const std::vector<uint64_t> written = places(step.target, in_place);
    if (step.kind == StepKind::kCopy && places(step.inputs[0], in_place) == written) continue;  // nothing to do
    for (const Slice& input : step.inputs) {
      for (const uint64_t key : places(input, in_place)) {
        Accesses& accesses = memory[key];
        if (accesses.writer >= 0) candidates.push_back(static_cast<uint32_t>(accesses.writer));
        accesses.readers.push_back(index);
      }
    }
    for (const uint64_t key : written) {
      Accesses& accesses = memory[key];
      if (accesses.writer >= 0) candidates.push_back(static_cast<uint32_t>(accesses.writer));
      for (const uint32_t reader : accesses.readers) {
        if (reader != index) candidates.push_back(reader);
      }
      accesses.writer = index;
      accesses.readers.clear();
    }
  }
  if (step.kind == StepKind::kNode) {  // node steps end one after the other, whatever they depend on
    if (last_node_ >= 0) follow(index, static_cast<uint32_t>(last_node_));
    last_node_ = index;
  }
  schedule.steps.push_back(std::move(step));
  depend(schedule.steps.back(), std::move(candidates));
  return index;
}

void Builder::follow(uint32_t step, uint32_t earlier) {
  std::vector<uint64_t>&mine = ancestors_[step], &theirs = ancestors_[earlier];
  mine[earlier / 64] |= uint64_t{1} << earlier % 64;
  for (size_t word = 0; word < theirs.size(); ++word) mine[word] |= theirs[word];
}

// Adds the candidates that do not follow from others: from the latest on, each is skipped that comes before one already there.
void Builder::depend(ScheduleStep& step, std::vector<uint32_t> candidates) {
  const auto index = static_cast<uint32_t>(&step - schedule.steps.data());
  std::sort(candidates.begin(), candidates.end(), std::greater<>());
  for (const uint32_t candidate : candidates) {
    if (ancestors_[index][candidate / 64] >> candidate % 64 & 1) continue;
    step.after.push_back({candidate});
    follow(index, candidate);
  }
}

}  // namespace smddp::coll
