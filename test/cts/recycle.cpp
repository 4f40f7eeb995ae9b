// Preloaded into tests of the OpenCL conformance suite: runs their main function several times (CTS_REPEAT), and gives
// objects that a program has released to the next one that asks for equal ones. Else each test has objects of its own,
// so that nothing that it submits ever comes again. It is in the plain runs as well, above the loader, and so above
// Refrain. Not an ICD, not a layer: a program calls it by its names.
#include <CL/cl.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace {

template <class Function>
Function next(const char* name) {
  auto* const found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    std::abort();
  }
  return reinterpret_cast<Function>(found);
}
#define NEXT(name) (next<decltype(&(name))>(#name))

/// Bytes by which two calls are alike.
class Key {
 public:
  template <class T>
  Key& add(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  Key& add(const void* bytes, std::size_t size) {
    add(size);
    bytes_.append(static_cast<const char*>(bytes), bytes == nullptr ? 0 : size);
    return *this;
  }
  /// Pairs with a 0 behind them.
  template <class T>
  Key& add_list(const T* properties) {
    for (; properties != nullptr && *properties != 0; properties += 2) {
      add(properties[0]).add(properties[1]);
    }
    return add(T{0});
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Objects of one kind. What nobody uses waits for the next one who asks for its like: the oldest first, so that the
/// same calls get the same objects. One reference of each is ours.
class Shelf {
 public:
  using Object = void*;

  /// Of equals that nobody uses, the first one made; null if there is none.
  Object take(const Key& key) {
    const std::lock_guard guard(mutex_);
    for (Object each : made_[key.bytes()]) {
      if (State& state = states_.at(each); state.users == 0) {
        state.users = 1;
        return each;
      }
    }
    return nullptr;
  }
  void add(const Key& key, Object made) {
    const std::lock_guard guard(mutex_);
    made_[key.bytes()].push_back(made);
    states_[made] = {key.bytes(), 1};
  }
  void retained(Object object) {
    const std::lock_guard guard(mutex_);
    if (const auto found = states_.find(object); found != states_.end()) {
      ++found->second.users;
    }
  }
  /// True if it is ours now: the reference that the program gives up is kept.
  bool released(Object object) {
    const std::lock_guard guard(mutex_);
    const auto found = states_.find(object);
    if (found == states_.end() || found->second.users == 0) {
      return false;
    }
    --found->second.users;
    return found->second.users == 0;
  }
  /// It is never given to another one.
  void forget(Object object) {
    const std::lock_guard guard(mutex_);
    if (const auto found = states_.find(object); found != states_.end()) {
      std::erase(made_[found->second.key], object);
      states_.erase(found);
    }
  }

 private:
  struct State {
    std::string key;
    int users = 0;
  };
  std::mutex mutex_;
  std::map<std::string, std::vector<Object>> made_;
  std::map<Object, State> states_;
};

/// Never destroyed: programs release objects from their own destructors.
Shelf& contexts = *new Shelf;
Shelf& queues = *new Shelf;
Shelf& buffers = *new Shelf;
Shelf& programs = *new Shelf;
Shelf& kernels = *new Shelf;
Shelf& samplers = *new Shelf;
Shelf& shared = *new Shelf;  ///< virtual memory

/// One that waits, or a new one.
template <class Object, class Make>
Object recycled(Shelf& shelf, const Key& key, cl_int* status, Make&& make) {
  if (auto* const waiting = static_cast<Object>(shelf.take(key))) {
    if (status != nullptr) {
      *status = CL_SUCCESS;
    }
    return waiting;
  }
  Object made = make();
  if (made != nullptr) {
    shelf.add(key, made);
  }
  return made;
}

/// With which options a program that waits was built.
std::mutex built_mutex;
std::map<cl_program, std::string>& built = *new std::map<cl_program, std::string>;

/// What a buffer that waited is to begin with. False if it cannot be written.
bool write(cl_context context, cl_mem buffer, std::size_t size, const void* bytes) {
  std::vector<cl_device_id> devices(64);
  std::size_t found = 0;
  if (clGetContextInfo(context, CL_CONTEXT_DEVICES, devices.size() * sizeof(cl_device_id), devices.data(), &found) !=
          CL_SUCCESS ||
      found == 0) {
    return false;
  }
  cl_command_queue queue = NEXT(clCreateCommandQueueWithProperties)(context, devices.front(), nullptr, nullptr);
  const bool written = queue != nullptr &&
                       clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, size, bytes, 0, nullptr, nullptr) == CL_SUCCESS;
  if (queue != nullptr) {
    NEXT(clReleaseCommandQueue)(queue);
  }
  return written;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

cl_context clCreateContext(const cl_context_properties* properties, cl_uint count, const cl_device_id* devices,
                           void(CL_CALLBACK* notify)(const char*, const void*, std::size_t, void*), void* data,
                           cl_int* status) {
  const auto make = [&] { return NEXT(clCreateContext)(properties, count, devices, notify, data, status); };
  if (devices == nullptr || count == 0) {
    return make();
  }
  Key key;
  key.add_list(properties).add(devices, count * sizeof(*devices)).add(notify).add(data);
  return recycled<cl_context>(contexts, key, status, make);
}
cl_int clRetainContext(cl_context context) {
  contexts.retained(context);
  return NEXT(clRetainContext)(context);
}
cl_int clReleaseContext(cl_context context) {
  return contexts.released(context) ? CL_SUCCESS : NEXT(clReleaseContext)(context);
}
cl_int clSetContextDestructorCallback(cl_context context, void(CL_CALLBACK* notify)(cl_context, void*), void* data) {
  contexts.forget(context);
  return NEXT(clSetContextDestructorCallback)(context, notify, data);
}

cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device, cl_command_queue_properties properties,
                                      cl_int* status) {
  return recycled<cl_command_queue>(queues, Key().add(context).add(device).add(properties), status,
                                    [&] { return NEXT(clCreateCommandQueue)(context, device, properties, status); });
}
cl_command_queue clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
                                                    const cl_queue_properties* properties, cl_int* status) {
  return recycled<cl_command_queue>(queues, Key().add(context).add(device).add_list(properties), status, [&] {
    return NEXT(clCreateCommandQueueWithProperties)(context, device, properties, status);
  });
}
cl_int clRetainCommandQueue(cl_command_queue queue) {
  queues.retained(queue);
  return NEXT(clRetainCommandQueue)(queue);
}
cl_int clReleaseCommandQueue(cl_command_queue queue) {
  // A release submits what was enqueued.
  return queues.released(queue) ? NEXT(clFlush)(queue) : NEXT(clReleaseCommandQueue)(queue);
}

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, std::size_t size, void* host, cl_int* status) {
  const auto make = [&] { return NEXT(clCreateBuffer)(context, flags, size, host, status); };
  const bool copies = (flags & CL_MEM_COPY_HOST_PTR) != 0;
  if ((host == nullptr) == copies || (flags & CL_MEM_USE_HOST_PTR) != 0) {
    return make();  // it is the program's memory, or a wrong call
  }
  bool is_new = false;
  cl_mem found = recycled<cl_mem>(buffers, Key().add(context).add(flags).add(size), status, [&] {
    is_new = true;
    return make();
  });
  if (copies && !is_new && !write(context, found, size, host)) {
    buffers.forget(found);
    return make();
  }
  return found;
}
cl_int clRetainMemObject(cl_mem memory) {
  buffers.retained(memory);
  return NEXT(clRetainMemObject)(memory);
}
cl_int clReleaseMemObject(cl_mem memory) {
  return buffers.released(memory) ? CL_SUCCESS : NEXT(clReleaseMemObject)(memory);
}
cl_int clSetMemObjectDestructorCallback(cl_mem memory, void(CL_CALLBACK* notify)(cl_mem, void*), void* data) {
  buffers.forget(memory);
  return NEXT(clSetMemObjectDestructorCallback)(memory, notify, data);
}

void* clSVMAlloc(cl_context context, cl_svm_mem_flags flags, std::size_t size, cl_uint alignment) {
  return recycled<void*>(shared, Key().add(context).add(flags).add(size).add(alignment), nullptr,
                         [&] { return NEXT(clSVMAlloc)(context, flags, size, alignment); });
}
void clSVMFree(cl_context context, void* memory) {
  if (!shared.released(memory)) {
    NEXT(clSVMFree)(context, memory);
  }
}
cl_int clEnqueueSVMFree(cl_command_queue queue, cl_uint count, void** memory,
                        void(CL_CALLBACK* notify)(cl_command_queue, cl_uint, void*[], void*), void* data,
                        cl_uint event_count, const cl_event* events, cl_event* event) {
  for (cl_uint i = 0; memory != nullptr && i < count; ++i) {
    shared.forget(memory[i]);
  }
  return NEXT(clEnqueueSVMFree)(queue, count, memory, notify, data, event_count, events, event);
}

cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char** strings,
                                     const std::size_t* lengths, cl_int* status) {
  const auto make = [&] { return NEXT(clCreateProgramWithSource)(context, count, strings, lengths, status); };
  Key key;
  key.add(context);
  for (cl_uint i = 0; strings != nullptr && i < count; ++i) {
    if (strings[i] == nullptr) {
      return make();
    }
    const std::size_t length = lengths == nullptr || lengths[i] == 0 ? std::strlen(strings[i]) : lengths[i];
    key.add(strings[i], length);
  }
  return count == 0 ? make() : recycled<cl_program>(programs, key, status, make);
}
cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id* devices, const char* options,
                      void(CL_CALLBACK* notify)(cl_program, void*), void* data) {
  const std::string wanted = std::to_string(count) + (options == nullptr ? "" : options);
  {
    const std::lock_guard guard(built_mutex);
    if (const auto found = built.find(program); found != built.end() && found->second == wanted && notify == nullptr) {
      return CL_SUCCESS;
    }
    built.erase(program);
  }
  const cl_int status = NEXT(clBuildProgram)(program, count, devices, options, notify, data);
  if (status == CL_SUCCESS && notify == nullptr) {
    const std::lock_guard guard(built_mutex);
    built[program] = wanted;
  } else {
    programs.forget(program);
  }
  return status;
}
cl_int clCompileProgram(cl_program program, cl_uint count, const cl_device_id* devices, const char* options,
                        cl_uint headers, const cl_program* header_programs, const char** names,
                        void(CL_CALLBACK* notify)(cl_program, void*), void* data) {
  programs.forget(program);
  return NEXT(clCompileProgram)(program, count, devices, options, headers, header_programs, names, notify, data);
}
cl_int clRetainProgram(cl_program program) {
  programs.retained(program);
  return NEXT(clRetainProgram)(program);
}
cl_int clReleaseProgram(cl_program program) {
  return programs.released(program) ? CL_SUCCESS : NEXT(clReleaseProgram)(program);
}

cl_kernel clCreateKernel(cl_program program, const char* name, cl_int* status) {
  const auto make = [&] { return NEXT(clCreateKernel)(program, name, status); };
  bool is_built = false;
  {
    const std::lock_guard guard(built_mutex);
    is_built = built.contains(program);
  }
  return !is_built || name == nullptr
             ? make()
             : recycled<cl_kernel>(kernels, Key().add(program).add(name, std::strlen(name)), status, make);
}
cl_int clRetainKernel(cl_kernel kernel) {
  kernels.retained(kernel);
  return NEXT(clRetainKernel)(kernel);
}
cl_int clReleaseKernel(cl_kernel kernel) {
  return kernels.released(kernel) ? CL_SUCCESS : NEXT(clReleaseKernel)(kernel);
}
cl_int clSetKernelExecInfo(cl_kernel kernel, cl_kernel_exec_info what, std::size_t size, const void* value) {
  kernels.forget(kernel);
  return NEXT(clSetKernelExecInfo)(kernel, what, size, value);
}

cl_sampler clCreateSampler(cl_context context, cl_bool normalized, cl_addressing_mode addressing, cl_filter_mode filter,
                           cl_int* status) {
  return recycled<cl_sampler>(samplers, Key().add(context).add(normalized).add(addressing).add(filter), status,
                              [&] { return NEXT(clCreateSampler)(context, normalized, addressing, filter, status); });
}
cl_int clRetainSampler(cl_sampler sampler) {
  samplers.retained(sampler);
  return NEXT(clRetainSampler)(sampler);
}
cl_int clReleaseSampler(cl_sampler sampler) {
  return samplers.released(sampler) ? CL_SUCCESS : NEXT(clReleaseSampler)(sampler);
}

using Main = int (*)(int, char**, char**);
using StartMain = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);

static Main program_main = nullptr;

static int repeated(int count, char** arguments, char** environment) {
  const char* const wanted = std::getenv("CTS_REPEAT");
  const long times = wanted == nullptr ? 1 : std::max(1L, std::strtol(wanted, nullptr, 10));
  int status = 0;
  for (long i = 0; i < times; ++i) {
    std::vector<char*> again(arguments, arguments + count + 1);  // it may change them
    status = std::max(status, program_main(count, again.data(), environment));
  }
  return status;
}

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): the name that the C library has for it
int __libc_start_main(Main main, int count, char** arguments, void (*init)(), void (*fini)(), void (*rtld_fini)(),
                      void* stack_end) {
  program_main = main;
  return next<StartMain>("__libc_start_main")(repeated, count, arguments, init, fini, rtld_fini, stack_end);
}

}  // extern "C"
#pragma GCC visibility pop
