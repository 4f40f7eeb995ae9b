// For tests of what the layer writes down of each call: the wrappers are called directly, on top of the installed
// driver; a recorder of the test's own sees every record. Functions of `target` may be replaced for a while.
#pragma once

#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "layer/opencl/dispatch.h"
#include "layer/opencl/kernels.h"
#include "layer/opencl/layer.h"
#include "layer/opencl/wrappers.h"
#include "test/opencl/driver_table.h"

namespace refrain::layer::opencl {

using capture::ArgumentKind;
using capture::OperationView;

class TestRecorder final : public capture::Recorder, public capture::Stream {
 public:
  // NOLINTNEXTLINE(bugprone-exception-escape): a test without memory may end
  void define_all(const capture::Definitions& definitions) noexcept override {
    const auto add = [this]<typename Info>(std::span<const Info> infos) {
      all<Info>().insert(all<Info>().end(), infos.begin(), infos.end());
    };
    std::visit(add, definitions);
  }
  void code(const capture::CodeInfo& info) noexcept override {
    codes.emplace_back(info.id, std::string(reinterpret_cast<const char*>(info.bytes.data()), info.bytes.size()));
  }
  void contents(ObjectId buffer, std::span<const std::byte> bytes) noexcept override {
    stored[buffer].assign(bytes.begin(), bytes.end());
  }
  bool wants_contents() const noexcept override { return true; }
  capture::Stream& open_stream(std::uint64_t) noexcept override { return *this; }
  void flush() noexcept override {}
  void operation(const OperationView& operation) noexcept override {
    const auto bytes = operation.bytes();
    std::vector<std::uint64_t> copy(bytes.size() / 8);
    std::memcpy(copy.data(), bytes.data(), bytes.size());
    records.push_back(std::move(copy));
  }
  void host_call(const char* entry_point, std::uint64_t) noexcept override { host_calls.emplace_back(entry_point); }
  void region(const env::Region*) noexcept override {}

  OperationView last(std::size_t back = 0) const {
    const auto& record = records.at(records.size() - 1 - back);
    REQUIRE(OperationView::well_formed(std::as_bytes(std::span(record))));
    return OperationView(reinterpret_cast<const std::byte*>(record.data()));
  }

  /// The definitions of one kind.
  template <typename Info>
  std::vector<Info>& all() {
    return std::get<std::vector<Info>>(definitions_);
  }

  std::vector<std::pair<capture::CodeId, std::string>> codes;
  std::map<ObjectId, std::vector<std::byte>> stored;
  std::vector<std::vector<std::uint64_t>> records;
  std::vector<std::string> host_calls;

 private:
  capture::DefinitionLists definitions_;
};

inline const char* const kRecordSource =
    "kernel void f(global uint* x, uint a, ulong b, local uint* l) { x[0] = a + (uint)b; }\n"
    "kernel void g(global uint* x) { x[0] = 1; }\n";

/// The engine is made once per process; every test makes its own context.
struct Fixture {
  static TestRecorder& recorder() {
    static TestRecorder& all = *new TestRecorder;
    return all;
  }
  Fixture() {
    static const bool ready = [] {
      static cl_icd_dispatch table = driver_table();
      cl_uint entries = 0;
      build_dispatch(&table, sizeof(table) / sizeof(void*), &entries);
      state.settings.mode = env::Mode::kObserve;
      state.settings.report = false;
      state.recorder = &recorder();
      return true;
    }();
    REQUIRE(ready);
    cl_platform_id platform = nullptr;
    REQUIRE(::clGetPlatformIDs(1, &platform, nullptr) == CL_SUCCESS);
    REQUIRE(::clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) == CL_SUCCESS);
    context = wrap::clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
    REQUIRE(context != nullptr);
    REQUIRE(engine() != nullptr);
    program = build(kRecordSource, "");
    queue = wrap::clCreateCommandQueue(context, device, 0, nullptr);
    x = wrap::clCreateBuffer(context, CL_MEM_READ_WRITE, 256, nullptr, nullptr);
    y = wrap::clCreateBuffer(context, CL_MEM_READ_WRITE, 256, nullptr, nullptr);
    kernel = ready_kernel(program);
  }
  ~Fixture() {
    // PoCL compiles kernels in a thread of its own when they run: not while the process ends.
    static_cast<void>(::clFinish(queue));
    wrap::clReleaseKernel(kernel);
    wrap::clReleaseMemObject(x);
    wrap::clReleaseMemObject(y);
    wrap::clReleaseCommandQueue(queue);
    wrap::clReleaseProgram(program);
    wrap::clReleaseContext(context);
  }
  cl_program build(const char* source, const char* options) {
    cl_program made = wrap::clCreateProgramWithSource(context, 1, &source, nullptr, nullptr);
    REQUIRE(wrap::clBuildProgram(made, 1, &device, options, nullptr, nullptr) == CL_SUCCESS);
    return made;
  }
  template <class T>
  void set(cl_kernel k, cl_uint index, const T& value) {
    REQUIRE(wrap::clSetKernelArg(k, index, sizeof(T), &value) == CL_SUCCESS);
  }
  cl_kernel ready_kernel(cl_program of) {
    cl_kernel made = wrap::clCreateKernel(of, "f", nullptr);
    REQUIRE(made != nullptr);
    set(made, 0, x);
    set(made, 1, cl_uint{5});
    set(made, 2, cl_ulong{7});
    REQUIRE(wrap::clSetKernelArg(made, 3, 64, nullptr) == CL_SUCCESS);
    return made;
  }
  OperationView launch(cl_kernel k, std::size_t global = 16, const std::vector<cl_event>& waits = {},
                       cl_event* event = nullptr, cl_command_queue on = nullptr) {
    REQUIRE(wrap::clEnqueueNDRangeKernel(on == nullptr ? queue : on, k, 1, nullptr, &global, nullptr,
                                         static_cast<cl_uint>(waits.size()), waits.empty() ? nullptr : waits.data(),
                                         event) == CL_SUCCESS);
    return recorder().last();
  }

  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_program program = nullptr;
  cl_command_queue queue = nullptr;
  cl_mem x = nullptr;
  cl_mem y = nullptr;
  cl_kernel kernel = nullptr;
};

/// Another function below the layer, for a while.
template <class Function>
class Instead {
 public:
  Instead(Function& place, Function other) : place_(place), before_(std::exchange(place, other)) {}
  ~Instead() { place_ = before_; }
  Instead(const Instead&) = delete;
  Instead& operator=(const Instead&) = delete;

 private:
  Function& place_;
  Function before_;
};

}  // namespace refrain::layer::opencl
