#include "backends/opencl/opencl_command_buffer.h"

#include <algorithm>
#include <cstring>

#include "backends/opencl/record_view.h"
#include "backends/shape.h"

namespace refrain::backends::opencl {
namespace {

using capture::ArgumentDescriptor;
using capture::ArgumentKind;
using capture::NodeIndex;
using capture::OperationKind;
using capture::OperationView;
namespace words = capture::words;

constexpr std::uint32_t kOrderedEnqueue = make_version(0, 9, 8);

/// What the update changes.
std::uint64_t fields_of(const LaunchUpdate& update) {
  return (update.arguments.empty() && update.pointers.empty() ? 0 : kUpdateArguments) |
         (update.offset == nullptr ? 0 : kUpdateOffset) | (update.global == nullptr ? 0 : kUpdateGlobalSize) |
         (update.local == nullptr ? 0 : kUpdateLocalSize);
}

/// A migration is advice, which need not be followed: its place in the order is what counts.
bool needs_no_command(OperationKind kind) {
  return kind == OperationKind::kMarker || kind == OperationKind::kBarrier || kind == OperationKind::kFlush ||
         kind == OperationKind::kMigrate || kind == OperationKind::kPointerMigrate;
}

}  // namespace

const char* why_not_recordable(const DeviceFacts& facts, const OperationView& operation) noexcept {
  if (operation.has(capture::kBlocking)) {
    return "the call waits for its own completion";
  }
  const auto has_argument = [&](ArgumentKind kind) {
    return std::ranges::any_of(operation.arguments(),
                               [&](const ArgumentDescriptor& argument) { return argument.kind == kind; });
  };
  switch (operation.kind()) {
    case OperationKind::kKernel:
      if (facts.samplers_broken && has_argument(ArgumentKind::kSampler)) {
        return "this driver's command buffers corrupt memory with sampler arguments";
      }
      return has_argument(ArgumentKind::kOtherHandle) ? "the kernel takes a queue or pipe" : nullptr;
    case OperationKind::kCopyBuffer:
    case OperationKind::kCopyBufferRect:
    case OperationKind::kFillBuffer:
    case OperationKind::kCopyImage:
    case OperationKind::kFillImage:
    case OperationKind::kCopyBufferToImage:
    case OperationKind::kCopyImageToBuffer:
    case OperationKind::kMarker:
    case OperationKind::kBarrier:
    case OperationKind::kFlush: return nullptr;
    // What is left out comes to the device when it is used there, which counts as time of the command buffer. What the
    // host reads it reads later, and nobody measures that.
    case OperationKind::kMigrate:
    case OperationKind::kPointerMigrate:
      return !operation.words().empty() && (operation.words()[0] & CL_MIGRATE_MEM_OBJECT_HOST) != 0
                 ? "memory is fetched to the host between command buffers"
                 : nullptr;
    case OperationKind::kPointerCopy:
    case OperationKind::kPointerFill:
      if (!facts.api.has_svm()) {
        return "the device's command buffers have no copies and fills of shared virtual memory";
      }
      return has_argument(ArgumentKind::kHostPointer) ? "it copies from or to the program's own memory" : nullptr;
    case OperationKind::kReadBuffer:
    case OperationKind::kReadBufferRect:
    case OperationKind::kReadImage: return "OpenCL command buffers cannot read into host memory";
    case OperationKind::kWriteBuffer:
    case OperationKind::kWriteBufferRect:
    case OperationKind::kWriteImage: return "OpenCL command buffers cannot write from host memory";
    case OperationKind::kMap:
    case OperationKind::kPointerMap:
    case OperationKind::kUnmap:
    case OperationKind::kPointerUnmap: return "OpenCL command buffers cannot map and unmap";
    case OperationKind::kPointerFree: return "OpenCL command buffers cannot free memory";
    case OperationKind::kHostFunction: return "OpenCL command buffers cannot call host functions";
    case OperationKind::kCommandBuffer: return "it is a command buffer of the application's own";
    default: return "OpenCL command buffers have no such command";
  }
}

OpenClCommandBuffer::OpenClCommandBuffer(OpenClBackend& backend, const DeviceFacts& facts,
                                         const capture::QueueInfo& queue)
    : backend_(backend), driver_(backend.driver()), facts_(facts), in_order_(queue.in_order) {
  objects_.facts = &facts;
  const auto handle = reinterpret_cast<cl_command_queue>(queue.handle);
  if (driver_.clRetainCommandQueue(handle) == CL_SUCCESS) {
    objects_.queue = handle;
  }
}

OpenClCommandBuffer::~OpenClCommandBuffer() {
  for (auto& [node, launch] : launches_) {
    release_when_done(std::move(launch.objects));
  }
  backend_.release_later(std::move(objects_), std::move(running_));
}

void OpenClCommandBuffer::release_when_done(OpenClBackend::Objects objects) {
  if (busy()) {
    for (const cl_event event : running_) {
      (void)driver_.clRetainEvent(event);
    }
    backend_.release_later(std::move(objects), running_);
  } else {
    backend_.release_later(std::move(objects), {});
  }
}

cl_int OpenClCommandBuffer::retain_arguments(const OperationView& operation, OpenClBackend::Objects& objects) const {
  const auto arguments = operation.arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const capture::Handle handle = operation.handle_of(i);
    cl_int status = CL_SUCCESS;
    if (arguments[i].kind == ArgumentKind::kBuffer || arguments[i].kind == ArgumentKind::kImage) {
      const auto memory = reinterpret_cast<cl_mem>(handle);
      if (memory == nullptr) {  // kernels may be given none
        continue;
      }
      objects.memory.push_back(memory);
      status = driver_.clRetainMemObject(memory);
      if (status != CL_SUCCESS) {
        objects.memory.pop_back();
      }
    } else if (arguments[i].kind == ArgumentKind::kSampler) {
      const auto sampler = reinterpret_cast<cl_sampler>(handle);
      objects.samplers.push_back(sampler);
      status = driver_.clRetainSampler(sampler);
      if (status != CL_SUCCESS) {
        objects.samplers.pop_back();
      }
    }
    if (status != CL_SUCCESS) {
      return status;
    }
  }
  return CL_SUCCESS;
}

cl_int OpenClCommandBuffer::add_kernel(const OperationView& operation, NodeIndex node, const CommandOrder& order) {
  cl_int status = CL_SUCCESS;
  const auto model = reinterpret_cast<cl_kernel>(operation.header().function_handle);
  cl_kernel kernel = PrivateKernel::create(driver_, model, &status);
  if (kernel == nullptr) {
    return status;
  }
  // PoCL 3.1 reads the arguments from the kernel object at every enqueue: the object belongs to this node.
  (void)driver_.clRetainKernel(kernel);
  PrivateKernel filled(driver_, kernel);
  objects_.kernels.push_back(kernel);
  status = filled.set_arguments(operation);
  if (status != CL_SUCCESS) {
    return status;
  }
  const auto& shape = operation.as<words::Kernel>();
  MutableCommand command = nullptr;
  status =
      facts_.api.kernel(objects_.buffer, kernel, static_cast<cl_uint>(shape.dimensions), shape.offset.data(),
                        shape.global.data(), local_size(shape), order, facts_.updates, mutable_ ? &command : nullptr);
  if (status == CL_SUCCESS && command != nullptr) {
    const auto bytes = operation.bytes();
    Launch& launch = launches_[node];
    launch.command = command;
    launch.record.assign(bytes.begin(), bytes.end());
  }
  return status;
}

cl_int OpenClCommandBuffer::add(const OperationView& operation, NodeIndex node, const CommandOrder& order) {
  const RecordView r(operation);
  const CommandBufferApi& api = facts_.api;
  CommandBufferHandle buffer = objects_.buffer;
  switch (operation.kind()) {
    case OperationKind::kKernel: return add_kernel(operation, node, order);
    case OperationKind::kCopyBuffer: {
      const auto& n = operation.as<words::CopyBuffer>();
      return api.copy_buffer(buffer, r.memory(0), r.memory(1), n.from_offset, n.to_offset, n.bytes, order);
    }
    case OperationKind::kCopyBufferRect: {
      const auto& n = operation.as<words::CopyBufferRect>();
      return api.copy_buffer_rect(buffer, r.memory(0), r.memory(1), n.from_origin.data(), n.to_origin.data(),
                                  n.region.data(), n.from_row_pitch, n.from_slice_pitch, n.to_row_pitch,
                                  n.to_slice_pitch, order);
    }
    case OperationKind::kFillBuffer: {
      const auto& n = operation.as<words::FillBuffer>();
      return api.fill_buffer(buffer, r.memory(0), r.bytes(1), r.size(1), n.offset, n.bytes, order);
    }
    case OperationKind::kCopyImage: {
      const auto& n = operation.as<words::CopyImage>();
      return api.copy_image(buffer, r.memory(0), r.memory(1), n.from_origin.data(), n.to_origin.data(), n.region.data(),
                            order);
    }
    case OperationKind::kFillImage: {
      const auto& n = operation.as<words::FillImage>();
      return api.fill_image(buffer, r.memory(0), r.bytes(1), n.origin.data(), n.region.data(), order);
    }
    case OperationKind::kCopyBufferToImage: {
      const auto& n = operation.as<words::CopyBufferToImage>();
      return api.copy_buffer_to_image(buffer, r.memory(0), r.memory(1), n.from_offset, n.to_origin.data(),
                                      n.region.data(), order);
    }
    case OperationKind::kCopyImageToBuffer: {
      const auto& n = operation.as<words::CopyImageToBuffer>();
      return api.copy_image_to_buffer(buffer, r.memory(0), r.memory(1), n.from_origin.data(), n.region.data(),
                                      n.to_offset, order);
    }
    case OperationKind::kPointerCopy:
      return api.svm_copy(buffer, r.pointer(0), r.pointer(1), operation.as<words::PointerCopy>().bytes, order);
    case OperationKind::kPointerFill:
      return api.svm_fill(buffer, r.pointer(0), r.bytes(1), r.size(1), operation.as<words::PointerFill>().bytes, order);
    default: return CL_INVALID_OPERATION;
  }
}

cl_int OpenClCommandBuffer::record(const capture::Graph& graph, std::span<const NodeIndex> nodes) {
  if (objects_.queue == nullptr) {
    return CL_INVALID_COMMAND_QUEUE;
  }
  cl_int status = CL_SUCCESS;
  flag_simultaneous_ = facts_.simultaneous_use;
  mutable_ = facts_.updates != 0;
  objects_.buffer = facts_.api.create(
      objects_.queue, (flag_simultaneous_ ? kFlagSimultaneousUse : 0) | (mutable_ ? kFlagMutable : 0), &status);
  if (objects_.buffer == nullptr) {
    return status != CL_SUCCESS ? status : CL_OUT_OF_RESOURCES;
  }
  // Out-of-order queues: the sync points whoever comes after a node has to wait for. A node without a
  // command of its own hands on those of its predecessors.
  std::unordered_map<NodeIndex, std::vector<SyncPoint>> behind;
  std::vector<SyncPoint> after;
  for (const NodeIndex node : nodes) {
    const OperationView operation = graph.operation(node);
    if (!arguments_fit(operation)) {
      return CL_INVALID_VALUE;
    }
    const bool updatable = mutable_ && operation.kind() == OperationKind::kKernel;
    status = retain_arguments(operation, updatable ? launches_[node].objects : objects_);
    if (status != CL_SUCCESS) {
      return status;
    }
    const bool silent = needs_no_command(operation.kind());
    if (in_order_) {
      if (!silent) {
        status = add(operation, node, {});
        ++commands_;
      }
    } else {
      after.clear();
      for (const NodeIndex before : graph.predecessors(node)) {
        if (const auto found = behind.find(before); found != behind.end()) {
          after.insert(after.end(), found->second.begin(), found->second.end());
        }
      }
      std::ranges::sort(after);
      after.erase(std::unique(after.begin(), after.end()), after.end());
      if (silent && after.size() < 2) {
        behind[node] = after;
      } else {
        SyncPoint made = 0;
        const CommandOrder order{after, &made};
        status = silent ? facts_.api.barrier(objects_.buffer, order) : add(operation, node, order);
        ++commands_;
        behind[node] = {made};
      }
    }
    backend_.graph_maker().goes_on();
    if (status != CL_SUCCESS) {
      return status;
    }
  }
  return facts_.api.finalize(objects_.buffer);
}

bool OpenClCommandBuffer::is_complete(cl_event event) const noexcept {
  cl_int state = CL_QUEUED;
  const cl_int status =
      driver_.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state, nullptr);
  return status != CL_SUCCESS || state <= CL_COMPLETE;  // negative: ended with an error
}

bool OpenClCommandBuffer::busy() const noexcept {
  std::erase_if(running_, [&](cl_event event) {
    const bool done = is_complete(event);
    if (done) {
      (void)driver_.clReleaseEvent(event);
    }
    return done;
  });
  return !running_.empty();
}

Status OpenClCommandBuffer::enqueue(std::span<const Event> waits, Event* done) noexcept try {
  static_assert(sizeof(Event) == sizeof(cl_event));
  const bool ordered = in_order_ && facts_.version >= kOrderedEnqueue;
  if (!flag_simultaneous_ && !ordered && busy()) {
    return {CL_INVALID_OPERATION};
  }
  if (running_.size() >= prune_at_) {
    (void)busy();
    prune_at_ = std::max<std::size_t>(16, running_.size() * 2);
  }
  running_.reserve(running_.size() + 1);
  const std::span<const cl_event> list{reinterpret_cast<const cl_event*>(waits.data()), waits.size()};
  cl_event made = nullptr;
  cl_int status = CL_SUCCESS;
  if (commands_ != 0) {
    status = facts_.api.enqueue(objects_.buffer, list, &made);
  } else {  // nothing that needs a command
    status = driver_.clEnqueueMarkerWithWaitList == nullptr
                 ? CL_INVALID_OPERATION
                 : driver_.clEnqueueMarkerWithWaitList(objects_.queue, static_cast<cl_uint>(list.size()),
                                                       list.empty() ? nullptr : list.data(), &made);
  }
  if (status != CL_SUCCESS) {
    return {status};
  }
  if (in_order_ && !running_.empty()) {  // complete before the new one is
    (void)driver_.clReleaseEvent(running_.back());
    running_.pop_back();
  }
  running_.push_back(made);
  if (done != nullptr) {
    (void)driver_.clRetainEvent(made);
    *done = reinterpret_cast<Event>(made);
  }
  return {};
} catch (...) {
  return {CL_OUT_OF_HOST_MEMORY};
}

Status OpenClCommandBuffer::update(std::span<const NodeUpdate> updates) noexcept try {
  if (!mutable_) {
    return {CL_INVALID_OPERATION};
  }
  // Before 0.9.8 a running command buffer may be changed only if it may run more than once at a time.
  if (!flag_simultaneous_ && facts_.version < kOrderedEnqueue && busy()) {
    return {CL_INVALID_OPERATION};
  }
  struct Change {
    Launch* launch = nullptr;
    OperationView operation;
    std::vector<ArgumentUpdate> arguments, pointers;
    std::vector<std::byte> record;
    OpenClBackend::Objects objects;
  };
  std::vector<Change> changes;
  std::vector<LaunchUpdate> native;
  const auto give_up = [&](cl_int status) {
    for (Change& change : changes) {
      backend_.release_later(std::move(change.objects), {});
    }
    return Status{status};
  };
  changes.reserve(updates.size());
  for (const auto& [node, operation] : updates) {
    const auto found = launches_.find(node);
    if (found == launches_.end() || found->second.command == nullptr ||
        !OperationView::well_formed(operation.bytes()) || !arguments_fit(operation)) {
      return give_up(CL_INVALID_VALUE);
    }
    const OperationView before(found->second.record.data());
    const auto same_layout = [](const ArgumentDescriptor& a, const ArgumentDescriptor& b) {
      return a.kind == b.kind && (a.size == b.size || a.kind == ArgumentKind::kLocalMemory);
    };
    if (operation.kind() != OperationKind::kKernel || operation.header().function != before.header().function ||
        !std::ranges::equal(operation.arguments(), before.arguments(), same_layout)) {
      return give_up(CL_INVALID_VALUE);
    }
    const auto& now = operation.as<words::Kernel>();
    const auto& old = before.as<words::Kernel>();
    // The number of dimensions and who chooses the work-group size cannot be changed.
    if (now.dimensions != old.dimensions || (local_size(now) == nullptr) != (local_size(old) == nullptr)) {
      return give_up(CL_INVALID_VALUE);
    }
    Change& change = changes.emplace_back();
    change.launch = &found->second;
    change.operation = operation;
    change.record.assign(operation.bytes().begin(), operation.bytes().end());
    for (cl_uint i = 0; i < operation.arguments().size(); ++i) {
      const ArgumentDescriptor& argument = operation.arguments()[i];
      const auto value = operation.value_of(i);
      if (std::memcmp(&argument, &before.arguments()[i], sizeof(argument)) == 0 &&
          std::ranges::equal(value, before.value_of(i))) {
        continue;
      }
      if (argument.kind == ArgumentKind::kPointer) {
        change.pointers.push_back({i, sizeof(void*), RecordView(operation).pointer(i)});
      } else {
        change.arguments.push_back(
            {i, argument.size, argument.kind == ArgumentKind::kLocalMemory ? nullptr : value.data()});
      }
    }
    if (const cl_int status = retain_arguments(operation, change.objects); status != CL_SUCCESS) {
      return give_up(status);
    }
  }
  for (const Change& change : changes) {
    const auto& now = change.operation.as<words::Kernel>();
    const auto& old = OperationView(change.launch->record.data()).as<words::Kernel>();
    const auto if_changed = [](const std::size_t* a, const std::size_t* b) {
      return a != nullptr && !std::equal(a, a + 3, b) ? a : nullptr;
    };
    const LaunchUpdate& update = native.emplace_back(
        LaunchUpdate{change.launch->command, static_cast<cl_uint>(now.dimensions), change.arguments, change.pointers,
                     if_changed(now.offset.data(), old.offset.data()), if_changed(now.global.data(), old.global.data()),
                     if_changed(local_size(now), local_size(old))});
    if ((fields_of(update) & ~facts_.updates) != 0) {
      return give_up(CL_INVALID_OPERATION);
    }
  }
  if (native.empty()) {
    return {};
  }
  if (const cl_int status = facts_.api.update(objects_.buffer, native); status != CL_SUCCESS) {
    return give_up(status);
  }
  for (Change& change : changes) {
    change.launch->record = std::move(change.record);
    std::swap(change.launch->objects, change.objects);
    release_when_done(std::move(change.objects));
  }
  return {};
} catch (...) {
  return {CL_OUT_OF_HOST_MEMORY};
}

}  // namespace refrain::backends::opencl
