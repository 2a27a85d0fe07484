// TIMEOUT 240
// Machines that this one is not: IPv6 only, IPv4 only, loopback only or not even that, and one with tiny listen backlogs.
#include "base/log.hpp"
#include "unit/bootstrap/environment.hpp"
#include "unit/bootstrap/namespaces.hpp"
#include "unit/bootstrap/ranks.hpp"

#include <sys/resource.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
extern "C" {
#include <cmocka.h>
}

using namespace smddp;
using namespace smddp::bootstrap;
using namespace smddp::bootstrap::test;

static int g_skipped = 0;

static void judge(const std::string& text) {
  if (text.rfind("SKIP", 0) == 0) {
    print_message("%s\n", text.c_str());
    ++g_skipped;
    skip();
  }
  assert_nothing(text);
}

// Three ranks at each of the addresses.
static std::string meet_at(std::initializer_list<const char*> addresses) {
  std::string wrong;
  for (const char* address : addresses) {
    const int port = free_port();
    std::vector<Attendance> ranks;
    for (int rank = 0; rank < 3; ++rank) ranks.push_back(start(Rank(rank, 3, port, address)));
    const std::string text = check_all(ranks, 3);
    if (!text.empty()) wrong += std::string(address) + ": " + text;
  }
  return wrong;
}

static std::string meet_by_unique_id(const char* address) {
  const smddp_unique_id_t id = create_unique_id();
  std::vector<Attendance> ranks;
  std::string wrong;
  for (int rank = 0; rank < 3; ++rank) {
    smddp_init_options_t options = SMDDP_INIT_STRUCT(options);
    options.rank = rank;
    options.size = 3;
    options.unique_id = &id;
    Rank member(rank, 3, 0);
    member.placement = placement(&options);
    if (member.placement.address != address) wrong += "the unique id carries " + member.placement.address + "\n";
    ranks.push_back(start(std::move(member)));
  }
  return wrong + check_all(ranks, 3);
}

static void ipv6_only(void**) {
  judge(in_namespace([]() -> std::string {
    if (!command("ip link set lo up && ip addr del 127.0.0.1/8 dev lo && ip link add v0 type veth peer name v1 && ip link set v0 up && "
                 "ip link set v1 up && ip addr add fd00::1/64 dev v0 nodad && ip addr add fe80::77/64 dev v0 nodad")) {
      return "SKIP: a namespace with IPv6 only cannot be made";
    }
    std::string wrong = meet_at({"fd00::1", "[fd00::1]", "::1", "fe80::77%v0", "[fe80::77%v0]"}) + meet_by_unique_id("fd00::1");
    if (!set_hosts("fd00::1 six.test\n")) return wrong.empty() ? "SKIP: /etc/hosts cannot be replaced" : wrong;
    return wrong + meet_at({"six.test"});
  }));
}

static void ipv4_only(void**) {
  judge(in_namespace([]() -> std::string {
    if (!write_file("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1") || !command("ip link set lo up")) return "SKIP: IPv6 cannot be disabled";
    std::string wrong = meet_at({"127.0.0.1", "localhost"}) + meet_by_unique_id("127.0.0.1");
    // Names with addresses of both families, of which one does not work.
    if (!set_hosts("::1 localhost both.test\n127.0.0.1 localhost both.test\n")) return wrong.empty() ? "SKIP: /etc/hosts cannot be replaced" : wrong;
    return wrong + meet_at({"localhost", "both.test"});
  }));
}

static void loopback_only(void**) {
  judge(in_namespace([]() -> std::string {
    if (!command("ip link set lo up")) return "lo cannot be set up";
    return meet_at({"127.0.0.1", "localhost", "::1", "[::1]"}) + meet_by_unique_id("127.0.0.1");
  }));
}

static void several_addresses(void**) {
  judge(in_namespace([]() -> std::string {
    if (!command("ip link set lo up && ip link add docker0 type veth peer name v0 && ip link set v0 up && ip link set docker0 up && ip addr add 172.17.0.1/16 dev docker0 && "
                 "ip link add eth7 type veth peer name v1 && ip link set v1 up && ip link set eth7 up && ip addr add 10.9.0.1/24 dev eth7 && ip addr add fd00::9/64 dev eth7 nodad")) {
      return "SKIP: a namespace with several interfaces cannot be made";
    }
    // Clients of one name may find rank 0 under either of its addresses.
    std::string wrong = meet_by_unique_id("10.9.0.1") + meet_at({"10.9.0.1", "fd00::9", "172.17.0.1"});
    for (const auto& [interface, address] :
         {std::pair{"docker0", "172.17.0.1"}, {"docker", "172.17.0.1"}, {"eth", "10.9.0.1"}, {"docker,lo", "172.17.0.1"}, {"lo", "127.0.0.1"},
          {"^eth", "172.17.0.1"}, {"^eth7,docker", "127.0.0.1"}, {"^docker0", "10.9.0.1"}}) {
      set_only({{"SMDDP_BOOTSTRAP_INTERFACE", interface}});
      wrong += meet_by_unique_id(address);
    }
    // eth7 in full is not eth70.
    command("ip link add eth70 type veth peer name v2 && ip link set v2 up && ip link set eth70 up && ip addr add 10.9.1.1/24 dev eth70 && ip link set eth7 down");
    set_only({{"SMDDP_BOOTSTRAP_INTERFACE", "eth7"}});
    try {
      create_unique_id();
      wrong += "eth7 is down, yet it has an address\n";
    } catch (const Error&) {
    }
    command("ip link set eth7 up && ip addr replace fd00::9/64 dev eth7 nodad; ip link del eth70");
    set_only({});
    if (!set_hosts("fd00::9 head.test\n10.9.0.1 head.test\n127.0.1.1 head.test\n")) return wrong.empty() ? "SKIP: /etc/hosts cannot be replaced" : wrong;
    wrong += meet_at({"head.test"});
    // Rank 0's own name is a loopback address on its machine, as Debian does it, and another one elsewhere.
    if (!set_hosts("127.0.1.1 head.test\n")) return wrong + "hosts";
    const int port = free_port();
    std::vector<Attendance> ranks;
    ranks.push_back(start(Rank(0, 3, port, "head.test")));
    ranks.push_back(start(Rank(1, 3, port, "10.9.0.1")));
    ranks.push_back(start(Rank(2, 3, port, "fd00::9")));
    return wrong + check_all(ranks, 3);
  }));
}

static void no_interface_at_all(void**) {
  judge(in_namespace([]() -> std::string {
    for (const char* address : {"127.0.0.1", "::1"}) {
      Attendance root = start(Rank(0, 2, 29500, address));
      const Outcome client = attend(Rank(1, 2, 29500, address)), outcome = root.get();
      for (const Outcome* one : {&client, &outcome}) {
        if (one->code != SMDDP_ERR_BOOTSTRAP || !contains(one->text, "interface lo up?") || one->took_ms > 5000) {
          return format("%s after %lld ms: %s", status_name(one->code), static_cast<long long>(one->took_ms), one->text.c_str());
        }
      }
    }
    return "";
  }));
}

// Rank 0 and 511 others, all at once, where the kernel resets every connection beyond the eighth that waits to be accepted.
static void tiny_backlog(void**) {
  judge(in_namespace([]() -> std::string {
    constexpr int kSize = 512;
    if (!command("ip link set lo up") || !write_file("/proc/sys/net/core/somaxconn", "8") ||
        !write_file("/proc/sys/net/ipv4/tcp_abort_on_overflow", "1")) {
      return "SKIP: the limits of the namespace cannot be set";
    }
    rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < 3 * kSize) return "SKIP: too few descriptors are allowed";
    const int64_t before = now_ns();
    const int port = free_port();
    std::vector<Attendance> ranks;
    for (int rank = 0; rank < kSize; ++rank) {
      Rank member(rank, kSize, port);
      member.timeout_ms = 60000;
      ranks.push_back(start(std::move(member)));
    }
    std::string wrong = check_all(ranks, kSize);
    const int64_t took_ms = (now_ns() - before) / 1000000;
    print_message("512 ranks met in %lld ms\n", static_cast<long long>(took_ms));
    if (took_ms > 30000) wrong += format("it took %lld ms", static_cast<long long>(took_ms));
    return wrong;
  }));
}

// A world of 100,000 of which two are there.
static void claimed_size_costs_no_memory(void**) {
  judge(in_namespace([]() -> std::string {
    command("ip link set lo up");
    set_only({{"RANK", "0"}, {"WORLD_SIZE", "100000"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "29500"}});
    Rank root(0, 100000, 29500), client(1, 100000, 29500);
    root.placement = placement(nullptr);
    client.placement.job_id = root.placement.job_id;
    root.timeout_ms = client.timeout_ms = 1000;
    Attendance other = start(std::move(client));
    const Outcome outcome = attend(std::move(root));
    const Outcome its = other.get();
    rusage used;
    getrusage(RUSAGE_SELF, &used);
    if (outcome.code != SMDDP_ERR_TIMEOUT || its.code != SMDDP_ERR_TIMEOUT) return outcome.text + its.text;
    if (!contains(its.text, "ranks 2-99999 of 100000 did not come")) return its.text;
    return used.ru_maxrss < 200 * 1024 ? "" : format("%ld KiB", used.ru_maxrss);
  }));
}

int main() {
  set_log_level(Level::kError);
  set_only({});
  const CMUnitTest tests[] = {
      cmocka_unit_test(ipv6_only),     cmocka_unit_test(ipv4_only),           cmocka_unit_test(loopback_only),
      cmocka_unit_test(several_addresses), cmocka_unit_test(no_interface_at_all), cmocka_unit_test(tiny_backlog),
      cmocka_unit_test(claimed_size_costs_no_memory),
  };
  const int failed = cmocka_run_group_tests(tests, nullptr, nullptr);
  return failed == 0 && g_skipped > 0 ? 77 : failed;
}
