// Node ids: equal for processes of one kernel and network namespace, different otherwise, and there even where /proc is not whole.
#include "bootstrap/node_id.hpp"

#include "bootstrap/bootstrap.hpp"
#include "unit/bootstrap/environment.hpp"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
extern "C" {
#include <cmocka.h>
}

using namespace smddp::bootstrap;

static const char* const kBoot = "/proc/sys/kernel/random/boot_id";
static const char* const kNetwork = "/proc/self/ns/net";

static std::string in_child(bool other_namespace) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    std::string text = "none";
    if (!other_namespace || unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0) text = node_id();
    [[maybe_unused]] const ssize_t written = write(ends[1], text.data(), text.size());
    _exit(0);
  }
  close(ends[1]);
  char text[512];
  const ssize_t bytes = read(ends[0], text, sizeof(text));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return std::string(text, bytes > 0 ? static_cast<size_t>(bytes) : 0);
}

static void equal_in_other_processes(void**) {
  test::set_only({});
  assert_true(node_id().size() > 20);
  assert_string_equal(in_child(false).c_str(), node_id().c_str());
}

static void differs_in_another_network_namespace(void**) {
  const std::string other = in_child(true);
  if (other == "none") {
    print_message("SKIP: the kernel forbids network namespaces\n");
    skip();
  }
  assert_string_not_equal(other.c_str(), node_id().c_str());
}

static void the_variable_wins(void**) {
  test::set_only({{"SMDDP_NODE_ID", "left half"}});
  assert_string_equal(node_id().c_str(), "left half");
  test::set_only({});
}

static void works_without_parts_of_proc(void**) {
  const std::string whole = node_id_from(kBoot, kNetwork);
  const std::string no_boot = node_id_from("/nonexistent", kNetwork), no_network = node_id_from(kBoot, "/nonexistent");
  const std::string nothing = node_id_from("/nonexistent", "/nonexistent");
  assert_true(no_boot.size() > 2 && no_network.size() > 2 && nothing.size() > 2);
  assert_string_equal(whole.substr(whole.find('/')).c_str(), no_boot.substr(no_boot.find('/')).c_str());
  assert_string_equal(whole.substr(0, whole.find('/')).c_str(), no_network.substr(0, no_network.find('/')).c_str());
  assert_string_equal(nothing.c_str(), node_id_from("/nonexistent", "/nonexistent").c_str());
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(equal_in_other_processes),
      cmocka_unit_test(differs_in_another_network_namespace),
      cmocka_unit_test(the_variable_wins),
      cmocka_unit_test(works_without_parts_of_proc),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
