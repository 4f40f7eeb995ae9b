// Contexts and queues, and the host calls that name a queue.

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "env/log.h"
#include "env/mutex.h"
#include "layer/immortal.h"
#include "layer/opencl/enqueue.h"

namespace refrain::layer::opencl {
namespace {

struct DeviceEntry {
  cl_device_id device = nullptr;
  ObjectId id = 0;
  bool recorded = false;
};

struct QueueTables {
  env::Mutex mutex;  ///< also of ContextState::roles
  std::vector<DeviceEntry> devices REFRAIN_GUARDED_BY(mutex);
};
QueueTables& tables() noexcept {
  static Immortal<QueueTables> all;
  return *all;
}

void learn_devices(cl_context context, ContextState& record) noexcept {
  try {
    cl_uint count = 0;
    if (target.clGetContextInfo(context, CL_CONTEXT_NUM_DEVICES, sizeof(count), &count, nullptr) != CL_SUCCESS) {
      return;
    }
    record.devices.resize(count);
    if (target.clGetContextInfo(context, CL_CONTEXT_DEVICES, count * sizeof(cl_device_id),
                                static_cast<void*>(record.devices.data()), nullptr) != CL_SUCCESS) {
      record.devices.clear();
    }
    for (cl_device_id device : record.devices) {
      cl_uint bits = 0;
      if (target.clGetDeviceInfo(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(bits), &bits, nullptr) == CL_SUCCESS) {
        record.alignment = std::max<std::size_t>(record.alignment, bits / 8);
      }
    }
  } catch (...) {
    record.devices.clear();  // then nothing of the context is held
  }
}

cl_context register_context(cl_context context) noexcept {
  if (context == nullptr) {
    return context;
  }
  start_engine();
  ContextState* record = objects.contexts.make();
  if (record != nullptr) {
    record->begin();
    learn_devices(context, *record);
    if (!objects.contexts.insert(record, handle_of(context))) {
      objects.contexts.recycle(record);
    }
  }
  return context;
}

std::string text_of(cl_device_id device, cl_device_info name) {
  std::array<char, 512> text{};
  if (target.clGetDeviceInfo(device, name, text.size() - 1, text.data(), nullptr) != CL_SUCCESS) {
    return {};
  }
  return text.data();
}

void record_device(cl_device_id device, ObjectId id, const backends::Capabilities& capabilities) {
  capture::DeviceInfo info;
  info.id = id;
  info.api = "opencl";
  info.name = text_of(device, CL_DEVICE_NAME);
  info.driver = text_of(device, CL_DRIVER_VERSION);
  cl_platform_id platform = nullptr;
  std::array<char, 512> text{};
  if (target.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), static_cast<void*>(&platform), nullptr) ==
          CL_SUCCESS &&
      target.clGetPlatformInfo(platform, CL_PLATFORM_NAME, text.size() - 1, text.data(), nullptr) == CL_SUCCESS) {
    info.platform = text.data();
  }
  info.updates = capabilities.update_arguments;
  info.keeps_order = capabilities.keeps_order;
  if (capabilities.native) {
    const std::uint32_t version = capabilities.version;
    info.native = "cl_khr_command_buffer " + std::to_string(version >> 22U) + "." +
                  std::to_string((version >> 12U) & 0x3FFU) + "." + std::to_string(version & 0xFFFU);
  }
  state.recorder->define(info);
}

/// The lowest role no living queue of the context has: programs that make and release a queue for every
/// call get the same one each time.
std::uint32_t take_role(cl_context context) REFRAIN_REQUIRES(tables().mutex) {
  ContextState* known = objects.contexts.find(handle_of(context));
  if (known == nullptr) {
    return 0;
  }
  for (std::size_t role = 0; role < known->roles.size(); ++role) {
    if (!known->roles[role]) {
      known->roles[role] = true;
      return static_cast<std::uint32_t>(role);
    }
  }
  known->roles.push_back(true);
  return static_cast<std::uint32_t>(known->roles.size() - 1);
}

DeviceEntry& device_entry(cl_device_id device) REFRAIN_REQUIRES(tables().mutex) {
  for (DeviceEntry& entry : tables().devices) {
    if (entry.device == device) {
      return entry;
    }
  }
  tables().devices.push_back({device, next_object_id(), false});
  return tables().devices.back();
}

/// The smallest well-formed record of a kind: what can be recorded depends on the kind.
const char* why_not(OperationKind kind, const capture::QueueInfo& queue) {
  capture::RecordBytes storage;
  capture::OperationWriter writer(storage);
  writer.begin(kind, 0);
  if (kind == OperationKind::kKernel) {
    writer.words(capture::words::Kernel{.dimensions = 1, .offset = {}, .global = {1, 1, 1}, .local = {1, 1, 1}});
  } else {
    for (int i = 0; i < capture::word_count_of(kind); ++i) {
      writer.word(0);
    }
  }
  writer.finish();
  const backends::Recordable answer = state.backend->can_record(capture::OperationView(storage.data()), queue);
  return answer.ok ? nullptr : answer.why;
}

void fill_capabilities(QueueState& record) {
  replay::QueueSlot& slot = record.slot;
  if (record.on_device) {
    record.unholdable = "it is a queue on the device";
  } else if (!slot.capabilities.native) {
    record.unholdable = slot.capabilities.why_not;
  } else if (!slot.info.in_order && !slot.capabilities.out_of_order) {
    record.unholdable = "the device has no command buffers for out-of-order queues";
  }
  if (slot.capabilities.update_sizes) {
    state.resizes.store(true, std::memory_order_relaxed);
  }
  if (record.unholdable == nullptr) {
    for (std::uint16_t kind = 1; kind < capture::kOperationKindCount; ++kind) {
      record.cannot_record[kind] = why_not(static_cast<OperationKind>(kind), slot.info);
    }
    record.cannot_record[static_cast<std::size_t>(OperationKind::kFlush)] = nullptr;  // nothing to record
  }
}

cl_command_queue register_queue(cl_command_queue queue, cl_context context, cl_device_id device,
                                cl_command_queue_properties properties) noexcept {
  replay::Engine* running = engine();
  if (queue == nullptr || running == nullptr) {
    return queue;
  }
  QueueState* record = objects.queues.make();
  if (record == nullptr) {
    return queue;  // its submissions pass through
  }
  try {
    record->begin();
    record->context = context;
    record->on_device = (properties & CL_QUEUE_ON_DEVICE) != 0;
    capture::QueueInfo& info = record->slot.info;
    info.id = record->id;
    info.handle = handle_of(queue);
    info.in_order = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
    info.profiling = (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
    const ContextState* owner = objects.contexts.find(handle_of(context));
    info.context = owner != nullptr ? owner->id : 0;
    record->device_bit = owner != nullptr ? owner->bit_of(device) : 0;
    bool is_new = false;
    std::uint64_t device_number = 0;  // the same in every run
    {
      const env::MutexLock guard(tables().mutex);
      info.role = take_role(context);
      DeviceEntry& entry = device_entry(device);
      device_number = static_cast<std::uint64_t>(&entry - tables().devices.data()) + 1;
      info.device = entry.id;
      is_new = state.recorder != nullptr && !entry.recorded;
      entry.recorded = entry.recorded || is_new;
    }
    record->token_seed = mix(mix(info.role, device_number), (info.in_order ? 1U : 0U) | (info.profiling ? 2U : 0U));
    if (record->on_device) {
      state.device_queues.store(true, std::memory_order_relaxed);
    }
    running->adopt_queue(record->slot);
    fill_capabilities(*record);
    if (is_new) {
      record_device(device, info.device, record->slot.capabilities);
    }
    if (objects.queues.insert(record, handle_of(queue))) {
      return queue;
    }
  } catch (...) {
    env::log_warning("out of memory for a queue; its submissions pass through");
  }
  objects.queues.recycle(record);
  return queue;
}

void give_role_back(const QueueState& queue) noexcept {
  const env::MutexLock guard(tables().mutex);
  ContextState* known = objects.contexts.find(handle_of(queue.context));
  if (known != nullptr && queue.slot.info.role < known->roles.size()) {
    known->roles[queue.slot.info.role] = false;
  }
}

/// For calls that look at one queue, of what other threads hold. Null: it is not known.
auto observed(QueueState* queue) noexcept {
  return [queue](replay::Engine& running) {
    queue != nullptr ? running.flush_holder(queue->slot) : running.flush_others();
  };
}

}  // namespace

cl_context wrap::clCreateContext(const cl_context_properties* properties, cl_uint count, const cl_device_id* devices,
                                 void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*), void* user,
                                 cl_int* error) noexcept {
  return register_context(target.clCreateContext(properties, count, devices, notify, user, error));
}

cl_context wrap::clCreateContextFromType(const cl_context_properties* properties, cl_device_type type,
                                         void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*), void* user,
                                         cl_int* error) noexcept {
  return register_context(target.clCreateContextFromType(properties, type, notify, user, error));
}

cl_int wrap::clRetainContext(cl_context context) noexcept {
  const cl_int status = target.clRetainContext(context);
  if (status == CL_SUCCESS) {
    retained(objects.contexts, handle_of(context));
  }
  return status;
}

cl_int wrap::clReleaseContext(cl_context context) noexcept {
  // The context lives on while it has queues or buffers; its record goes with the application's last
  // reference, as the driver may reuse the handle at any time from then on.
  ContextState* known = objects.contexts.find(handle_of(context));
  if (known != nullptr && known->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    const env::MutexLock guard(tables().mutex);
    objects.contexts.erase(known);
    objects.contexts.recycle(known);
  }
  return target.clReleaseContext(context);
}

cl_command_queue wrap::clCreateCommandQueue(cl_context context, cl_device_id device,
                                            cl_command_queue_properties properties, cl_int* error) noexcept {
  return register_queue(target.clCreateCommandQueue(context, device, properties, error), context, device, properties);
}

cl_command_queue wrap::clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
                                                          const cl_queue_properties* properties,
                                                          cl_int* error) noexcept {
  cl_command_queue queue = target.clCreateCommandQueueWithProperties(context, device, properties, error);
  cl_command_queue_properties bits = 0;
  for (const cl_queue_properties* entry = properties; entry != nullptr && *entry != 0; entry += 2) {
    if (*entry == CL_QUEUE_PROPERTIES) {
      bits = entry[1];
    }
  }
  return register_queue(queue, context, device, bits);
}

cl_int wrap::clRetainCommandQueue(cl_command_queue queue) noexcept {
  const cl_int status = target.clRetainCommandQueue(queue);
  if (status == CL_SUCCESS) {
    retained(objects.queues, handle_of(queue));
  }
  return status;
}

cl_int wrap::clReleaseCommandQueue(cl_command_queue queue) noexcept {
  QueueState* known = objects.queues.find(handle_of(queue));
  if (known == nullptr || known->references.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return target.clReleaseCommandQueue(queue);
  }
  HostCall host_call(entry::clReleaseCommandQueue, &common::flush_no_other);
  if (replay::Engine* running = engine_with_threads(); running != nullptr) {
    running->queue_gone(known->slot);
    signal_promises();
  }
  give_role_back(*known);
  objects.queues.erase(known);
  objects.queues.recycle(known);
  return host_call.done(target.clReleaseCommandQueue(queue), false);
}

cl_int wrap::clSetCommandQueueProperty(cl_command_queue queue, cl_command_queue_properties properties, cl_bool enable,
                                       cl_command_queue_properties* old) noexcept {
  QueueState* known = objects.queues.find(handle_of(queue));
  HostCall host_call(entry::clSetCommandQueueProperty, observed(known));
  if (known != nullptr) {
    known->unholdable = "the queue's properties were changed by clSetCommandQueueProperty";
  }
  return host_call.done(target.clSetCommandQueueProperty(queue, properties, enable, old), false);
}

cl_int wrap::clFlush(cl_command_queue queue) noexcept {
  if (QueueState* known = objects.queues.find(handle_of(queue)); known != nullptr) {
    // Of this and a registration that another thread makes, one sees the other: see events.cpp.
    known->flushes.fetch_add(1, std::memory_order_seq_cst);
    if (known->watched.load(std::memory_order_seq_cst)) {
      known->watched.store(false, std::memory_order_relaxed);
      HostCall host_call(entry::clFlush, observed(known));
      return host_call.done(target.clFlush(queue), false);
    }
  }
  const Call call{entry::clFlush, OperationKind::kFlush, static_cast<Token>(OperationKind::kFlush)};
  return enqueue(
      call, queue, 0, nullptr, nullptr,
      [](capture::OperationWriter& writer, Token token) { writer.begin(OperationKind::kFlush, token); },
      [&](const cl_event*, cl_event*) { return target.clFlush(queue); }, &no_doubt);
}

cl_int wrap::clFinish(cl_command_queue queue) {
  HostCall host_call(entry::clFinish, observed(objects.queues.find(handle_of(queue))));
  return host_call.done(target.clFinish(queue), true);
}

}  // namespace refrain::layer::opencl
