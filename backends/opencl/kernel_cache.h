// Private kernel objects, so that the application's own are never touched.
//
// They are made with clCreateKernel from the application's program, and all arguments are set from the
// record. clCloneKernel is not used: it would read the arguments of an object that another thread of the
// application may be changing at that moment, only for them to be overwritten.
// What clSetKernelExecInfo set cannot be read back from a kernel: kernels with such settings must not be
// held (the layer sees the call and says so).
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "backends/opencl/opencl_headers.h"
#include "capture/operation.h"
#include "env/mutex.h"

namespace refrain::backends::opencl {

/// One kernel object and what its arguments are set to. Owns the object. Used by one thread at a time.
class PrivateKernel {
 public:
  PrivateKernel(const cl_icd_dispatch& driver, cl_kernel kernel) noexcept : driver_(&driver), kernel_(kernel) {}
  ~PrivateKernel();
  PrivateKernel(PrivateKernel&& other) noexcept;
  PrivateKernel& operator=(PrivateKernel&&) = delete;

  /// A new kernel object of the same function as `model`, an object of the application.
  static cl_kernel create(const cl_icd_dispatch& driver, cl_kernel model, cl_int* error);
  /// Sets what differs from last time.
  cl_int set_arguments(const capture::OperationView& operation);
  [[nodiscard]] cl_kernel get() const noexcept { return kernel_; }

 private:
  const cl_icd_dispatch* driver_;
  cl_kernel kernel_;
  std::vector<capture::ArgumentDescriptor> descriptors_;
  std::vector<std::byte> values_;
};

/// Kernel objects for eager issue, kept per function and context. Thread-safe. A thread takes one for the
/// time between setting arguments and enqueueing, so two threads never share one.
class KernelCache {
 public:
  explicit KernelCache(const cl_icd_dispatch& driver) noexcept : driver_(driver) {}

  class Lease {
   public:
    Lease(KernelCache& cache, capture::FunctionId function, cl_context context, std::uint64_t age,
          std::unique_ptr<PrivateKernel> kernel) noexcept
        : cache_(cache), function_(function), context_(context), age_(age), kernel_(std::move(kernel)) {}
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    [[nodiscard]] PrivateKernel* kernel() const noexcept { return kernel_.get(); }

   private:
    KernelCache& cache_;
    capture::FunctionId function_;
    cl_context context_;
    std::uint64_t age_;
    std::unique_ptr<PrivateKernel> kernel_;
  };

  /// A kernel object for the operation's function; kernel() is null if it cannot be made (`error` says
  /// why). `context` is the context of the queue it will be used with.
  Lease take(const capture::OperationView& operation, cl_context context, cl_int* error);
  void forget(capture::FunctionId function);

 private:
  struct Entry {
    cl_context context;
    std::unique_ptr<PrivateKernel> kernel;
  };
  static constexpr std::size_t kKeptPerFunction = 16;

  const cl_icd_dispatch& driver_;
  env::Mutex mutex_;
  std::unordered_map<capture::FunctionId, std::vector<Entry>> idle_ REFRAIN_GUARDED_BY(mutex_);
  std::uint64_t age_ REFRAIN_GUARDED_BY(mutex_) = 0;  // rises with forget(): what was taken before is not kept
};

}  // namespace refrain::backends::opencl
