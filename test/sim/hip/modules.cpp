// Modules, the program's own kernels, launches, look-up of functions. Every code object has all kernels there are.
#include <dlfcn.h>
#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include "backends/hip/code_object.h"
#include "test/sim/hip/face.h"

namespace sim::hip {
namespace {

/// What clang registers: kernels of the program by the address of a function of its own.
struct Registered {
  std::map<const void*, std::string> names;
  Module module;  ///< made anew when the device was reset
  const Context* context = nullptr;
  std::map<void**, const void*> images;
  std::map<const void*, std::string> variables;
};
Registered& registered() {
  static Registered& all = *new Registered;
  return all;
}

bool is_image(const void* image) noexcept {
  Elf64_Ehdr header{};
  std::memcpy(&header, image, sizeof(header.e_ident));
  if (std::memcmp(image, "__CLANG_OFFLOAD_BUNDLE__", 24) == 0 || std::memcmp(image, "CCOB", 4) == 0) {
    return true;
  }
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return false;
  }
  std::memcpy(&header, image, sizeof(header));
  return header.e_machine == 224;  // EM_AMDGPU
}

/// Of a bundle: whether it has code for this device, which is a gfx90a.
bool is_for_device(const char* image) noexcept {
  constexpr std::size_t kMagic = 24;
  if (std::memcmp(image, "__CLANG_OFFLOAD_BUNDLE__", kMagic) != 0) {
    return true;
  }
  std::uint64_t count = 0;
  std::memcpy(&count, image + kMagic, sizeof(count));
  std::uint64_t entry[3];  // offset, bytes, length of the name that follows
  for (const char* at = image + kMagic + sizeof(count); count != 0; at += sizeof(entry) + entry[2], --count) {
    std::memcpy(entry, at, sizeof(entry));
    if (std::string_view(at + sizeof(entry), entry[2]).ends_with("--gfx90a")) {
      return true;
    }
  }
  return false;
}

/// `calls`, if the image has sections at all.
void give_variable(Module& module, const void* image) {
  Elf64_Ehdr header{};
  std::memcpy(&header, image, sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_shnum != 0) {
    module.variable = allocate(module.context, sizeof(std::uint32_t), MemoryType::kDevice);
    std::memset(host(module.variable), 0, sizeof(std::uint32_t));
  }
}

Status variable_of(const Module* module, const char* name, void** address, std::size_t* bytes) {
  if (module == nullptr) {
    return Status::kInvalidHandle;
  }
  if (module->variable == 0 || std::strcmp(name, "calls") != 0) {
    return Status::kNotFound;
  }
  *address = host(module->variable);
  *bytes = sizeof(std::uint32_t);
  return Status::kOk;
}

Status load(hipModule_t* module, const void* image) {
  const Lock lock;
  if (image == nullptr || !is_image(image)) {
    return static_cast<Status>(hipErrorInvalidImage);
  }
  if (!is_for_device(static_cast<const char*>(image))) {
    return static_cast<Status>(hipErrorNoBinaryForGpu);
  }
  Module* made = state().modules.make();
  made->context = state().primary;
  give_variable(*made, image);
  *module = reinterpret_cast<hipModule_t>(made);
  return Status::kOk;
}

Status get_function(hipFunction_t* function, hipModule_t handle, const char* name) {
  const Lock lock;
  Module* module = state().modules.find(handle);
  Function* found = module == nullptr ? nullptr : function_of(*module, state().functions, name);
  *function = reinterpret_cast<hipFunction_t>(found);
  return module == nullptr ? Status::kInvalidHandle : found == nullptr ? Status::kNotFound : Status::kOk;
}

Status launch(const void* handle, const Shape& shape, hipStream_t stream, bool per_thread, void** parameters,
              void** extra) {
  std::vector<std::byte> arguments;
  const Function* function = nullptr;
  {
    const Lock lock;
    function = function_for(handle);
    if (function == nullptr) {
      return static_cast<Status>(hipErrorInvalidDeviceFunction);
    }
    if (const Status status = read_arguments(*function->kernel, parameters, extra, &arguments); status != Status::kOk) {
      return status;
    }
  }
  return launch_kernel(function, shape, std::move(arguments), stream, per_thread);
}

Shape shape_of(const dim3& grid, const dim3& block, std::size_t shared_bytes) noexcept {
  return {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, static_cast<unsigned>(shared_bytes)};
}

/// With events of its own, before and behind it.
Status launch(const void* function, const Shape& shape, hipStream_t stream, void** parameters, void** extra,
              hipEvent_t start, hipEvent_t stop) {
  Status status = start == nullptr ? Status::kOk : record_event(start, stream, false);
  if (status == Status::kOk) {
    status = launch(function, shape, stream, false, parameters, extra);
  }
  return status == Status::kOk && stop != nullptr ? record_event(stop, stream, false) : status;
}

/// Sizes in work-items; the last blocks may be smaller, which is not simulated.
Status launch_items(hipFunction_t function, const unsigned (&global)[3], const unsigned (&local)[3], hipStream_t stream,
                    void** parameters, void** extra, hipEvent_t start, hipEvent_t stop) {
  Shape shape;
  for (int i = 0; i < 3; ++i) {
    if (local[i] == 0 || global[i] % local[i] != 0) {
      return Status::kInvalidValue;
    }
    shape.grid[i] = global[i] / local[i];
    shape.block[i] = local[i];
  }
  return launch(function, shape, stream, parameters, extra, start, stop);
}

/// A function that came after Refrain was built.
int future_work(int* value) {
  log("hipFutureWork");
  *value += 1;
  return 0;
}

}  // namespace

Function* function_for(const void* handle) {
  const auto own = registered().names.find(handle);
  if (own == registered().names.end()) {
    return find_function(handle);
  }
  if (registered().context != state().primary) {
    registered().module = Module();
    registered().module.context = state().primary;
    registered().context = state().primary;
    for (const auto& [modules, image] : registered().images) {
      give_variable(registered().module, image);
    }
  }
  return function_of(registered().module, state().functions, own->second.c_str());
}

Status read_arguments(const Kernel& kernel, void** parameters, void** extra, std::vector<std::byte>* arguments) {
  if (parameters != nullptr || extra == nullptr || kernel.parameters.empty()) {
    return sim::read_arguments(kernel, parameters, arguments);
  }
  const void* buffer = nullptr;
  std::size_t bytes = 0;
  for (; *extra != HIP_LAUNCH_PARAM_END; extra += 2) {
    if (extra[0] == HIP_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer = extra[1];
    } else if (extra[0] == HIP_LAUNCH_PARAM_BUFFER_SIZE) {
      bytes = *static_cast<const std::size_t*>(extra[1]);
    }
  }
  return read_argument_block(kernel, buffer, bytes, arguments);
}

}  // namespace sim::hip

using sim::Lock;
using sim::state;
using sim::Status;
using sim::hip::launch;
using sim::hip::shape_of;

CALL(hipModuleLoadData, (hipModule_t * module, const void* image), sim::hip::load(module, image))
CALL(hipModuleLoad, (hipModule_t * module, const char* file), [&] {
  std::ifstream stream(file, std::ios::binary);
  const std::string image{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  return sim::hip::load(module, image.size() < 64 ? nullptr : image.data());
}())
CALL(hipModuleLoadDataEx, (hipModule_t * module, const void* image, unsigned, hipJitOption*, void**),
     sim::hip::load(module, image))
CALL(hipModuleGetFunction, (hipFunction_t * function, hipModule_t module, const char* name),
     sim::hip::get_function(function, module, name))
CALL(hipModuleUnload, (hipModule_t module), [&] {
  Lock lock;
  return sim::unload(lock, state().modules, state().functions, module, "hipModuleUnload");
}())

// Called by constructors of programs: no device is started.
extern "C" __attribute__((visibility("default"))) void** __hipRegisterFatBinary(const void* wrapper) {
  sim::log("__hipRegisterFatBinary");
  const auto* binary = static_cast<const refrain::backends::hip::FatBinaryWrapper*>(wrapper);
  if (binary->magic != refrain::backends::hip::kFatBinaryMagic) {
    return nullptr;
  }
  const Lock lock;
  auto** const modules = new void*(nullptr);
  sim::hip::registered().images[modules] = binary->binary;
  return modules;
}
extern "C" __attribute__((visibility("default"))) void __hipRegisterVar(void**, void* host_variable, char*,
                                                                        char* device_name, int, std::size_t, int, int) {
  sim::log("__hipRegisterVar");
  const Lock lock;
  sim::hip::registered().variables[host_variable] = device_name;
}
CALL(hipModuleGetGlobal, (hipDeviceptr_t * address, std::size_t* bytes, hipModule_t module, const char* name), [&] {
  const Lock lock;
  return sim::hip::variable_of(state().modules.find(module), name, address, bytes);
}())
extern "C" hipError_t hipGetSymbolAddress(void** address, const void* symbol);
CALL(hipGetSymbolAddress, (void** address, const void* symbol), [&] {
  const Lock lock;
  const auto found = sim::hip::registered().variables.find(symbol);
  std::size_t bytes = 0;
  return found == sim::hip::registered().variables.end()
             ? Status::kNotFound
             : sim::hip::variable_of(&sim::hip::registered().module, found->second.c_str(), address, &bytes);
}())
extern "C" __attribute__((visibility("default"))) void __hipRegisterFunction(void**, const void* host_function, char*,
                                                                             const char* name, unsigned, void*, void*,
                                                                             dim3*, dim3*, int*) {
  sim::log("__hipRegisterFunction");
  const Lock lock;
  sim::hip::registered().names[host_function] = name;
}
extern "C" __attribute__((visibility("default"))) void __hipUnregisterFatBinary(void** modules) {
  sim::log("__hipUnregisterFatBinary");
  {
    const Lock lock;
    sim::hip::registered().images.erase(modules);
  }
  delete modules;
}

// The configuration of a launch on its way from where it is written to the function that clang makes of a kernel.
namespace {
struct Configuration {
  dim3 grid, block;
  std::size_t shared_bytes = 0;
  hipStream_t stream = nullptr;
};
thread_local std::vector<Configuration> configurations;
}  // namespace
extern "C" hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared_bytes, hipStream_t stream);
extern "C" hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared_bytes,
                                                hipStream_t* stream);
FACE __hipPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared_bytes, hipStream_t stream) {
  configurations.push_back({grid, block, shared_bytes, stream});
  return hipSuccess;
}
FACE __hipPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared_bytes, hipStream_t* stream) {
  *grid = configurations.back().grid;
  *block = configurations.back().block;
  *shared_bytes = configurations.back().shared_bytes;
  *stream = configurations.back().stream;
  configurations.pop_back();
  return hipSuccess;
}

SUBMITS_TWICE(hipLaunchKernel,
              (const void* function, dim3 grid, dim3 block, void** parameters, std::size_t shared, hipStream_t stream),
              launch(function, shape_of(grid, block, shared), stream, per_thread, parameters, nullptr))
SUBMITS(hipExtLaunchKernel,
        (const void* function, dim3 grid, dim3 block, void** parameters, std::size_t shared, hipStream_t stream,
         hipEvent_t start, hipEvent_t stop, int),
        launch(function, shape_of(grid, block, shared), stream, parameters, nullptr, start, stop))
SUBMITS(hipLaunchCooperativeKernel,
        (const void* function, dim3 grid, dim3 block, void** parameters, unsigned shared, hipStream_t stream),
        launch(function, shape_of(grid, block, shared), stream, false, parameters, nullptr))
SUBMITS(hipModuleLaunchKernel,
        (hipFunction_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
         unsigned shared, hipStream_t stream, void** parameters, void** extra),
        launch(function, {{gx, gy, gz}, {bx, by, bz}, shared}, stream, false, parameters, extra))
#define EXT_LAUNCH _Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j
#define OLD_LAUNCH _Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_
FACE EXT_LAUNCH(hipFunction_t function, std::uint32_t gx, std::uint32_t gy, std::uint32_t gz, std::uint32_t lx,
                std::uint32_t ly, std::uint32_t lz, std::size_t, hipStream_t stream, void** parameters, void** extra,
                hipEvent_t start, hipEvent_t stop, std::uint32_t) {
  return sim::hip::call("hipExtModuleLaunchKernel", true, [&] {
    return sim::hip::launch_items(function, {gx, gy, gz}, {lx, ly, lz}, stream, parameters, extra, start, stop);
  });
}

FACE OLD_LAUNCH(hipFunction_t function, std::uint32_t gx, std::uint32_t gy, std::uint32_t gz, std::uint32_t lx,
                std::uint32_t ly, std::uint32_t lz, std::size_t, hipStream_t stream, void** parameters, void** extra,
                hipEvent_t start, hipEvent_t stop) {
  return sim::hip::call("hipHccModuleLaunchKernel", true, [&] {
    return sim::hip::launch_items(function, {gx, gy, gz}, {lx, ly, lz}, stream, parameters, extra, start, stop);
  });
}
SUBMITS(hipExtModuleLaunchKernel,
        (hipFunction_t function, std::uint32_t gx, std::uint32_t gy, std::uint32_t gz, std::uint32_t lx,
         std::uint32_t ly, std::uint32_t lz, std::size_t, hipStream_t stream, void** parameters, void** extra,
         hipEvent_t start, hipEvent_t stop, std::uint32_t),
        sim::hip::launch_items(function, {gx, gy, gz}, {lx, ly, lz}, stream, parameters, extra, start, stop))

namespace {

/// A function of the library itself, whoever else has functions of these names.
void* own_function(const std::string& symbol) {
  Dl_info own{};
  dladdr(reinterpret_cast<const void*>(&sim::hip::future_work), &own);
  void* self = dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  return self == nullptr ? nullptr : dlsym(self, symbol.c_str());
}

/// `per_thread`: the function whose stream 0 is the thread's own, if there is one.
Status look_up(const std::string& symbol, bool per_thread, void** function, int* found) {
  *function = symbol == "hipFutureWork" ? reinterpret_cast<void*>(&sim::hip::future_work) : nullptr;
  if (*function == nullptr && per_thread) {
    *function = own_function(symbol + "_spt");
  }
  if (*function == nullptr) {
    *function = own_function(symbol);
  }
  if (found != nullptr) {
    *found = *function == nullptr ? 1 : 0;
  }
  return *function == nullptr ? Status::kNotFound : Status::kOk;
}

constexpr std::uint64_t kPerThread = 2;  // hipGetProcAddressPerThreadDefaultStream; 0: as the function's name says

}  // namespace

CALL(hipGetProcAddress, (const char* symbol, void** function, int, std::uint64_t flags, int* found),
     look_up(symbol, flags == kPerThread, function, found))
CALL(hipGetProcAddress_spt, (const char* symbol, void** function, int, std::uint64_t flags, int* found),
     look_up(symbol, flags == 0 || flags == kPerThread, function, found))
// As CUDA's runtime does: that there is none is no error, but the answer.
CALL(hipGetDriverEntryPoint, (const char* symbol, void** function, unsigned long long flags, int* found),
     (static_cast<void>(look_up(symbol, flags == kPerThread, function, found)), Status::kOk))
CALL(hipGetDriverEntryPoint_spt, (const char* symbol, void** function, unsigned long long flags, int* found),
     (static_cast<void>(look_up(symbol, flags == 0 || flags == kPerThread, function, found)), Status::kOk))
