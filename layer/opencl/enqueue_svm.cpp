// Shared virtual memory.

#include "layer/opencl/enqueue.h"

namespace refrain::layer::opencl {
namespace {

using capture::ArgumentKind;
using capture::OperationWriter;

Token token_of(OperationKind kind, std::initializer_list<std::uint64_t> parts) noexcept {
  Token token = static_cast<Token>(kind);
  for (const std::uint64_t part : parts) {
    token = mix(token, part);
  }
  return token;
}

void name_pointers(OperationWriter& writer, std::initializer_list<const void*> pointers) {
  ArgumentList list;
  for (const void* pointer : pointers) {
    list.pointer(pointer);
  }
  list.write(writer);
}

/// Before it is freed: no graph names it any more. Waits while one is recorded.
void forget_shared(const void* memory) noexcept {
  const NotCancelled during(true);
  const ObjectId id = shared_memory_at(handle_of(memory));
  state.shared_memory.remove(handle_of(memory));
  if (replay::Engine* running = engine_with_threads(); running != nullptr && id != 0) {
    running->object_gone(id);
  }
}

}  // namespace

void* wrap::clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment) noexcept {
  void* const made = target.clSVMAlloc(context, flags, size, alignment);
  if (made != nullptr) {
    const auto place =
        (flags & CL_MEM_SVM_FINE_GRAIN_BUFFER) != 0 ? capture::MemoryPlace::kHost : capture::MemoryPlace::kManaged;
    state.shared_memory.add({handle_of(made), size, next_object_id(), static_cast<int>(context_id(context)), place});
  }
  return made;
}

void wrap::clSVMFree(cl_context context, void* pointer) noexcept {
  common::flush_for_stub<Protocol>(entry::clSVMFree);  // it returns no error either
  forget_shared(pointer);
  target.clSVMFree(context, pointer);
}

cl_int wrap::clEnqueueSVMMemcpy(cl_command_queue queue, cl_bool blocking, void* destination, const void* source,
                                size_t size, cl_uint count, const cl_event* waits, cl_event* event) noexcept {
  constexpr auto kKind = OperationKind::kPointerCopy;
  const Call call{entry::clEnqueueSVMMemcpy,
                  kKind,
                  token_of(kKind, {size, blocking}),
                  CL_COMMAND_SVM_MEMCPY,
                  blocking != CL_FALSE ? "the call blocks" : nullptr,
                  static_cast<std::uint16_t>(blocking != CL_FALSE ? capture::kBlocking : 0)};
  return enqueue(
      call, queue, count, waits, event,
      [&](OperationWriter& writer, Token token) {
        writer.begin(kKind, token);
        writer.words(words::PointerCopy{.bytes = size, .blocking = blocking});
        name_pointers(writer, {destination, source});
      },
      [&](const cl_event* driver_waits, cl_event* result) {
        return target.clEnqueueSVMMemcpy(queue, blocking, destination, source, size, count, driver_waits, result);
      },
      // The pointers may be the program's own memory: these copies take any.
      [&](const QueueState& known) { return doubt_pointer_copy(known, destination, source, size); });
}

cl_int wrap::clEnqueueSVMMemFill(cl_command_queue queue, void* pointer, const void* pattern, size_t pattern_size,
                                 size_t size, cl_uint count, const cl_event* waits, cl_event* event) noexcept {
  constexpr auto kKind = OperationKind::kPointerFill;
  const Call call{entry::clEnqueueSVMMemFill, kKind, token_of(kKind, {size, pattern_size}), CL_COMMAND_SVM_MEMFILL};
  return enqueue(
      call, queue, count, waits, event,
      [&](OperationWriter& writer, Token token) {
        writer.begin(kKind, token);
        writer.words(words::PointerFill{.bytes = size});
        ArgumentList list;
        list.pointer(pointer);
        list.value(pattern, pattern_size);
        list.write(writer);
      },
      [&](const cl_event* driver_waits, cl_event* result) {
        return target.clEnqueueSVMMemFill(queue, pointer, pattern, pattern_size, size, count, driver_waits, result);
      },
      [&](const QueueState& known) { return doubt_pointer_fill(known, pointer, pattern, pattern_size, size); });
}

cl_int wrap::clEnqueueSVMMap(cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void* pointer, size_t size,
                             cl_uint count, const cl_event* waits, cl_event* event) noexcept {
  constexpr auto kKind = OperationKind::kPointerMap;
  const Call call{entry::clEnqueueSVMMap,
                  kKind,
                  token_of(kKind, {size, flags, blocking}),
                  CL_COMMAND_SVM_MAP,
                  "it maps memory into the program",
                  static_cast<std::uint16_t>(blocking != CL_FALSE ? capture::kBlocking : 0)};
  return enqueue(
      call, queue, count, waits, event,
      [&](OperationWriter& writer, Token token) {
        writer.begin(kKind, token);
        writer.words(words::PointerMap{.bytes = size, .flags = flags, .blocking = blocking});
        name_pointers(writer, {pointer});
      },
      [&](const cl_event* driver_waits, cl_event* result) {
        return target.clEnqueueSVMMap(queue, blocking, flags, pointer, size, count, driver_waits, result);
      },
      &no_doubt);
}

cl_int wrap::clEnqueueSVMUnmap(cl_command_queue queue, void* pointer, cl_uint count, const cl_event* waits,
                               cl_event* event) noexcept {
  constexpr auto kKind = OperationKind::kPointerUnmap;
  return enqueue(
      {entry::clEnqueueSVMUnmap, kKind, token_of(kKind, {}), CL_COMMAND_SVM_UNMAP, "it gives mapped memory back"},
      queue, count, waits, event,
      [&](OperationWriter& writer, Token token) {
        writer.begin(kKind, token);
        name_pointers(writer, {pointer});
      },
      [&](const cl_event* driver_waits, cl_event* result) {
        return target.clEnqueueSVMUnmap(queue, pointer, count, driver_waits, result);
      },
      &no_doubt);
}

cl_int wrap::clEnqueueSVMFree(cl_command_queue queue, cl_uint pointer_count, void* pointers[],
                              void(CL_CALLBACK* function)(cl_command_queue, cl_uint, void*[], void*), void* user,
                              cl_uint count, const cl_event* waits, cl_event* event) noexcept {
  constexpr auto kKind = OperationKind::kPointerFree;
  return enqueue(
      {entry::clEnqueueSVMFree, kKind, token_of(kKind, {pointer_count}), CL_COMMAND_SVM_FREE, "it frees memory"}, queue,
      count, waits, event,
      [&](OperationWriter& writer, Token token) {
        writer.begin(kKind, token);
        for (cl_uint i = 0; pointers != nullptr && i < pointer_count; ++i) {
          writer.argument_handle(ArgumentKind::kPointer, 0, reinterpret_cast<std::uint64_t>(pointers[i]));
        }
      },
      [&](const cl_event* driver_waits, cl_event* result) {
        for (cl_uint i = 0; pointers != nullptr && i < pointer_count; ++i) {
          forget_shared(pointers[i]);
        }
        return target.clEnqueueSVMFree(queue, pointer_count, pointers, function, user, count, driver_waits, result);
      },
      &no_doubt);
}

cl_int wrap::clEnqueueSVMMigrateMem(cl_command_queue queue, cl_uint pointer_count, const void** pointers,
                                    const size_t* sizes, cl_mem_migration_flags flags, cl_uint count,
                                    const cl_event* waits, cl_event* event) noexcept {
  constexpr auto kKind = OperationKind::kPointerMigrate;
  return enqueue(
      {entry::clEnqueueSVMMigrateMem, kKind, token_of(kKind, {pointer_count, flags}), CL_COMMAND_SVM_MIGRATE_MEM},
      queue, count, waits, event,
      [&](OperationWriter& writer, Token token) {
        writer.begin(kKind, token);
        writer.words(words::PointersMigrate{.flags = flags});
        for (cl_uint i = 0; sizes != nullptr && i < pointer_count; ++i) {
          writer.word(sizes[i]);
        }
        for (cl_uint i = 0; pointers != nullptr && i < pointer_count; ++i) {
          const std::uint64_t address = handle_of(pointers[i]);
          writer.argument_handle(ArgumentKind::kPointer, shared_memory_at(address), address);
        }
      },
      [&](const cl_event* driver_waits, cl_event* result) {
        return target.clEnqueueSVMMigrateMem(queue, pointer_count, pointers, sizes, flags, count, driver_waits, result);
      },
      [&](const QueueState& on) {
        const std::size_t given = pointers == nullptr ? 0 : pointer_count;
        return doubt_pointer_migrate(on, {pointers, given}, {sizes, sizes == nullptr ? 0 : given}, flags);
      });
}

}  // namespace refrain::layer::opencl
