// Room for a connection to every rank while ranks meet. Invariant: the process's soft limit is as before afterwards.
#pragma once

#include <sys/resource.h>

namespace smddp::bootstrap {

class DescriptorLimit {
 public:
  explicit DescriptorLimit(int ranks) : ranks_(ranks) {
    const rlim_t wanted = static_cast<rlim_t>(ranks) + 512;  // what the program itself has open
    if (getrlimit(RLIMIT_NOFILE, &before_) != 0 || before_.rlim_cur >= wanted) return;
    rlimit raised = before_;
    raised.rlim_cur = wanted < before_.rlim_max ? wanted : before_.rlim_max;
    raised_ = setrlimit(RLIMIT_NOFILE, &raised) == 0;
  }
  ~DescriptorLimit() {
    if (raised_) setrlimit(RLIMIT_NOFILE, &before_);
  }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

  int needed() const { return ranks_; }

 private:
  rlimit before_{};
  int ranks_;
  bool raised_ = false;
};

}  // namespace smddp::bootstrap
