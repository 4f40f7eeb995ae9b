#include "layer/opencl/programs.h"

#include <xxhash.h>

#include <bit>
#include <chrono>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "backends/spirv_contents.h"
#include "env/mutex.h"
#include "layer/immortal.h"
#include "layer/opencl/layer.h"
#include "layer/opencl/promises.h"
#include "layer/opencl/wrappers.h"
#include "layer/report_signal.h"

namespace refrain::layer::opencl {
namespace {

using capture::CodeKind;
using capture::mix;

/// What private kernel objects the backend may have of a program. They keep the program, and with it its
/// context, alive, and keep it from being built again: they go when the application has no more use for it.
struct Family {
  std::set<capture::FunctionId> functions;
  std::uint32_t kernels = 0;
  bool released = false;
  std::uint64_t holder = 0;  ///< see Object::holder, of all its kernels that are gone
};
struct Families {
  env::Mutex mutex;
  std::unordered_map<ObjectId, Family> of REFRAIN_GUARDED_BY(mutex);
};
Families& families() noexcept {
  static Immortal<Families> all;
  return *all;
}

cl_int forget_kernels(Handle function) noexcept {
  if (state.backend != nullptr) {
    state.backend->forget_function(function);
  }
  return CL_SUCCESS;
}

/// Graphs with these functions are dropped. Private kernels go behind the held work that names them, which makes new
/// ones when it is issued.
void forget(const Family& family) noexcept {
  replay::Engine* running = engine_with_threads();
  for (const capture::FunctionId function : family.functions) {
    if (running != nullptr) {
      running->object_gone(function);
    }
    static_cast<void>(release_later<&forget_kernels>(family.holder, function));
  }
}

/// Takes what is to be forgotten of a program without kernels.
Family take_functions(ObjectId program, bool released) noexcept {
  const env::MutexLock guard(families().mutex);
  const auto found = families().of.find(program);
  if (found == families().of.end()) {
    return {};
  }
  found->second.released = found->second.released || released;
  if (found->second.kernels != 0) {
    return {};
  }
  Family family = std::move(found->second);
  if (family.released) {
    families().of.erase(found);
  } else {
    found->second.functions.clear();
  }
  return family;
}

/// Runs `work`, which may run out of memory; then the program stays unknown.
template <class Work>
void guarded(Work&& work) noexcept {
  try {
    work();
  } catch (...) {
    static std::atomic<bool> said{false};
    log_once(said, "out of memory for a program's identity; its kernels pass through");
  }
}

/// Runs `build()`, which changes the program: nothing of ours may stand in its way. Graphs with its kernels
/// are dropped; while one still runs, or is being built, its kernels live on for a moment.
template <class Build>
cl_int without_our_kernels(cl_program program, const replay::EntryPoint& entry_point, Build&& build) noexcept {
  const ReportSignalKeeper keeper;
  const ProgramState* known = objects.programs.find(handle_of(program));
  const Family family = known == nullptr ? Family() : take_functions(known->id, false);
  if (family.functions.empty()) {
    return build();
  }
  HostCall host_call(entry_point);
  replay::Engine* const running = engine();
  forget(family);
  cl_int status = build();
  constexpr int kTries = 100;
  for (int i = 0; i < kTries && status == CL_INVALID_OPERATION && running != nullptr; ++i) {
    guarded([&] { running->wait_idle(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    forget(family);
    status = build();
  }
  return host_call.done(status, false);
}

std::uint64_t hash_of(const void* bytes, std::size_t size) noexcept {
  return XXH3_64bits(bytes, size);
}

/// Of text: whoever prints has to write it.
bool names_printf(std::string_view text) noexcept {
  return text.find("printf") != std::string_view::npos;
}

/// What a driver compiled may contain the word in any case, and is taken to print nothing.
bool may_print(CodeKind kind, std::span<const std::byte> bytes) {
  if (kind == CodeKind::kIntermediate) {
    const backends::ModuleContents contents = backends::contents_of_spirv(bytes);
    return !contents.known || contents.prints;
  }
  return kind == CodeKind::kSource && names_printf({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

bool prints(ProgramState& program) noexcept {
  const env::MutexLock guard(program.mutex);
  return program.build.prints;
}

void register_program(cl_program program, cl_context context, capture::CodeId code, CodeKind kind,
                      std::span<const std::byte> bytes) {
  const bool may = may_print(kind, bytes);
  ProgramState* record = objects.programs.make();
  if (record == nullptr) {
    return;  // its kernels are unknown and pass through
  }
  record->begin();
  record->code = code != 0 ? code : 1;
  record->context = context;
  {
    const env::MutexLock guard(record->mutex);
    record->build.prints = may;
  }
  if (!objects.programs.insert(record, handle_of(program))) {
    objects.programs.recycle(record);
    return;
  }
  if (state.recorder != nullptr && !bytes.empty()) {
    state.recorder->code({record->code, kind, bytes});
  }
}

std::span<const std::byte> bytes_of(const void* data, std::size_t size) noexcept {
  return {static_cast<const std::byte*>(data), data == nullptr ? 0 : size};
}

/// The binary of a program for its first device, for captures of what cannot be built from source.
std::vector<std::byte> binary_of(cl_program program) {
  std::size_t bytes = 0;
  if (target.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, 0, nullptr, &bytes) != CL_SUCCESS || bytes == 0) {
    return {};
  }
  std::vector<std::size_t> sizes(bytes / sizeof(std::size_t));
  if (target.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, bytes, sizes.data(), nullptr) != CL_SUCCESS) {
    return {};
  }
  std::vector<std::byte> binary(sizes.empty() ? 0 : sizes.front());
  std::vector<unsigned char*> places(sizes.size(), nullptr);
  if (!binary.empty()) {
    places.front() = reinterpret_cast<unsigned char*>(binary.data());
    if (target.clGetProgramInfo(program, CL_PROGRAM_BINARIES, places.size() * sizeof(places[0]), places.data(),
                                nullptr) != CL_SUCCESS) {
      binary.clear();
    }
  }
  return binary;
}

void remember_options(cl_program program, const char* options) noexcept {
  if (ProgramState* known = objects.programs.find(handle_of(program)); known != nullptr) {
    std::string given;
    guarded([&] { given = options == nullptr ? "" : options; });
    const env::MutexLock guard(known->mutex);
    known->build.options.swap(given);
    known->build.prints = known->build.prints || names_printf(known->build.options);
    ++known->build.number;
  }
}

}  // namespace

void kernel_made(ObjectId program, capture::FunctionId function) noexcept {
  guarded([&] {
    const env::MutexLock guard(families().mutex);
    Family& family = families().of[program];
    family.functions.insert(function);
    ++family.kernels;
  });
}

void kernel_gone(ObjectId program, std::uint64_t holder) noexcept {
  Family gone;
  {
    const env::MutexLock guard(families().mutex);
    const auto found = families().of.find(program);
    if (found == families().of.end()) {
      return;
    }
    Family& family = found->second;
    if (holder != 0) {
      family.holder = family.holder == 0 || family.holder == holder ? holder : kManyLanes;
    }
    if (--family.kernels != 0 || !family.released) {
      return;
    }
    gone = std::move(family);
    families().of.erase(found);
  }
  forget(gone);
}

ProgramBuild build_of(ProgramState& program) {
  ProgramBuild build;
  {
    const env::MutexLock guard(program.mutex);
    build = program.build;
  }
  const ContextState* context = objects.contexts.find(handle_of(program.context));
  if (build.devices_of == build.number || context == nullptr) {
    return build;
  }
  build.devices = 0;
  for (cl_device_id device : context->devices) {
    cl_build_status status = CL_BUILD_NONE;
    const bool asked =
        target.clGetProgramBuildInfo(native<cl_program>(program.handle.load()), device, CL_PROGRAM_BUILD_STATUS,
                                     sizeof(status), &status, nullptr) == CL_SUCCESS;
    build.devices |= asked && status == CL_BUILD_SUCCESS ? context->bit_of(device) : 0;
  }
  const env::MutexLock guard(program.mutex);
  if (program.build.number == build.number) {
    program.build.devices = build.devices;
    program.build.devices_of = build.number;
  }
  return build;
}

capture::FunctionId function_id(const ProgramState& program, const ProgramBuild& build,
                                std::string_view name) noexcept {
  std::uint64_t id = mix(program.code, build.constants);
  id = mix(id, hash_of(build.options.data(), build.options.size()));
  id = mix(id, hash_of(name.data(), name.size()));
  const ContextState* context = objects.contexts.find(handle_of(program.context));
  if (context != nullptr && static_cast<std::size_t>(std::popcount(build.devices)) < context->devices.size()) {
    id = mix(id, build.devices);  // kernels of the same source that run elsewhere are others
  }
  return id != 0 ? id : 1;
}

cl_program wrap::clCreateProgramWithSource(cl_context context, cl_uint count, const char** strings,
                                           const size_t* lengths, cl_int* error) noexcept {
  cl_program program = target.clCreateProgramWithSource(context, count, strings, lengths, error);
  if (program != nullptr) {
    guarded([&] {
      std::string source;
      for (cl_uint i = 0; i < count; ++i) {
        const bool terminated = lengths == nullptr || lengths[i] == 0;
        source.append(strings[i], terminated ? std::strlen(strings[i]) : lengths[i]);
      }
      register_program(program, context, hash_of(source.data(), source.size()), CodeKind::kSource,
                       bytes_of(source.data(), source.size()));
    });
  }
  return program;
}

cl_program wrap::clCreateProgramWithBinary(cl_context context, cl_uint count, const cl_device_id* devices,
                                           const size_t* lengths, const unsigned char** binaries, cl_int* binary_status,
                                           cl_int* error) noexcept {
  cl_program program =
      target.clCreateProgramWithBinary(context, count, devices, lengths, binaries, binary_status, error);
  if (program != nullptr && count != 0) {
    guarded([&] {
      std::uint64_t code = hash_of(binaries[0], lengths[0]);
      for (cl_uint i = 1; i < count; ++i) {
        code = mix(code, hash_of(binaries[i], lengths[i]));
      }
      register_program(program, context, code, CodeKind::kBinary, bytes_of(binaries[0], lengths[0]));
    });
  }
  return program;
}

cl_program wrap::clCreateProgramWithBuiltInKernels(cl_context context, cl_uint count, const cl_device_id* devices,
                                                   const char* names, cl_int* error) noexcept {
  cl_program program = target.clCreateProgramWithBuiltInKernels(context, count, devices, names, error);
  if (program != nullptr && names != nullptr) {
    guarded([&] {
      register_program(program, context, hash_of(names, std::strlen(names)), CodeKind::kBuiltin,
                       bytes_of(names, std::strlen(names)));
    });
  }
  return program;
}

cl_program wrap::clCreateProgramWithIL(cl_context context, const void* il, size_t length, cl_int* error) noexcept {
  cl_program program = target.clCreateProgramWithIL(context, il, length, error);
  if (program != nullptr) {
    guarded([&] {
      register_program(program, context, hash_of(il, length), CodeKind::kIntermediate, bytes_of(il, length));
    });
  }
  return program;
}

cl_int wrap::clBuildProgram(cl_program program, cl_uint count, const cl_device_id* devices, const char* options,
                            void(CL_CALLBACK* notify)(cl_program, void*), void* user) noexcept {
  remember_options(program, options);
  return without_our_kernels(program, entry::clBuildProgram,
                             [&] { return target.clBuildProgram(program, count, devices, options, notify, user); });
}

cl_int wrap::clCompileProgram(cl_program program, cl_uint count, const cl_device_id* devices, const char* options,
                              cl_uint headers, const cl_program* input_headers, const char** names,
                              void(CL_CALLBACK* notify)(cl_program, void*), void* user) noexcept {
  if (ProgramState* known = objects.programs.find(handle_of(program)); known != nullptr) {
    remember_options(program, options);
    for (cl_uint i = 0; input_headers != nullptr && i < headers; ++i) {
      if (ProgramState* header = objects.programs.find(handle_of(input_headers[i])); header != nullptr) {
        const bool may_print = prints(*header);
        const env::MutexLock guard(known->mutex);
        known->build.constants = mix(known->build.constants, header->code);
        known->build.prints = known->build.prints || may_print;
      }
    }
  }
  return without_our_kernels(program, entry::clCompileProgram, [&] {
    return target.clCompileProgram(program, count, devices, options, headers, input_headers, names, notify, user);
  });
}

cl_program wrap::clLinkProgram(cl_context context, cl_uint count, const cl_device_id* devices, const char* options,
                               cl_uint inputs, const cl_program* input_programs,
                               void(CL_CALLBACK* notify)(cl_program, void*), void* user, cl_int* error) noexcept {
  const ReportSignalKeeper keeper;
  cl_program program =
      target.clLinkProgram(context, count, devices, options, inputs, input_programs, notify, user, error);
  if (program != nullptr) {
    guarded([&] {
      std::uint64_t code = 0x11AE;
      bool may_print = false;
      for (cl_uint i = 0; i < inputs; ++i) {
        ProgramState* input = objects.programs.find(handle_of(input_programs[i]));
        code = mix(code, input == nullptr ? 0 : function_id(*input, build_of(*input), ""));
        may_print = may_print || (input != nullptr && prints(*input));
      }
      // With a callback the link may still be under way: there is no binary to be had yet.
      const std::vector<std::byte> binary =
          state.recorder != nullptr && notify == nullptr ? binary_of(program) : std::vector<std::byte>();
      register_program(program, context, code, CodeKind::kBinary, binary);
      remember_options(program, options);
      if (ProgramState* known = objects.programs.find(handle_of(program)); known != nullptr) {
        const env::MutexLock guard(known->mutex);
        known->build.prints = known->build.prints || may_print;
      }
    });
  }
  return program;
}

cl_int wrap::clSetProgramSpecializationConstant(cl_program program, cl_uint id, size_t size,
                                                const void* value) noexcept {
  const cl_int status = target.clSetProgramSpecializationConstant(program, id, size, value);
  if (ProgramState* known = objects.programs.find(handle_of(program)); status == CL_SUCCESS && known != nullptr) {
    const env::MutexLock guard(known->mutex);
    known->build.constants = mix(mix(known->build.constants, id), hash_of(value, size));
  }
  return status;
}

cl_int wrap::clRetainProgram(cl_program program) noexcept {
  const cl_int status = target.clRetainProgram(program);
  if (status == CL_SUCCESS) {
    retained(objects.programs, handle_of(program));
  }
  return status;
}

cl_int wrap::clReleaseProgram(cl_program program) noexcept {
  ProgramState* known = objects.programs.find(handle_of(program));
  if (known != nullptr && known->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    const EntryScope scope;
    const ObjectId id = known->id;
    objects.programs.erase(known);  // kernels keep what they need to know of it
    objects.programs.recycle(known);
    forget(take_functions(id, true));
  }
  return target.clReleaseProgram(program);
}

}  // namespace refrain::layer::opencl
