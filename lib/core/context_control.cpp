// A context's part in the control plane between nodes: what it tells other ranks, and what it does when they say something.
#include "control/graph.hpp"
#include "core/comm.hpp"
#include "core/context.hpp"

#include <algorithm>

namespace smddp::core {
namespace {

constexpr size_t kEarlyFailures = 64;  // remembered

}  // namespace

// Connects this rank with its neighbours among the members of the job.
std::unique_ptr<control::Links> Context::open_links(int64_t deadline) {
  const std::vector<int> peers = control::neighbours(rank_, members());
  return std::make_unique<control::Links>(rank_, members(), peers, bootstrap::connect_peers(meeting_, rank_, peers, address_, deadline), servers());
}

void Context::start_control(std::vector<UniqueFd> connections, const std::vector<int64_t>& pids) {
  if (links_) {
    std::vector<std::string> hosts;
    for (const bootstrap::Member& member : meeting_.members) hosts.push_back(member.host);
    control::Inquiries::Sources sources;
    sources.report = [this](uint64_t number) {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto found = std::find_if(comms_.begin(), comms_.end(), [number](const smddp_comm* comm) { return comm->number == number; });
      return found == comms_.end() ? control::Report{} : report(**found);
    };
    sources.departed = [this](int rank) { return departed(rank); };
    sources.end = [this](uint64_t number, const Status& verdict) {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (smddp_comm* comm : comms_) {
        if (comm->number == number) comm->queue->fail(verdict.code, verdict.text);
      }
    };
    inquiries_ = std::make_unique<control::Inquiries>(*links_, rank_, std::move(hosts), std::move(sources));
  }
  monitor_ = std::make_unique<control::Monitor>(*group_, std::move(connections), pids, links_.get(), inquiries_.get(),
                                                [this](const control::Notice& notice) { handle(notice); });
}

void Context::tell_failure(uint64_t comm, const Status& status) {
  control::Notice notice;
  notice.kind = control::Notice::Kind::kFailure;
  notice.rank = rank_;
  notice.comm = comm;
  notice.code = status.code;
  notice.text = status.text;
  links_->send(notice);
}

void Context::ask(control::Question question) {
  question.rank = rank_;
  inquiries_->ask(std::move(question));
  monitor_->wake();
}

std::string Context::departed(int rank) const {
  const int local_rank = local_rank_of(rank);
  return local_rank < 0 ? engine_->wire()->departed(rank) : group_->departed({local_rank});
}

// On the monitor's thread: what another rank has said.
void Context::handle(const control::Notice& notice) {
  switch (notice.kind) {
    case control::Notice::Kind::kInquiry: return inquiries_->hear(notice);
    case control::Notice::Kind::kAnswer: return inquiries_->take(notice);
    case control::Notice::Kind::kFailure: {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto found = std::find_if(comms_.begin(), comms_.end(), [&](const smddp_comm* comm) { return comm->number == notice.comm; });
      if (found != comms_.end()) return fail_from_afar(**found, notice.code, notice.text);
      if (early_failures_.size() >= kEarlyFailures) early_failures_.pop_front();
      early_failures_.push_back(notice);
      return;
    }
    case control::Notice::Kind::kDied:
    case control::Notice::Kind::kFinalized: break;
  }
  if (notice.rank == rank_) return;
  const bool died = notice.kind == control::Notice::Kind::kDied;
  if (local_rank_of(notice.rank) < 0) engine_->wire()->note_left(notice.rank, died, notice.text);  // the node knows its own
  group_->raise_event();
}

}  // namespace smddp::core
