#include "process_group.hpp"

#include "call.hpp"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/utils/pybind.h>

#include <set>
#include <thread>

namespace torch_plugin {
namespace {

constexpr const char *kIdKey = "smddp_unique_id";

// All groups that live in this process. Never destroyed, so that groups may end at any time of the exit.
struct Groups {
  std::mutex mutex;
  std::set<ProcessGroupSmddp *> all;
};
Groups *groups = new Groups;

// The value under kIdKey: 'I' and the id, or 'E' and why there is none.
void publish_id(c10d::Store &store, smddp_unique_id_t *id, const Place &place) {
  const smddp_status_t status = smddp_unique_id_create(id);
  const std::string text = status == SMDDP_SUCCESS ? "I" + std::string(id->bytes, sizeof id->bytes) : std::string("E") + smddp_last_error();
  store.set(kIdKey, std::vector<uint8_t>(text.begin(), text.end()));
  if (status != SMDDP_SUCCESS) throw_error(place, status, text.c_str() + 1);
}

void fetch_id(c10d::Store &store, smddp_unique_id_t *id, std::chrono::milliseconds timeout, const Place &place) {
  store.wait({kIdKey}, timeout);
  const std::vector<uint8_t> value = store.get(kIdKey);
  if (value.size() == 1 + sizeof id->bytes && value[0] == 'I') {
    std::copy(value.begin() + 1, value.end(), id->bytes);
    return;
  }
  const std::string text = value.empty() ? "the store holds no id" : "rank 0: " + std::string(value.begin() + 1, value.end());
  throw_error(place, SMDDP_ERR_BOOTSTRAP, text.c_str());
}

std::string name_ranks(const std::vector<uint64_t> &global_ranks) {
  bool same = true;
  for (size_t i = 0; i < global_ranks.size(); ++i) same = same && global_ranks[i] == i;
  return same ? "" : c10::str("; ranks of this group are the job's ranks [", c10::Join(", ", global_ranks), "]");
}

}  // namespace

ProcessGroupSmddp::ProcessGroupSmddp(const c10::intrusive_ptr<c10d::Store> &store, int rank, int size, c10::intrusive_ptr<Options> options)
    : Backend(rank, size), store_(store), options_(std::move(options)), rank_names_(name_ranks(options_->global_ranks_in_group)) {
  const Place here = place("init_process_group");
  smddp_unique_id_t id;
  if (rank == 0) {
    publish_id(*store_, &id, here);
  } else {
    fetch_id(*store_, &id, options_->timeout, here);
  }
  try {
    start(id);
  } catch (...) {
    if (rank == 0) store_->deleteKey(kIdKey);
    throw;
  }
  // All have it now; a group that is made anew over the same store must not find it.
  if (rank == 0) store_->deleteKey(kIdKey);
  std::lock_guard lock(groups->mutex);
  groups->all.insert(this);
}

void ProcessGroupSmddp::start(const smddp_unique_id_t &id) {
  smddp_init_options_t init = SMDDP_INIT_STRUCT(init);
  init.rank = rank_;
  init.size = size_;
  init.thread_mode = SMDDP_THREAD_ORDERED;
  init.unique_id = &id;
  init.timeout_ms = options_->timeout.count();
  const smddp_status_t status = smddp_init(&init, &comm_);
  if (status != SMDDP_SUCCESS) throw_error(place("init_process_group"), status, smddp_last_error());
  const std::string name = options_->group_name.empty() ? "default" : "process group " + options_->group_name;
  smddp_comm_set_name(comm_, name.c_str());
}

c10::intrusive_ptr<ProcessGroupSmddp> ProcessGroupSmddp::create(const c10d::DistributedBackendOptions &group,
                                                                c10::intrusive_ptr<Options> options) {
  if (!options) {
    options = c10::make_intrusive<Options>(std::chrono::milliseconds(std::llround(1000.0 * static_cast<double>(group.timeout.count()))));
    options->global_ranks_in_group.assign(group.global_ranks_in_group.begin(), group.global_ranks_in_group.end());
    options->group_name = group.group_id;
  }
  return c10::make_intrusive<ProcessGroupSmddp>(group.store, group.group_rank, group.group_size, std::move(options));
}

c10::intrusive_ptr<c10d::Backend> ProcessGroupSmddp::split(const c10::intrusive_ptr<c10d::Store> &store, const std::vector<int> &ranks,
                                                           const c10::intrusive_ptr<c10d::Backend::Options> &options) {
  const auto mine = std::find(ranks.begin(), ranks.end(), rank_);
  if (mine == ranks.end()) return nullptr;
  auto child = c10::make_intrusive<Options>(options ? options->timeout : options_->timeout);
  if (options) {
    child->group_name = options->group_name;
    child->group_desc = options->group_desc;
    child->global_ranks_in_group = options->global_ranks_in_group;
  }
  const uint64_t number = splits_.fetch_add(1);
  auto child_store = c10::make_intrusive<c10d::PrefixStore>(c10::str("smddp_split_", number, "_", c10::Join("_", ranks)), store);
  return c10::make_intrusive<ProcessGroupSmddp>(child_store, static_cast<int>(mine - ranks.begin()), static_cast<int>(ranks.size()),
                                                std::move(child));
}

ProcessGroupSmddp::~ProcessGroupSmddp() {
  {
    std::lock_guard lock(groups->mutex);
    groups->all.erase(this);
  }
  if (Py_IsInitialized() && PyGILState_Check()) {
    pybind11::gil_scoped_release release;
    shutdown();
  } else {
    shutdown();
  }
}

void ProcessGroupSmddp::shutdown() {
  std::lock_guard lock(ending_);
  if (closed_.exchange(true)) return;
  if (entries_.load() > 0) smddp_comm_abort(comm_, "its process group was destroyed while a call was running");
  for (int i = 0; i < 4000 && entries_.load() > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (entries_.load() > 0) {
    TORCH_WARN("smddp: a call still runs 4 s after its process group was destroyed; its resources are left to the end of the process");
    return;
  }
  smddp_finalize(comm_);
}

void ProcessGroupSmddp::abort() {
  if (!closed_.load()) smddp_comm_abort(comm_, "torch.distributed aborted the process group");
  shutdown();
}

void ProcessGroupSmddp::shutdown_all() {
  std::lock_guard lock(groups->mutex);
  for (ProcessGroupSmddp *group : groups->all) group->shutdown();
}

void ProcessGroupSmddp::before_fork() { groups->mutex.lock(); }

void ProcessGroupSmddp::after_fork_in_parent() { groups->mutex.unlock(); }

void ProcessGroupSmddp::after_fork_in_child() {
  for (ProcessGroupSmddp *group : groups->all) group->closed_.store(true);
  groups = new Groups;
}

void ProcessGroupSmddp::setTimeout(std::chrono::milliseconds timeout) {
  const Entry entry(*this, "set_timeout");
  const smddp_status_t status = smddp_comm_set_timeout(comm_, timeout.count());
  if (status != SMDDP_SUCCESS) throw_error(place("set_timeout"), status, smddp_last_error());
  options_->timeout = timeout;
}

c10d::ErrorType ProcessGroupSmddp::getError() {
  const Entry entry(*this, "get_error");
  switch (smddp_comm_status(comm_)) {
    case SMDDP_SUCCESS: return c10d::ErrorType::SUCCESS;
    case SMDDP_ERR_TIMEOUT: return c10d::ErrorType::TIMEOUT;
    case SMDDP_ERR_PEER_GONE: return c10d::ErrorType::REMOTE_ERROR;
    default: return c10d::ErrorType::COMM_ERROR;
  }
}

uint64_t ProcessGroupSmddp::counter(const std::string &name) {
  const Entry entry(*this, "counter");
  uint64_t value = 0;
  const smddp_status_t status = smddp_comm_counter(comm_, name.c_str(), &value);
  if (status != SMDDP_SUCCESS) throw_error(place("counter"), status, smddp_last_error());
  return value;
}

void ProcessGroupSmddp::check_root(int64_t root, const char *call) const {
  TORCH_CHECK_VALUE(root >= 0 && root < size_, call, ": invalid root rank: ", root, " (the group has ", size_, " ranks)");
}

void ProcessGroupSmddp::check_list(size_t length, const char *what, const char *call) const {
  TORCH_CHECK_VALUE(length == static_cast<size_t>(size_), call, ": the list of ", what, " has ", length, " tensors, the group has ", size_,
                    " ranks");
}

}  // namespace torch_plugin
