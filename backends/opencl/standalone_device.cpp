#include "backends/opencl/standalone_device.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/built_code.h"
#include "backends/opencl/opencl_backend.h"
#include "backends/opencl/system_dispatch.h"

namespace refrain::backends::opencl {
namespace {

using capture::Handle;

template <typename T>
Handle handle_of(T object) {
  return reinterpret_cast<Handle>(object);
}

std::string text_of(const cl_icd_dispatch& d, cl_device_id device, cl_device_info what) {
  char text[256] = "";
  (void)d.clGetDeviceInfo(device, what, sizeof(text), text, nullptr);
  return text;
}

class OpenClDevice : public StandaloneDevice {
 public:
  OpenClDevice(const cl_icd_dispatch& driver, cl_platform_id platform, cl_device_id device, cl_context context)
      : d_(driver), device_(device), context_(context), backend_(driver) {
    char platform_name[256] = "";
    (void)d_.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(platform_name), platform_name, nullptr);
    info_.api = "opencl";
    info_.platform = platform_name;
    info_.name = text_of(driver, device, CL_DEVICE_NAME);
    info_.driver = text_of(driver, device, CL_DRIVER_VERSION);
  }
  ~OpenClDevice() override {
    OpenClDevice::release_memory();
    for (const auto& [key, kernel] : kernels_) {
      backend_.forget_function(key);
      (void)d_.clReleaseKernel(kernel);
    }
    programs_.for_each([this](cl_program program) { (void)d_.clReleaseProgram(program); });
    (void)d_.clReleaseContext(context_);
  }
  OpenClDevice(const OpenClDevice&) = delete;
  OpenClDevice& operator=(const OpenClDevice&) = delete;

  Backend& backend() noexcept override { return backend_; }
  const capture::DeviceInfo& info() const noexcept override { return info_; }

  bool make_queue(const capture::QueueInfo& wanted, capture::QueueInfo* made, std::string* why) override {
    cl_queue_properties flags = wanted.in_order ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    if (wanted.profiling) {
      flags |= CL_QUEUE_PROFILING_ENABLE;
    }
    const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, flags, 0};
    cl_int error = CL_SUCCESS;
    cl_command_queue queue = nullptr;
    if (d_.clCreateCommandQueueWithProperties != nullptr) {
      queue = d_.clCreateCommandQueueWithProperties(context_, device_, properties, &error);
    }
    if (queue == nullptr) {  // a driver older than OpenCL 2.0
      queue = d_.clCreateCommandQueue(context_, device_, flags, &error);
    }
    if (queue == nullptr) {
      *why = "the device has no queue like the captured one (" + name_of_error(error) + ")";
      return false;
    }
    queues_.push_back(queue);
    *made = wanted;
    made->handle = handle_of(queue);
    return true;
  }

  Handle make_memory(const capture::BufferInfo& wanted, Handle parent, std::string* why) override {
    if (wanted.is_sampler) {
      return make_sampler(wanted, why);
    }
    // How the host gets at the memory is not our business: access is kept, host pointers are not.
    const cl_mem_flags flags = wanted.flags & (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY);
    cl_int error = CL_SUCCESS;
    cl_mem memory = nullptr;
    if (wanted.is_image) {
      if (wanted.description.size() < 11) {
        *why = "the capture does not describe an image it names";
        return 0;
      }
      const auto& d = wanted.description;
      const cl_image_format format{static_cast<cl_channel_order>(d[0]), static_cast<cl_channel_type>(d[1])};
      cl_image_desc shape{};
      shape.image_type = static_cast<cl_mem_object_type>(d[2]);
      shape.image_width = d[3];
      shape.image_height = d[4];
      shape.image_depth = d[5];
      shape.image_array_size = d[6];
      shape.num_mip_levels = static_cast<cl_uint>(d[9]);
      shape.num_samples = static_cast<cl_uint>(d[10]);
      if (parent != 0) {  // the image is another view of a buffer or image
        shape.image_row_pitch = d[7];
        shape.image_slice_pitch = d[8];
        shape.mem_object = reinterpret_cast<cl_mem>(parent);
      }
      memory = d_.clCreateImage(context_, flags, &format, &shape, nullptr, &error);
    } else if (parent != 0) {
      const cl_buffer_region region{wanted.offset, wanted.size};
      memory =
          d_.clCreateSubBuffer(reinterpret_cast<cl_mem>(parent), flags, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
    } else {
      memory = d_.clCreateBuffer(context_, flags, wanted.size, nullptr, &error);
    }
    if (memory == nullptr) {
      *why = std::string("the device refuses ") + (wanted.is_image ? "an image" : "a buffer") + " (" +
             name_of_error(error) + ")";
      return 0;
    }
    memory_.push_back(memory);
    return handle_of(memory);
  }

  Handle make_function(const capture::FunctionInfo& function, capture::CodeKind kind, std::span<const std::byte> code,
                       std::string* why) override {
    if (const auto found = kernels_.find(function.id); found != kernels_.end()) {
      return handle_of(found->second);
    }
    cl_program program = programs_.find_or_build(function.code, function.build_options, why, [&](std::string* why_not) {
      return build(function, kind, code, why_not);
    });
    if (program == nullptr) {
      return 0;
    }
    cl_int error = CL_SUCCESS;
    cl_kernel kernel = d_.clCreateKernel(program, function.name.c_str(), &error);
    if (kernel == nullptr) {
      *why = "the program has no kernel '" + function.name + "' here (" + name_of_error(error) + ")";
      return 0;
    }
    kernels_[function.id] = kernel;
    return handle_of(kernel);
  }

  // Drivers take eight bytes for a handle where the kernel has a buffer, and follow it.
  bool fits(const capture::OperationView& operation, std::string* why) override {
    auto* kernel = reinterpret_cast<cl_kernel>(operation.header().function_handle);
    for (cl_uint i = 0; operation.kind() == capture::OperationKind::kKernel && i < operation.arguments().size(); ++i) {
      const capture::ArgumentDescriptor& argument = operation.arguments()[i];
      if (argument.kind == capture::ArgumentKind::kValue && argument.size == sizeof(void*) && !takes_value(kernel, i)) {
        *why = "argument " + std::to_string(i) +
               " may be an address: the driver does not say that the captured kernel takes 8 bytes of data there";
        return false;
      }
    }
    return true;
  }

  void release_memory() noexcept override {
    for (const cl_command_queue queue : queues_) {
      (void)d_.clFinish(queue);
    }
    for (auto memory = memory_.rbegin(); memory != memory_.rend(); ++memory) {  // parts before wholes
      (void)d_.clReleaseMemObject(*memory);
    }
    for (const cl_sampler sampler : samplers_) {
      (void)d_.clReleaseSampler(sampler);
    }
    for (const cl_command_queue queue : queues_) {
      (void)d_.clReleaseCommandQueue(queue);
    }
    memory_.clear();
    samplers_.clear();
    queues_.clear();
  }

 private:
  std::string name_of_error(cl_int error) const { return backend_.error_name(error); }

  // True if the driver says that the argument is eight bytes of plain data.
  bool takes_value(cl_kernel kernel, cl_uint index) const {
    static constexpr std::string_view types[] = {
        "long",  "ulong",  "double", "size_t",  "ptrdiff_t", "intptr_t", "uintptr_t", "int2",
        "uint2", "float2", "short4", "ushort4", "half4",     "char8",    "uchar8",    "unsigned long"};
    cl_kernel_arg_address_qualifier place = CL_KERNEL_ARG_ADDRESS_GLOBAL;
    char type[64] = "";
    if (d_.clGetKernelArgInfo == nullptr ||
        d_.clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(place), &place, nullptr) !=
            CL_SUCCESS ||
        d_.clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_NAME, sizeof(type) - 1, type, nullptr) != CL_SUCCESS) {
      return false;
    }
    return place == CL_KERNEL_ARG_ADDRESS_PRIVATE && std::ranges::find(types, type) != std::end(types);
  }

  Handle make_sampler(const capture::BufferInfo& wanted, std::string* why) {
    if (wanted.description.size() < 3) {
      *why = "the capture does not describe a sampler it names";
      return 0;
    }
    cl_int error = CL_SUCCESS;
    cl_sampler sampler = d_.clCreateSampler(context_, wanted.description[0] != 0 ? CL_TRUE : CL_FALSE,
                                            static_cast<cl_addressing_mode>(wanted.description[1]),
                                            static_cast<cl_filter_mode>(wanted.description[2]), &error);
    if (sampler == nullptr) {
      *why = "the device refuses a sampler (" + name_of_error(error) + ")";
      return 0;
    }
    samplers_.push_back(sampler);
    return handle_of(sampler);
  }

  cl_program build(const capture::FunctionInfo& function, capture::CodeKind kind, std::span<const std::byte> code,
                   std::string* why) {
    const auto give_up = [&](const std::string& reason) -> cl_program {
      *why = reason;
      return nullptr;
    };
    cl_int error = CL_SUCCESS;
    cl_program program = nullptr;
    const char* text = reinterpret_cast<const char*>(code.data());
    const std::size_t size = code.size();
    const auto* bytes = reinterpret_cast<const unsigned char*>(code.data());
    switch (kind) {
      case capture::CodeKind::kSource: program = d_.clCreateProgramWithSource(context_, 1, &text, &size, &error); break;
      case capture::CodeKind::kBinary:
        program = d_.clCreateProgramWithBinary(context_, 1, &device_, &size, &bytes, nullptr, &error);
        break;
      case capture::CodeKind::kIntermediate:
        program =
            d_.clCreateProgramWithIL != nullptr ? d_.clCreateProgramWithIL(context_, bytes, size, &error) : nullptr;
        break;
      case capture::CodeKind::kBuiltin:
        program = d_.clCreateProgramWithBuiltInKernels(context_, 1, &device_, std::string(text, size).c_str(), &error);
        break;
      default: return give_up("the capture holds code of a kind that this version does not know");
    }
    if (program == nullptr) {
      return give_up(
          "the device does not take the captured " +
          std::string(kind == capture::CodeKind::kBinary ? "binary, which was made for another device" : "program") +
          " (" + name_of_error(error) + ")");
    }
    if (kind != capture::CodeKind::kBuiltin) {
      const std::string options = function.build_options + " -cl-kernel-arg-info";  // see fits()
      error = d_.clBuildProgram(program, 1, &device_, options.c_str(), nullptr, nullptr);
    }
    if (error != CL_SUCCESS) {
      char log[512] = "";
      (void)d_.clGetProgramBuildInfo(program, device_, CL_PROGRAM_BUILD_LOG, sizeof(log), log, nullptr);
      std::string first_line(log, strnlen(log, sizeof(log)));
      first_line = first_line.substr(0, first_line.find('\n'));
      (void)d_.clReleaseProgram(program);
      return give_up("the program does not build here (" + name_of_error(error) + ") " + first_line);
    }
    return program;
  }

  const cl_icd_dispatch& d_;
  cl_device_id device_;
  cl_context context_;
  OpenClBackend backend_;
  capture::DeviceInfo info_;
  std::vector<cl_command_queue> queues_;
  std::vector<cl_mem> memory_;
  std::vector<cl_sampler> samplers_;
  BuiltCode<cl_program> programs_;
  std::map<capture::FunctionId, cl_kernel> kernels_;
};

}  // namespace

std::unique_ptr<StandaloneDevice> open_device(const DeviceChoice& choice, std::string* why) {
  const cl_icd_dispatch* driver = system_dispatch();
  if (driver == nullptr || driver->clGetPlatformIDs == nullptr) {
    *why = "this machine has no OpenCL loader (Debian: ocl-icd-libopencl1)";
    return nullptr;
  }
  cl_uint platform_count = 0;
  if (driver->clGetPlatformIDs(0, nullptr, &platform_count) != CL_SUCCESS || platform_count == 0) {
    *why = "this machine has no OpenCL platform; `refrain doctor` says more";
    return nullptr;
  }
  std::vector<cl_platform_id> platforms(platform_count);
  (void)driver->clGetPlatformIDs(platform_count, platforms.data(), nullptr);
  for (cl_uint p = 0; p < platform_count; ++p) {
    cl_uint device_count = 0;
    if (driver->clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 0, nullptr, &device_count) != CL_SUCCESS) {
      continue;
    }
    std::vector<cl_device_id> devices(device_count);
    (void)driver->clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, device_count, devices.data(), nullptr);
    for (cl_uint i = 0; i < device_count; ++i) {
      const bool wanted = choice.name.empty()
                              ? p == choice.platform && i == choice.device
                              : text_of(*driver, devices[i], CL_DEVICE_NAME).find(choice.name) != std::string::npos;
      if (!wanted) {
        continue;
      }
      cl_int error = CL_SUCCESS;
      cl_context context = driver->clCreateContext(nullptr, 1, &devices[i], nullptr, nullptr, &error);
      if (context == nullptr) {
        *why = "the device '" + text_of(*driver, devices[i], CL_DEVICE_NAME) + "' cannot be used (error " +
               std::to_string(error) + ")";
        return nullptr;
      }
      return std::make_unique<OpenClDevice>(*driver, platforms[p], devices[i], context);
    }
  }
  *why = choice.name.empty()
             ? "this machine has no OpenCL device " + std::to_string(choice.device) + " on platform " +
                   std::to_string(choice.platform) + "; `refrain doctor` lists them"
             : "no OpenCL device here has '" + choice.name + "' in its name; `refrain doctor` lists them";
  return nullptr;
}

}  // namespace refrain::backends::opencl
