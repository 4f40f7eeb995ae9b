#include "backends/opencl/kernel_cache.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace refrain::backends::opencl {

using capture::ArgumentDescriptor;
using capture::ArgumentKind;
using capture::OperationView;

PrivateKernel::PrivateKernel(PrivateKernel&& other) noexcept
    : driver_(other.driver_),
      kernel_(std::exchange(other.kernel_, nullptr)),
      descriptors_(std::move(other.descriptors_)),
      values_(std::move(other.values_)) {}

PrivateKernel::~PrivateKernel() {
  if (kernel_ != nullptr) {
    (void)driver_->clReleaseKernel(kernel_);
  }
}

cl_kernel PrivateKernel::create(const cl_icd_dispatch& driver, cl_kernel model, cl_int* error) {
  if (model == nullptr) {
    *error = CL_INVALID_KERNEL;
    return nullptr;
  }
  cl_program program = nullptr;
  std::size_t size = 0;
  *error = driver.clGetKernelInfo(model, CL_KERNEL_PROGRAM, sizeof(cl_program), &program, nullptr);
  if (*error == CL_SUCCESS) {
    *error = driver.clGetKernelInfo(model, CL_KERNEL_FUNCTION_NAME, 0, nullptr, &size);
  }
  std::string name(size + 1, '\0');
  if (*error == CL_SUCCESS) {
    *error = driver.clGetKernelInfo(model, CL_KERNEL_FUNCTION_NAME, size, name.data(), nullptr);
  }
  return *error == CL_SUCCESS ? driver.clCreateKernel(program, name.c_str(), error) : nullptr;
}

cl_int PrivateKernel::set_arguments(const OperationView& operation) {
  const auto arguments = operation.arguments();
  const auto values = operation.values();
  const bool same_layout =
      arguments.size() == descriptors_.size() && values.size() == values_.size() &&
      std::ranges::equal(arguments, descriptors_, [](const ArgumentDescriptor& a, const ArgumentDescriptor& b) {
        return a.kind == b.kind && a.stored_bytes() == b.stored_bytes();
      });
  std::size_t offset = 0;
  for (cl_uint i = 0; i < arguments.size(); ++i) {
    const ArgumentDescriptor& argument = arguments[i];
    const std::byte* value = values.data() + offset;
    const std::size_t bytes = argument.stored_bytes();
    // A handle alone is not enough: a new object may have got the handle of an old one.
    const bool handle = argument.kind != ArgumentKind::kValue && argument.kind != ArgumentKind::kLocalMemory &&
                        argument.kind != ArgumentKind::kPointer;
    const bool known = same_layout && argument.size == descriptors_[i].size &&
                       argument.object == descriptors_[i].object && (!handle || argument.object != 0) &&
                       (bytes == 0 || std::memcmp(value, values_.data() + offset, bytes) == 0);
    offset += bytes;
    if (known) {
      continue;
    }
    cl_int status = CL_SUCCESS;
    switch (argument.kind) {
      case ArgumentKind::kUnset: status = CL_INVALID_KERNEL_ARGS; break;
      case ArgumentKind::kLocalMemory: status = driver_->clSetKernelArg(kernel_, i, argument.size, nullptr); break;
      case ArgumentKind::kPointer: {
        const void* pointer = nullptr;
        std::memcpy(&pointer, value, sizeof(pointer));
        status = driver_->clSetKernelArgSVMPointer == nullptr ? CL_INVALID_OPERATION
                                                              : driver_->clSetKernelArgSVMPointer(kernel_, i, pointer);
        break;
      }
      default: status = driver_->clSetKernelArg(kernel_, i, argument.size, value); break;
    }
    if (status != CL_SUCCESS) {
      descriptors_.clear();  // some are set, some are not: set all next time
      values_.clear();
      return status;
    }
  }
  descriptors_.assign(arguments.begin(), arguments.end());
  values_.assign(values.begin(), values.end());
  return CL_SUCCESS;
}

KernelCache::Lease KernelCache::take(const OperationView& operation, cl_context context, cl_int* error) {
  const capture::FunctionId function = operation.header().function;
  std::uint64_t age = 0;
  {
    const env::MutexLock lock(mutex_);
    age = age_;
    if (const auto found = function != 0 ? idle_.find(function) : idle_.end(); found != idle_.end()) {
      auto& list = found->second;
      const auto place =
          std::find_if(list.rbegin(), list.rend(), [&](const Entry& entry) { return entry.context == context; });
      if (place != list.rend()) {
        std::unique_ptr<PrivateKernel> kernel = std::move(place->kernel);
        list.erase(std::next(place).base());
        *error = CL_SUCCESS;
        return {*this, function, context, age, std::move(kernel)};
      }
    }
  }
  const auto model = reinterpret_cast<cl_kernel>(operation.header().function_handle);
  cl_kernel kernel = PrivateKernel::create(driver_, model, error);
  return {*this, function, context, age,
          kernel != nullptr ? std::make_unique<PrivateKernel>(driver_, kernel) : nullptr};
}

KernelCache::Lease::~Lease() {
  if (!kernel_ || function_ == 0) {
    return;
  }
  const env::MutexLock lock(cache_.mutex_);
  if (age_ != cache_.age_) {
    return;
  }
  try {
    auto& list = cache_.idle_[function_];
    if (list.size() < kKeptPerFunction) {
      list.push_back({context_, std::move(kernel_)});
    }
  } catch (...) {
    // Not kept, that is all.
  }
}

void KernelCache::forget(capture::FunctionId function) {
  std::vector<Entry> gone;  // released without the lock
  const env::MutexLock lock(mutex_);
  ++age_;
  if (const auto found = idle_.find(function); found != idle_.end()) {
    gone = std::move(found->second);
    idle_.erase(found);
  }
}

}  // namespace refrain::backends::opencl
