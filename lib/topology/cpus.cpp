// The CPUs that this process may use, from the kernel alone, and lists of CPUs as text.
#include "base/units.hpp"
#include "topology/topology.hpp"

#include <sched.h>

#include <algorithm>
#include <memory>

namespace smddp::topology {
namespace {

constexpr int kMostCpus = 1 << 20;  // far beyond any machine; larger numbers in a list are a mistake

// Writes sorted numbers as ranges.
class ListWriter {
 public:
  void add(int cpu) {
    if (last_ >= 0 && cpu == last_ + 1) {
      last_ = cpu;
      return;
    }
    flush();
    first_ = last_ = cpu;
  }
  std::string text() {
    flush();
    return text_;
  }

 private:
  void flush() {
    if (last_ < 0) return;
    if (!text_.empty()) text_ += ',';
    text_ += std::to_string(first_);
    if (last_ > first_) text_ += '-' + std::to_string(last_);
    last_ = -1;
  }

  std::string text_;
  int first_ = -1, last_ = -1;
};

bool parse_cpu(const std::string& text, int& cpu) {
  int64_t number = 0;
  if (!parse_integer(text.c_str(), number) || number < 0 || number >= kMostCpus) return false;
  cpu = static_cast<int>(number);
  return true;
}

// Sets the CPUs of a list; false, and any of them set, if the text is none.
bool parse_list(const std::string& list, std::vector<bool>& cpus) {
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string part = list.substr(begin, end - begin);
    const size_t dash = part.find('-', 1);
    int first = 0, last = 0;
    if (!parse_cpu(part.substr(0, dash), first)) return false;
    if (dash == std::string::npos) {
      last = first;
    } else if (!parse_cpu(part.substr(dash + 1), last) || last < first) {
      return false;
    }
    if (cpus.size() <= static_cast<size_t>(last)) cpus.resize(static_cast<size_t>(last) + 1);
    for (int cpu = first; cpu <= last; ++cpu) cpus[static_cast<size_t>(cpu)] = true;
    begin = end + 1;
  }
  return true;
}

struct FreeSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};

}  // namespace

std::string allowed_cpus() {
  // The kernel refuses a set that is smaller than its own, whose size no call tells.
  for (int most = 1024; most <= kMostCpus; most *= 4) {
    const std::unique_ptr<cpu_set_t, FreeSet> set(CPU_ALLOC(static_cast<size_t>(most)));
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(most));
    if (!set) break;
    CPU_ZERO_S(bytes, set.get());
    if (sched_getaffinity(0, bytes, set.get()) != 0) continue;
    ListWriter list;
    for (int cpu = 0; cpu < most; ++cpu) {
      if (CPU_ISSET_S(static_cast<size_t>(cpu), bytes, set.get())) list.add(cpu);
    }
    const std::string text = list.text();
    if (!text.empty()) return text;
  }
  return "0";
}

std::vector<int> cpus_in(const std::vector<std::string>& lists) {
  std::vector<bool> cpus;
  for (const std::string& list : lists) {
    std::vector<bool> some;
    if (!parse_list(list, some)) continue;
    if (cpus.size() < some.size()) cpus.resize(some.size());
    for (size_t cpu = 0; cpu < some.size(); ++cpu) cpus[cpu] = cpus[cpu] || some[cpu];
  }
  std::vector<int> numbers;
  for (size_t cpu = 0; cpu < cpus.size(); ++cpu) {
    if (cpus[cpu]) numbers.push_back(static_cast<int>(cpu));
  }
  return numbers;
}

}  // namespace smddp::topology
