// The Python module _smddp_torch: what torch.distributed and the package need of the backend. Importing it starts no thread.
#include "completion.hpp"
#include "process_group.hpp"

#include <pybind11/chrono.h>
#include <pthread.h>
#include <torch/csrc/utils/pybind.h>

namespace py = pybind11;

namespace torch_plugin {
namespace {

void after_fork_in_child() {
  ProcessGroupSmddp::after_fork_in_child();
  completion::forget();
}

// For Python's atexit: after it no thread of ours runs Python code, and the peers know that this rank has left.
void at_exit() {
  completion::stop();
  ProcessGroupSmddp::shutdown_all();
}

std::string library_version() {
  int major = 0, minor = 0, patch = 0;
  smddp_version(&major, &minor, &patch);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

using Options = ProcessGroupSmddp::Options;

c10::intrusive_ptr<Options> copy(const Options &options) {
  auto twin = c10::make_intrusive<Options>(options.timeout);
  twin->group_name = options.group_name;
  twin->group_desc = options.group_desc;
  twin->global_ranks_in_group = options.global_ranks_in_group;
  return twin;
}

}  // namespace
}  // namespace torch_plugin

PYBIND11_MODULE(_smddp_torch, m) {
  using namespace torch_plugin;
  using Release = py::call_guard<py::gil_scoped_release>;
  py::module_::import("torch._C._distributed_c10d");

  py::class_<ProcessGroupSmddp, c10d::Backend, c10::intrusive_ptr<ProcessGroupSmddp>> group(m, "ProcessGroupSMDDP");
  group.def_property_readonly("options", &ProcessGroupSmddp::options)
      .def("_set_default_timeout", &ProcessGroupSmddp::setTimeout, py::arg("timeout"), Release())
      .def("perform_nocolor_split", [](ProcessGroupSmddp &, const py::object &) {}, py::arg("device"))
      .def("comm_split_count", &ProcessGroupSmddp::splits)
      .def("get_error", &ProcessGroupSmddp::getError, Release())
      .def("counter", &ProcessGroupSmddp::counter, py::arg("name"), Release());

  py::class_<Options, c10d::Backend::Options, c10::intrusive_ptr<Options>>(group, "Options")
      .def(py::init([](std::chrono::milliseconds timeout) { return c10::make_intrusive<Options>(timeout); }),
           py::arg("timeout") = kBackendDefaultTimeout)
      .def("__copy__", [](const Options &self) { return copy(self); })
      .def("__deepcopy__", [](const Options &self, const py::dict &) { return copy(self); }, py::arg("memo"));

  m.def("create_backend", &ProcessGroupSmddp::create, py::arg("group"), py::arg("options").none(true) = nullptr, Release());
  m.def("library_version", library_version);
  m.def("at_exit", at_exit, Release());
  pthread_atfork(ProcessGroupSmddp::before_fork, ProcessGroupSmddp::after_fork_in_parent, after_fork_in_child);
}
