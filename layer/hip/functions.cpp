#include "layer/hip/functions.h"

#include <map>
#include <memory>
#include <unordered_map>

#include "backends/hip/code_object.h"
#include "env/mutex.h"
#include "env/regular_file.h"
#include "layer/common/captured_code.h"
#include "layer/hip/real_library.h"
#include "layer/hip/wrappers.h"
#include "layer/immortal.h"
#include "layer/streams/function_table.h"
#include "layer/streams/inventory.h"

namespace refrain::layer::hip {
namespace {

using backends::hip::ImageLayouts;
using Table = streams::FunctionTable<HipLayer>;
using LayoutsRef = std::shared_ptr<const ImageLayouts>;

/// A fat binary of the program: read when a kernel of it is launched for the first time, as it stays where it is.
struct FatBinary {
  const void* image = nullptr;
  LayoutsRef layouts;
  capture::CodeId code = 0;                                        ///< for captures; 0: not known, or not asked for yet
  std::map<std::string, const void*, std::less<>> variables = {};  ///< the host's, by name
  std::map<std::string, void* const*, std::less<>> managed = {};   ///< where the address of such a variable is
  bool in_use = false;
};

struct Module {
  LayoutsRef layouts;
  capture::CodeId code = 0;  ///< for captures; 0: not known
  bool in_use = false;       ///< kernels of it may be in graphs
};

/// A kernel that was given out by hipModuleGetFunction(), or registered.
struct Known {
  std::string name;
  const void* module = nullptr;  ///< hipModule_t, or what __hipRegisterFatBinary() gave
  bool registered = false;
};

struct Tables {
  env::Mutex mutex;
  std::unordered_map<const void*, Module> modules REFRAIN_GUARDED_BY(mutex);
  std::unordered_map<const void*, FatBinary> binaries REFRAIN_GUARDED_BY(mutex);
  std::unordered_map<const void*, Known> kernels REFRAIN_GUARDED_BY(mutex);  ///< by handle
};
Tables& tables() noexcept {
  static Immortal<Tables> all;
  return *all;
}

const char* const kUnknown = "the kernel was not got from a module that Refrain saw loaded";

/// Null: not known.
LayoutsRef layouts_of(const Known& kernel) REFRAIN_REQUIRES(tables().mutex) {
  if (!kernel.registered) {
    const auto found = tables().modules.find(kernel.module);
    return found == tables().modules.end() ? nullptr : found->second.layouts;
  }
  const auto found = tables().binaries.find(kernel.module);
  if (found == tables().binaries.end()) {
    return nullptr;
  }
  if (found->second.layouts == nullptr) {
    found->second.layouts = std::make_shared<const ImageLayouts>(
        backends::hip::read_layouts(found->second.image, backends::hip::kLargestImage));
  }
  return found->second.layouts;
}

/// For captures: keeps an image until a kernel of it is launched.
capture::CodeId keep_code(const void* image, std::size_t limit) {
  const std::span<const std::byte> code = backends::hip::image_at(image, limit);
  return code.empty() ? 0 : common::CapturedCode::all().add(capture::CodeKind::kBinary, code);
}

/// For captures; 0: not known.
capture::CodeId code_of(const void* handle) REFRAIN_REQUIRES(tables().mutex) {
  const auto known = tables().kernels.find(handle);
  if (known == tables().kernels.end()) {
    return 0;
  }
  if (!known->second.registered) {
    const auto module = tables().modules.find(known->second.module);
    return module == tables().modules.end() ? 0 : module->second.code;
  }
  const auto binary = tables().binaries.find(known->second.module);
  if (binary == tables().binaries.end()) {
    return 0;
  }
  if (binary->second.code == 0) {
    binary->second.code = keep_code(binary->second.image, backends::hip::kLargestImage);
  }
  return binary->second.code;
}

/// For verify mode.
void note_in_use(const Known& kernel, const backends::hip::KernelLayout& layout) REFRAIN_REQUIRES(tables().mutex) {
  if (runtime.inventory == nullptr) {
    return;
  }
  (kernel.registered ? tables().binaries[kernel.module].in_use : tables().modules[kernel.module].in_use) = true;
  streams::note_kernel_name<HipLayer>(kernel.name);
  if (layout.prints_or_allocates) {
    runtime.inventory->cannot_compare(streams::kPrintsOrAllocates);
  }
}

/// Adds what `address_of(name)` tells of the variables of an image to the inventory.
template <class AddressOf>
void add_variables_of(const ImageLayouts& layouts, AddressOf&& address_of) {
  bool all = !layouts.has_unnamed;
  for (const std::string& name : layouts.variables) {
    all = streams::note_memory<HipLayer>(hipSuccess, handle_of(address_of(name))) && all;
  }
  if (!all) {
    runtime.inventory->cannot_compare("the runtime does not tell where a variable of a kernel's code is");
  }
}

void describe(FunctionState& function, const void* handle) REFRAIN_REQUIRES(tables().mutex) {
  const auto known = tables().kernels.find(handle);
  const LayoutsRef layouts = known == tables().kernels.end() ? nullptr : layouts_of(known->second);
  function.unholdable = kUnknown;
  if (known != tables().kernels.end()) {
    function.name = known->second.name;
    function.others_wait = streams::works_with_other_devices(function.name);
    function.module = handle_of(known->second.module);
  }
  if (layouts != nullptr) {
    const auto layout = layouts->kernels.find(function.name);
    if (*layouts->why_not != '\0') {
      function.unholdable = layouts->why_not;
    } else if (layout == layouts->kernels.end()) {
      function.unholdable = "its code object does not tell the kernel's parameters";
    } else if (layout->second.differs) {
      function.unholdable = "its code objects for different devices have different parameters";
    } else {
      function.unholdable = nullptr;
      note_in_use(known->second, layout->second);
      for (const backends::hip::KernelParameter& parameter : layout->second.parameters) {
        function.add_parameter(parameter.size, parameter.offset);
      }
    }
  }
  function.end_parameters();
}

void note_kernel(const void* handle, const void* module, const char* name, bool registered) noexcept {
  try {
    {
      const env::MutexLock guard(tables().mutex);
      Known& known = tables().kernels[handle];
      if (known.module == module && known.name == name) {
        return;
      }
      known = {name, module, registered};
    }
    // It was launched before anybody knew it, or its address belonged to another one.
    Table::all().forget(handle_of(handle));
  } catch (...) {
    // Launches of it are not held.
  }
}

/// Modules are mostly loaded before anything is submitted: in capture mode their code is kept from then on.
bool captures() noexcept {
  if (undecided.load(std::memory_order_relaxed) && interpose::RealLibrary::settings().mode == env::Mode::kCapture)
      [[unlikely]] {
    static_cast<void>(start_engine());
  }
  return runtime.recorder != nullptr;
}

void note_module(const void* module, const void* image, std::size_t limit) noexcept {
  try {
    auto layouts = std::make_shared<const ImageLayouts>(backends::hip::read_layouts(image, limit));
    const capture::CodeId code = captures() ? keep_code(image, limit) : 0;
    const env::MutexLock guard(tables().mutex);
    tables().modules[module] = {std::move(layouts), code};
  } catch (...) {
    // Launches of its kernels are not held.
  }
}

/// Of `module`, which is about to go.
void forget_module(const void* module) noexcept {
  const env::MutexLock guard(tables().mutex);
  tables().modules.erase(module);
  tables().binaries.erase(module);
  std::erase_if(tables().kernels, [module](const auto& entry) { return entry.second.module == module; });
}

/// The call that takes a module away.
template <class Unload>
hipError_t unload(const replay::EntryPoint& entry_point, const void* module, Unload&& call) noexcept {
  if (HipLayer::any_engine() == nullptr) {  // also at the end of a program that used no device
    forget_module(module);
    return call();
  }
  return streams::unload<HipLayer>(entry_point, handle_of(module), [&] {
    forget_module(module);
    return call();
  });
}

/// For find_function(), which has the lock: the analysis cannot see that adopt() calls what it is given there.
void describe_locked(FunctionState& function, const void* handle) REFRAIN_NO_THREAD_SAFETY_ANALYSIS {
  describe(function, handle);
  if (runtime.recorder != nullptr) {
    function.recorded =
        common::CapturedCode::all().tell(*runtime.recorder, code_of(handle), function.name, function.id);
  }
}

}  // namespace

const FunctionState* find_function(const void* handle) noexcept {
  if (const FunctionState* known = objects.functions.find(handle_of(handle)); known != nullptr) [[likely]] {
    return known;
  }
  const env::MutexLock guard(tables().mutex);
  if (const FunctionState* known = objects.functions.find(handle_of(handle)); known != nullptr) {
    return known;
  }
  return Table::all().adopt(handle_of(handle), [handle](FunctionState& made) { describe_locked(made, handle); });
}

const FunctionState* HipLayer::function_of(capture::Handle handle) noexcept {
  return find_function(reinterpret_cast<const void*>(handle));
}

void HipLayer::forget_functions(std::uint64_t module) noexcept {
  Table::all().forget_of(module);
}

std::string HipLayer::name_of_function(capture::FunctionId function) noexcept {
  return Table::all().name_of(function);
}

namespace {

/// Null: the runtime does not tell.
const void* address_of(const void* module, const std::string& name) noexcept {
  const backends::HipDriver& driver = runtime.driver;
  void* address = nullptr;
  std::size_t bytes = 0;
  auto* const of = static_cast<hipModule_t>(const_cast<void*>(module));
  return driver.hipModuleGetGlobal != nullptr &&
                 backends::quiet(driver, driver.hipModuleGetGlobal(&address, &bytes, of, name.c_str())) == hipSuccess
             ? address
             : nullptr;
}
const void* address_of(const FatBinary& binary, const std::string& name) noexcept {
  if (const auto found = binary.managed.find(name); found != binary.managed.end()) {
    return *found->second;
  }
  const backends::HipDriver& driver = runtime.driver;
  const auto found = binary.variables.find(name);
  void* address = nullptr;
  return found != binary.variables.end() && driver.hipGetSymbolAddress != nullptr &&
                 backends::quiet(driver, driver.hipGetSymbolAddress(&address, found->second)) == hipSuccess
             ? address
             : nullptr;
}

}  // namespace

void add_variables() {
  // Nothing is unloaded while they are asked for.
  const env::MutexLock guard(tables().mutex);
  for (const auto& [handle, module] : tables().modules) {
    if (module.in_use) {
      add_variables_of(*module.layouts, [of = handle](const std::string& name) { return address_of(of, name); });
    }
  }
  for (const auto& [handle, binary] : tables().binaries) {
    if (binary.in_use) {
      add_variables_of(*binary.layouts, [&of = binary](const std::string& name) { return address_of(of, name); });
    }
  }
}

hipError_t wrap::hipModuleLoad(hipModule_t* module, const char* file) noexcept {
  const hipError_t status = library.hipModuleLoad(module, file);
  if (status == hipSuccess && module != nullptr && file != nullptr) {
    try {
      std::string image;
      std::string why;  // the runtime read it somehow; without an image launches of its kernels are not held
      static_cast<void>(env::read_regular_file(file, backends::hip::kLargestImage, &image, &why));
      note_module(*module, image.data(), image.size());
    } catch (...) {
      // Launches of its kernels are not held.
    }
  }
  return status;
}

hipError_t wrap::hipModuleLoadData(hipModule_t* module, const void* image) noexcept {
  const hipError_t status = library.hipModuleLoadData(module, image);
  if (status == hipSuccess && module != nullptr) {
    note_module(*module, image, backends::hip::kLargestImage);
  }
  return status;
}

hipError_t wrap::hipModuleLoadDataEx(hipModule_t* module, const void* image, unsigned int count, hipJitOption* options,
                                     void** values) noexcept {
  const hipError_t status = library.hipModuleLoadDataEx(module, image, count, options, values);
  if (status == hipSuccess && module != nullptr) {
    note_module(*module, image, backends::hip::kLargestImage);
  }
  return status;
}

hipError_t wrap::hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name) noexcept {
  const hipError_t status = library.hipModuleGetFunction(function, module, name);
  if (status == hipSuccess && function != nullptr && name != nullptr) {
    note_kernel(*function, module, name, false);
  }
  return status;
}

hipError_t wrap::hipModuleUnload(hipModule_t module) noexcept {
  return unload(entry::hipModuleUnload, module, [&] { return library.hipModuleUnload(module); });
}

void** wrap::__hipRegisterFatBinary(const void* wrapper) noexcept {
  void** modules = library.__hipRegisterFatBinary(wrapper);
  const auto* binary = static_cast<const backends::hip::FatBinaryWrapper*>(wrapper);
  if (modules != nullptr && binary != nullptr && binary->magic == backends::hip::kFatBinaryMagic &&
      binary->binary != nullptr) {
    try {
      const env::MutexLock guard(tables().mutex);
      tables().binaries[modules] = {.image = binary->binary, .layouts = nullptr, .code = 0};
    } catch (...) {
      // Launches of its kernels are not held.
    }
  }
  return modules;
}

void wrap::__hipRegisterFunction(void** modules, const void* host_function, char* device_function, const char* name,
                                 unsigned int thread_limit, void* thread, void* block, dim3* block_size,
                                 dim3* grid_size, int* warp_size) noexcept {
  library.__hipRegisterFunction(modules, host_function, device_function, name, thread_limit, thread, block, block_size,
                                grid_size, warp_size);
  if (name != nullptr) {
    note_kernel(host_function, modules, name, true);
  }
}

void wrap::__hipRegisterVar(void** modules, void* host_variable, char* name, char* device_name, int external,
                            std::size_t bytes, int constant, int global) noexcept {
  library.__hipRegisterVar(modules, host_variable, name, device_name, external, bytes, constant, global);
  try {
    const env::MutexLock guard(tables().mutex);
    tables().binaries[modules].variables[device_name] = host_variable;
  } catch (...) {
    // Kernels that write it are not compared in verify mode.
  }
}

void wrap::__hipRegisterManagedVar(void* modules, void** memory, void* initial, const char* name, std::size_t bytes,
                                   unsigned alignment) noexcept {
  library.__hipRegisterManagedVar(modules, memory, initial, name, bytes, alignment);
  try {
    const env::MutexLock guard(tables().mutex);
    tables().binaries[modules].managed[name] = memory;
  } catch (...) {
    // The same.
  }
}

void wrap::__hipUnregisterFatBinary(void** modules) noexcept {
  static_cast<void>(unload(entry::__hipUnregisterFatBinary, modules, [&] {
    library.__hipUnregisterFatBinary(modules);
    return hipSuccess;
  }));
}

}  // namespace refrain::layer::hip
