#include "test/backends/fake_driver.h"

namespace refrain::test {
namespace {

FakeDriver& fake() {
  return *FakeDriver::current;
}

template <typename T>
cl_int answer(const T& value, std::size_t size, void* into, std::size_t* needed) {
  if (needed != nullptr) {
    *needed = sizeof(T);
  }
  if (into != nullptr) {
    if (size < sizeof(T)) {
      return CL_INVALID_VALUE;
    }
    std::memcpy(into, &value, sizeof(T));
  }
  return CL_SUCCESS;
}

cl_int answer_bytes(const void* bytes, std::size_t count, std::size_t size, void* into, std::size_t* needed) {
  if (needed != nullptr) {
    *needed = count;
  }
  if (into != nullptr) {
    if (size < count) {
      return CL_INVALID_VALUE;
    }
    std::memcpy(into, bytes, count);
  }
  return CL_SUCCESS;
}

cl_int CL_API_CALL get_device_info(cl_device_id, cl_device_info what, std::size_t size, void* into,
                                   std::size_t* needed) {
  FakeDriver& f = fake();
  const std::string names = std::string(f.has_extension ? "cl_other cl_khr_command_buffer" : "cl_other") +
                            (f.mutable_version != 0 ? " cl_khr_command_buffer_mutable_dispatch" : "");
  switch (what) {
    case CL_DEVICE_EXTENSIONS: return answer_bytes(names.c_str(), names.size() + 1, size, into, needed);
    case CL_DEVICE_EXTENSIONS_WITH_VERSION: {
      if (!f.tells_versions) {
        return CL_INVALID_VALUE;
      }
      std::vector<cl_name_version> list(3);
      list[0].version = make_version(1, 0, 0);
      std::strcpy(list[0].name, "cl_other");
      list[1].version = f.version;
      std::strcpy(list[1].name, "cl_khr_command_buffer");
      list[2].version = f.mutable_version;
      std::strcpy(list[2].name, "cl_khr_command_buffer_mutable_dispatch");
      return answer_bytes(list.data(), list.size() * sizeof(list[0]), size, into, needed);
    }
    case CL_DEVICE_PLATFORM: return answer(reinterpret_cast<cl_platform_id>(0x77), size, into, needed);
    case 0x12A9: return answer(f.capabilities, size, into, needed);
    case 0x12AA: return answer(f.required_queue, size, into, needed);
    case 0x129A:
      return f.version >= make_version(0, 9, 6) ? answer(f.supported_queue, size, into, needed) : CL_INVALID_VALUE;
    case 0x12B0: return answer(f.updatable, size, into, needed);
    default: return CL_INVALID_VALUE;
  }
}

cl_int CL_API_CALL get_platform_info(cl_platform_id, cl_platform_info, std::size_t size, void* into,
                                     std::size_t* needed) {
  return answer_bytes("Fake", 5, size, into, needed);
}

cl_int CL_API_CALL get_queue_info(cl_command_queue, cl_command_queue_info what, std::size_t size, void* into,
                                  std::size_t* needed) {
  switch (what) {
    case CL_QUEUE_DEVICE: return answer(reinterpret_cast<cl_device_id>(0x88), size, into, needed);
    case CL_QUEUE_CONTEXT: return answer(reinterpret_cast<cl_context>(0x99), size, into, needed);
    case CL_QUEUE_PROPERTIES: return answer(fake().queue_properties, size, into, needed);
    default: return CL_INVALID_VALUE;
  }
}

cl_int CL_API_CALL get_kernel_info(cl_kernel, cl_kernel_info what, std::size_t size, void* into, std::size_t* needed) {
  return what == CL_KERNEL_PROGRAM ? answer(reinterpret_cast<cl_program>(0x66), size, into, needed)
                                   : answer_bytes("name", 5, size, into, needed);
}

cl_kernel CL_API_CALL create_kernel(cl_program, const char*, cl_int* error) {
  *error = CL_SUCCESS;
  return fake().object<cl_kernel>();
}

cl_int CL_API_CALL get_event_info(cl_event, cl_event_info, std::size_t size, void* into, std::size_t* needed) {
  return answer(static_cast<cl_int>(fake().events_complete ? CL_COMPLETE : CL_RUNNING), size, into, needed);
}

// --- the extension -----------------------------------------------------------------------------------

CommandBufferHandle CL_API_CALL create_buffer(cl_uint count, const cl_command_queue*, const cl_ulong* properties,
                                              cl_int* error) {
  *error = count == 1 ? CL_SUCCESS : CL_INVALID_VALUE;
  std::ostringstream text;
  for (; properties != nullptr && *properties != 0; properties += 2) {
    text << std::hex << properties[0] << "=" << properties[1];
  }
  fake().create_flags = text.str();
  return fake().object<CommandBufferHandle>();
}
cl_int CL_API_CALL finalize(CommandBufferHandle) {
  ++fake().finalized;
  return fake().finalized > 1 && fake().version >= make_version(0, 9, 1) ? CL_INVALID_OPERATION : CL_SUCCESS;
}
cl_int CL_API_CALL release_buffer(CommandBufferHandle buffer) {
  return fake().release(buffer);
}
cl_int CL_API_CALL enqueue(cl_uint queues, cl_command_queue* list, CommandBufferHandle, cl_uint count,
                           const cl_event* waits, cl_event* event) {
  if (queues != 0 || list != nullptr || (count == 0) != (waits == nullptr)) {
    return CL_INVALID_VALUE;
  }
  *event = fake().object<cl_event>();
  return CL_SUCCESS;
}

#define ORDER cl_uint count, const SyncPoint *waits, SyncPoint *made, MutableCommand *handle
#define PASS count, waits, made, handle

std::string handle_text(const void* handle) {
  return std::to_string(reinterpret_cast<std::uintptr_t>(handle));
}

// Each command in both forms: without and with the properties that 0.9.5 added.
template <typename... A>
struct Forms {
  template <std::string (*Text)(A...)>
  static cl_int CL_API_CALL plain(CommandBufferHandle, cl_command_queue queue, A... a, ORDER) {
    return queue != nullptr ? CL_INVALID_COMMAND_QUEUE : fake().command(Text(a...), nullptr, PASS);
  }
  template <std::string (*Text)(A...)>
  static cl_int CL_API_CALL with_properties(CommandBufferHandle, cl_command_queue queue, const cl_ulong* properties,
                                            A... a, ORDER) {
    return queue != nullptr ? CL_INVALID_COMMAND_QUEUE : fake().command(Text(a...), properties, PASS);
  }
};

template <typename... A>
std::string join(const char* name, A... parts) {
  std::string text = name;
  ((text += " ", text += parts), ...);
  return text;
}
std::string n(std::size_t number) {
  return std::to_string(number);
}
std::string three(const std::size_t* list) {
  return FakeDriver::numbers(list, 3);
}

using Size = std::size_t;
using Sizes = const std::size_t*;
std::string barrier_text() {
  return "barrier";
}
std::string copy_text(cl_mem a, cl_mem b, Size x, Size y, Size size) {
  return join("copy", handle_text(a), handle_text(b), n(x), n(y), n(size));
}
std::string rect_text(cl_mem a, cl_mem b, Sizes x, Sizes y, Sizes region, Size p, Size q, Size r, Size s) {
  return join("rect", handle_text(a), handle_text(b), three(x), three(y), three(region), n(p), n(q), n(r), n(s));
}
std::string fill_text(cl_mem a, const void* pattern, Size pattern_size, Size offset, Size size) {
  return join("fill", handle_text(a), std::string(static_cast<const char*>(pattern), pattern_size), n(offset), n(size));
}
std::string image_text(cl_mem a, cl_mem b, Sizes x, Sizes y, Sizes region) {
  return join("image", handle_text(a), handle_text(b), three(x), three(y), three(region));
}
std::string fill_image_text(cl_mem a, const void* colour, Sizes origin, Sizes region) {
  return join("fill image", handle_text(a), std::string(static_cast<const char*>(colour), 16), three(origin),
              three(region));
}
std::string to_image_text(cl_mem a, cl_mem b, Size offset, Sizes origin, Sizes region) {
  return join("to image", handle_text(a), handle_text(b), n(offset), three(origin), three(region));
}
std::string from_image_text(cl_mem a, cl_mem b, Sizes origin, Sizes region, Size offset) {
  return join("from image", handle_text(a), handle_text(b), three(origin), three(region), n(offset));
}
std::string svm_copy_text(void* a, const void* b, Size size) {
  return join("svm copy", handle_text(a), handle_text(b), n(size));
}
std::string svm_fill_text(void* a, const void* pattern, Size pattern_size, Size size) {
  return join("svm fill", handle_text(a), std::string(static_cast<const char*>(pattern), pattern_size), n(size));
}
std::string kernel_text(cl_kernel, cl_uint dimensions, Sizes offset, Sizes global, Sizes local) {
  return join("kernel", n(dimensions), three(offset), three(global), three(local));
}

template <typename... A>
void* choose(std::string (*)(A...), cl_int(CL_API_CALL* plain)(CommandBufferHandle, cl_command_queue, A..., ORDER),
             cl_int(CL_API_CALL* properties)(CommandBufferHandle, cl_command_queue, const cl_ulong*, A..., ORDER)) {
  return fake().version >= make_version(0, 9, 5) ? reinterpret_cast<void*>(properties) : reinterpret_cast<void*>(plain);
}
#define FORMS(text, ...) choose(&text, &Forms<__VA_ARGS__>::plain<text>, &Forms<__VA_ARGS__>::with_properties<text>)

template <typename Config>
void note_update(const Config& c) {
  std::ostringstream text;
  text << reinterpret_cast<std::uintptr_t>(c.command) << " dims " << c.dimensions;
  for (cl_uint i = 0; i < c.arguments; ++i) {
    text << " arg " << c.list[i].index << ":" << c.list[i].size << (c.list[i].value == nullptr ? "null" : "");
    if (c.list[i].value != nullptr && c.list[i].size == 4) {
      std::uint32_t word = 0;
      std::memcpy(&word, c.list[i].value, 4);
      text << "=" << word;
    }
  }
  for (cl_uint i = 0; i < c.svm_arguments; ++i) {
    text << " svm " << c.svm_list[i].index << "=" << reinterpret_cast<std::uintptr_t>(c.svm_list[i].value);
  }
  text << (c.exec_infos != 0 || c.exec_list != nullptr ? " exec" : "");
  if (c.global != nullptr) {
    text << " global " << FakeDriver::numbers(c.global, c.dimensions);
  }
  if (c.local != nullptr) {
    text << " local " << FakeDriver::numbers(c.local, c.dimensions);
  }
  if (c.offset != nullptr) {
    text << " offset " << FakeDriver::numbers(c.offset, c.dimensions);
  }
  fake().updates.push_back(text.str());
}

cl_int CL_API_CALL update_list(CommandBufferHandle, const FakeOldBase* base) {
  if (base->type != 0 || base->next != nullptr) {
    return CL_INVALID_VALUE;
  }
  if (fake().update_status == CL_SUCCESS) {
    for (cl_uint i = 0; i < base->count; ++i) {
      if (base->list[i].type != 1 || base->list[i].next != nullptr) {
        return CL_INVALID_VALUE;
      }
      note_update(base->list[i]);
    }
  }
  return fake().update_status;
}

cl_int CL_API_CALL update_array(CommandBufferHandle, cl_uint count, const cl_uint* types, const void** configs) {
  if (fake().update_status == CL_SUCCESS) {
    for (cl_uint i = 0; i < count; ++i) {
      if (types[i] != 0) {
        return CL_INVALID_VALUE;
      }
      note_update(*static_cast<const FakeConfig*>(configs[i]));
    }
  }
  return fake().update_status;
}

void* CL_API_CALL find_function(cl_platform_id platform, const char* function) {
  const std::string name = function;
  if (platform != reinterpret_cast<cl_platform_id>(0x77) || name == fake().missing_function) {
    return nullptr;
  }
  const std::map<std::string, void*> all = {
      {"clCreateCommandBufferKHR", reinterpret_cast<void*>(&create_buffer)},
      {"clFinalizeCommandBufferKHR", reinterpret_cast<void*>(&finalize)},
      {"clReleaseCommandBufferKHR", reinterpret_cast<void*>(&release_buffer)},
      {"clEnqueueCommandBufferKHR", reinterpret_cast<void*>(&enqueue)},
      {"clCommandBarrierWithWaitListKHR", FORMS(barrier_text)},
      {"clCommandNDRangeKernelKHR",
       reinterpret_cast<void*>(&Forms<cl_kernel, cl_uint, Sizes, Sizes, Sizes>::with_properties<kernel_text>)},
      {"clCommandCopyBufferKHR", FORMS(copy_text, cl_mem, cl_mem, Size, Size, Size)},
      {"clCommandCopyBufferRectKHR", FORMS(rect_text, cl_mem, cl_mem, Sizes, Sizes, Sizes, Size, Size, Size, Size)},
      {"clCommandFillBufferKHR", FORMS(fill_text, cl_mem, const void*, Size, Size, Size)},
      {"clCommandCopyImageKHR", FORMS(image_text, cl_mem, cl_mem, Sizes, Sizes, Sizes)},
      {"clCommandFillImageKHR", FORMS(fill_image_text, cl_mem, const void*, Sizes, Sizes)},
      {"clCommandCopyBufferToImageKHR", FORMS(to_image_text, cl_mem, cl_mem, Size, Sizes, Sizes)},
      {"clCommandCopyImageToBufferKHR", FORMS(from_image_text, cl_mem, cl_mem, Sizes, Sizes, Size)},
      {"clCommandSVMMemcpyKHR", FORMS(svm_copy_text, void*, const void*, Size)},
      {"clCommandSVMMemFillKHR", FORMS(svm_fill_text, void*, const void*, Size, Size)},
      {"clUpdateMutableCommandsKHR", fake().mutable_version >= make_version(0, 9, 2)
                                         ? reinterpret_cast<void*>(&update_array)
                                         : reinterpret_cast<void*>(&update_list)},
  };
  const auto found = all.find(name);
  return found != all.end() ? found->second : nullptr;
}

}  // namespace

FakeDriver::FakeDriver() {
  current = this;
  dispatch.clGetDeviceInfo = &get_device_info;
  dispatch.clGetPlatformInfo = &get_platform_info;
  dispatch.clGetCommandQueueInfo = &get_queue_info;
  dispatch.clGetKernelInfo = &get_kernel_info;
  dispatch.clCreateKernel = &create_kernel;
  dispatch.clGetEventInfo = &get_event_info;
  dispatch.clGetExtensionFunctionAddressForPlatform = &find_function;
  dispatch.clRetainCommandQueue = [](cl_command_queue queue) { return fake().retain(queue); };
  dispatch.clReleaseCommandQueue = [](cl_command_queue queue) { return fake().release(queue); };
  dispatch.clRetainMemObject = [](cl_mem memory) { return fake().retain(memory); };
  dispatch.clReleaseMemObject = [](cl_mem memory) { return fake().release(memory); };
  dispatch.clRetainSampler = [](cl_sampler sampler) { return fake().retain(sampler); };
  dispatch.clReleaseSampler = [](cl_sampler sampler) { return fake().release(sampler); };
  dispatch.clRetainKernel = [](cl_kernel kernel) { return fake().retain(kernel); };
  dispatch.clReleaseKernel = [](cl_kernel kernel) { return fake().release(kernel); };
  dispatch.clRetainEvent = [](cl_event event) { return fake().retain(event); };
  dispatch.clReleaseEvent = [](cl_event event) { return fake().release(event); };
  dispatch.clSetKernelArg = [](cl_kernel, cl_uint, std::size_t, const void*) { return CL_SUCCESS; };
  dispatch.clSetKernelArgSVMPointer = [](cl_kernel, cl_uint, const void*) { return CL_SUCCESS; };
}

}  // namespace refrain::test
