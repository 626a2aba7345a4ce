// SPDX-License-Identifier: BSD-3-Clause
// What Python sees: weft._C
#include "bootstrap.h"
#include "group.h"
#include "loss.h"
#include "reunion.h"

#include <pybind11/chrono.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

namespace py = pybind11;
using weft_torch::ProcessGroupWeft;

PYBIND11_MODULE(_C, module)
{
    py::module_::import("torch._C._distributed_c10d"); // the base classes
    using Options = ProcessGroupWeft::Options;
    py::class_<ProcessGroupWeft, c10::intrusive_ptr<ProcessGroupWeft>, c10d::Backend> group(
        module, "ProcessGroupWeft");
    py::class_<Options, c10::intrusive_ptr<Options>, c10d::Backend::Options>(group, "Options")
        .def(py::init([](std::chrono::milliseconds timeout) {
                 return c10::make_intrusive<Options>(timeout);
             }),
             py::arg("timeout") = kBackendDefaultTimeout);
    group.def(py::init([](const weft_torch::StorePtr &store, int rank, int size,
                          const c10::intrusive_ptr<Options> &options) {
                  return c10::make_intrusive<ProcessGroupWeft>(store, rank, size, options);
              }),
              py::arg("store"), py::arg("rank"), py::arg("size"), py::arg("options"),
              py::call_guard<py::gil_scoped_release>());
    group.attr("audits_itself") = true;
    group.def("report", &ProcessGroupWeft::report, py::arg("as_json"),
              py::call_guard<py::gil_scoped_release>());
    group.def("agree", &ProcessGroupWeft::agree, py::arg("good"),
              py::call_guard<py::gil_scoped_release>());
    using weft_torch::Recovery;
    py::class_<Recovery>(module, "Recovery")
        .def(py::init([](const c10::intrusive_ptr<ProcessGroupWeft> &of) {
                 return std::make_unique<Recovery>(*of);
             }),
             py::arg("group"), py::call_guard<py::gil_scoped_release>())
        .def_property_readonly("survivors", &Recovery::survivors)
        .def_property_readonly("rank", &Recovery::rank)
        .def("share", &Recovery::share, py::arg("text"), py::call_guard<py::gil_scoped_release>());
    using weft_torch::Reunion;
    py::class_<Reunion>(module, "Reunion")
        .def(py::init<>(), py::call_guard<py::gil_scoped_release>())
        .def_property_readonly("rank", &Reunion::rank)
        .def_property_readonly("size", &Reunion::size)
        .def("share", &Reunion::share, py::arg("text"), py::call_guard<py::gil_scoped_release>())
        .def("agree", &Reunion::agree, py::arg("good"), py::call_guard<py::gil_scoped_release>())
        .def("end", &Reunion::end, py::call_guard<py::gil_scoped_release>());
    module.def("ranks_come_again", &weft_torch::ranks_come_again);
    module.def("mpi_runs", [] { return weft_torch::Library::instance().runs(); });
    module.def(
        "revoke_all", [] { weft_torch::Library::instance().revoke_all(); },
        py::call_guard<py::gil_scoped_release>());
    module.def(
        "close_at_exit",
        [](std::optional<double> limit_s) {
            weft_torch::Library::instance().close_at_exit(limit_s);
        },
        py::arg("limit_s"), py::call_guard<py::gil_scoped_release>());
    module.def("has_launcher", &weft_torch::has_launcher);
}
