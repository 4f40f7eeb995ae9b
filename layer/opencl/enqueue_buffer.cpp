// Reads, writes, copies, fills and maps of buffers.

#include "layer/opencl/enqueue.h"

namespace refrain::layer::opencl {
namespace {

using capture::ArgumentKind;
using capture::OperationWriter;

// Host memory may change, or go, as soon as the call has returned: nothing that names it is held.
const char* const kBlocks = "the call blocks";
const char* const kHostMemory = "it copies from or to the program's own memory";
const char* const kMaps = "it maps memory into the program";

Token token_of(OperationKind kind, std::initializer_list<std::uint64_t> parts) noexcept {
  Token token = static_cast<Token>(kind);
  for (const std::uint64_t part : parts) {
    token = mix(token, part);
  }
  return token;
}

Call host_copy(const replay::EntryPoint& entry_point, OperationKind kind, Token token, cl_command_type command,
               cl_bool blocking) noexcept {
  return {entry_point,
          kind,
          mix(token, blocking),
          command,
          blocking != CL_FALSE ? kBlocks : kHostMemory,
          static_cast<std::uint16_t>(blocking != CL_FALSE ? capture::kBlocking : 0)};
}

void name_host_copy(OperationWriter& writer, cl_mem buffer, const void* pointer) {
  ArgumentList list;
  list.memory(buffer);
  list.handle(ArgumentKind::kHostPointer, pointer);
  list.write(writer);
}

template <words::Structure Numbers>
void describe_host_copy(OperationWriter& writer, OperationKind kind, Token token, cl_mem buffer, const void* pointer,
                        const Numbers& numbers) {
  writer.begin(kind, token);
  writer.words(numbers);
  name_host_copy(writer, buffer, pointer);
}

words::TransferBufferRect rectangle(const size_t* origin, const size_t* host_origin, const size_t* region,
                                    const std::array<size_t, 4>& pitches, cl_bool blocking) noexcept {
  return {.origin = three(origin),
          .host_origin = three(host_origin),
          .region = three(region),
          .row_pitch = pitches[0],
          .slice_pitch = pitches[1],
          .host_row_pitch = pitches[2],
          .host_slice_pitch = pitches[3],
          .blocking = blocking};
}

Token rectangle_token(OperationKind kind, const size_t* region, const std::array<size_t, 4>& pitches) noexcept {
  const auto r = three(region);
  return token_of(kind, {r[0], r[1], r[2], pitches[0], pitches[1], pitches[2], pitches[3]});
}

}  // namespace

cl_int wrap::clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
                                 void* pointer, cl_uint count, const cl_event* waits, cl_event* event) noexcept {
  constexpr auto kKind = OperationKind::kReadBuffer;
  return enqueue(
      host_copy(entry::clEnqueueReadBuffer, kKind, token_of(kKind, {size}), CL_COMMAND_READ_BUFFER, blocking), queue,
      count, waits, event,
      [&](OperationWriter& writer, Token token) {
        describe_host_copy(writer, kKind, token, buffer, pointer,
                           words::TransferBuffer{.offset = offset, .bytes = size, .blocking = blocking});
      },
      [&](const cl_event* driver_waits, cl_event* result) {
        return target.clEnqueueReadBuffer(queue, buffer, blocking, offset, size, pointer, count, driver_waits, result);
      },
      &no_doubt);
}

cl_int wrap::clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
                                  const void* pointer, cl_uint count, const cl_event* waits, cl_event* event) noexcept {
  constexpr auto kKind = OperationKind::kWriteBuffer;
  return enqueue(
      host_copy(entry::clEnqueueWriteBuffer, kKind, token_of(kKind, {size}), CL_COMMAND_WRITE_BUFFER, blocking), queue,
      count, waits, event,
      [&](OperationWriter& writer, Token token) {
        describe_host_copy(writer, kKind, token, buffer, pointer,
                           words::TransferBuffer{.offset = offset, .bytes = size, .blocking = blocking});
      },
      [&](const cl_event* driver_waits, cl_event* result) {
        return target.clEnqueueWriteBuffer(queue, buffer, blocking, offset, size, pointer, count, driver_waits, result);
      },
      &no_doubt);
}

cl_int wrap::clEnqueueReadBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t* origin,
                                     const size_t* host_origin, const size_t* region, size_t row_pitch,
                                     size_t slice_pitch, size_t host_row_pitch, size_t host_slice_pitch, void* pointer,
                                     cl_uint count, const cl_event* waits, cl_event* event) noexcept {
  constexpr auto kKind = OperationKind::kReadBufferRect;
  const std::array<size_t, 4> pitches{row_pitch, slice_pitch, host_row_pitch, host_slice_pitch};
  return enqueue(
      host_copy(entry::clEnqueueReadBufferRect, kKind, rectangle_token(kKind, region, pitches),
                CL_COMMAND_READ_BUFFER_RECT, blocking),
      queue, count, waits, event,
      [&](OperationWriter& writer, Token token) {
        describe_host_copy(writer, kKind, token, buffer, pointer,
                           rectangle(origin, host_origin, region, pitches, blocking));
      },
      [&](const cl_event* driver_waits, cl_event* result) {
        return target.clEnqueueReadBufferRect(queue, buffer, blocking, origin, host_origin, region, row_pitch,
                                              slice_pitch, host_row_pitch, host_slice_pitch, pointer, count,
                                              driver_waits, result);
      },
      &no_doubt);
}

cl_int wrap::clEnqueueWriteBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t* origin,
                                      const size_t* host_origin, const size_t* region, size_t row_pitch,
                                      size_t slice_pitch, size_t host_row_pitch, size_t host_slice_pitch,
                                      const void* pointer, cl_uint count, const cl_event* waits,
                                      cl_event* event) noexcept {
  constexpr auto kKind = OperationKind::kWriteBufferRect;
  const std::array<size_t, 4> pitches{row_pitch, slice_pitch, host_row_pitch, host_slice_pitch};
  return enqueue(
      host_copy(entry::clEnqueueWriteBufferRect, kKind, rectangle_token(kKind, region, pitches),
                CL_COMMAND_WRITE_BUFFER_RECT, blocking),
      queue, count, waits, event,
      [&](OperationWriter& writer, Token token) {
        describe_host_copy(writer, kKind, token, buffer, pointer,
                           rectangle(origin, host_origin, region, pitches, blocking));
      },
      [&](const cl_event* driver_waits, cl_event* result) {
        return target.clEnqueueWriteBufferRect(queue, buffer, blocking, origin, host_origin, region, row_pitch,
                                               slice_pitch, host_row_pitch, host_slice_pitch, pointer, count,
                                               driver_waits, result);
      },
      &no_doubt);
}

cl_int wrap::clEnqueueCopyBuffer(cl_command_queue queue, cl_mem source, cl_mem destination, size_t source_offset,
                                 size_t destination_offset, size_t size, cl_uint count, const cl_event* waits,
                                 cl_event* event) noexcept {
  constexpr auto kKind = OperationKind::kCopyBuffer;
  return enqueue(
      {entry::clEnqueueCopyBuffer, kKind, token_of(kKind, {size}), CL_COMMAND_COPY_BUFFER}, queue, count, waits, event,
      [&](OperationWriter& writer, Token token) {
        writer.begin(kKind, token);
        writer.words(words::CopyBuffer{.from_offset = source_offset, .to_offset = destination_offset, .bytes = size});
        ArgumentList list;
        list.memory(source);
        list.memory(destination);
        list.write(writer);
      },
      [&](const cl_event* driver_waits, cl_event* result) {
        return target.clEnqueueCopyBuffer(queue, source, destination, source_offset, destination_offset, size, count,
                                          driver_waits, result);
      },
      [&](const QueueState& known) {
        return doubt_copy(known, {source, source_offset}, {destination, destination_offset}, size);
      });
}

cl_int wrap::clEnqueueCopyBufferRect(cl_command_queue queue, cl_mem source, cl_mem destination,
                                     const size_t* source_origin, const size_t* destination_origin,
                                     const size_t* region, size_t source_row_pitch, size_t source_slice_pitch,
                                     size_t destination_row_pitch, size_t destination_slice_pitch, cl_uint count,
                                     const cl_event* waits, cl_event* event) noexcept {
  constexpr auto kKind = OperationKind::kCopyBufferRect;
  const std::array<size_t, 4> pitches{source_row_pitch, source_slice_pitch, destination_row_pitch,
                                      destination_slice_pitch};
  return enqueue(
      {entry::clEnqueueCopyBufferRect, kKind, rectangle_token(kKind, region, pitches), CL_COMMAND_COPY_BUFFER_RECT},
      queue, count, waits, event,
      [&](OperationWriter& writer, Token token) {
        writer.begin(kKind, token);
        writer.words(words::CopyBufferRect{.from_origin = three(source_origin),
                                           .to_origin = three(destination_origin),
                                           .region = three(region),
                                           .from_row_pitch = source_row_pitch,
                                           .from_slice_pitch = source_slice_pitch,
                                           .to_row_pitch = destination_row_pitch,
                                           .to_slice_pitch = destination_slice_pitch});
        ArgumentList list;
        list.memory(source);
        list.memory(destination);
        list.write(writer);
      },
      [&](const cl_event* driver_waits, cl_event* result) {
        return target.clEnqueueCopyBufferRect(queue, source, destination, source_origin, destination_origin, region,
                                              source_row_pitch, source_slice_pitch, destination_row_pitch,
                                              destination_slice_pitch, count, driver_waits, result);
      },
      [&](const QueueState& known) {
        return doubt_copy_rectangle(known, {source, source_origin, source_row_pitch, source_slice_pitch},
                                    {destination, destination_origin, destination_row_pitch, destination_slice_pitch},
                                    region);
      });
}

cl_int wrap::clEnqueueFillBuffer(cl_command_queue queue, cl_mem buffer, const void* pattern, size_t pattern_size,
                                 size_t offset, size_t size, cl_uint count, const cl_event* waits,
                                 cl_event* event) noexcept {
  constexpr auto kKind = OperationKind::kFillBuffer;
  const Call call{entry::clEnqueueFillBuffer, kKind, token_of(kKind, {size, pattern_size}), CL_COMMAND_FILL_BUFFER};
  return enqueue(
      call, queue, count, waits, event,
      [&](OperationWriter& writer, Token token) {
        writer.begin(kKind, token);
        writer.words(words::FillBuffer{.offset = offset, .bytes = size});
        ArgumentList list;
        list.memory(buffer);
        list.value(pattern, pattern_size);
        list.write(writer);
      },
      [&](const cl_event* driver_waits, cl_event* result) {
        return target.clEnqueueFillBuffer(queue, buffer, pattern, pattern_size, offset, size, count, driver_waits,
                                          result);
      },
      [&](const QueueState& known) {
        return doubt_fill(known, {buffer, offset}, pattern, pattern_size, size);
      });
}

void* wrap::clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
                               size_t offset, size_t size, cl_uint count, const cl_event* waits, cl_event* event,
                               cl_int* error) noexcept {
  constexpr auto kKind = OperationKind::kMap;
  void* mapped = nullptr;
  const Call call{
      entry::clEnqueueMapBuffer, kKind, token_of(kKind, {size, flags, blocking}),
      CL_COMMAND_MAP_BUFFER,     kMaps, static_cast<std::uint16_t>(blocking != CL_FALSE ? capture::kBlocking : 0)};
  const cl_int status = enqueue(
      call, queue, count, waits, event,
      [&](OperationWriter& writer, Token token) {
        writer.begin(kKind, token);
        writer.words(words::MapBuffer{.offset = offset, .bytes = size, .flags = flags, .blocking = blocking});
        ArgumentList list;
        list.memory(buffer);
        list.write(writer);
      },
      [&](const cl_event* driver_waits, cl_event* result) {
        cl_int driver_status = CL_SUCCESS;
        mapped = target.clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, count, driver_waits, result,
                                           &driver_status);
        return driver_status;
      },
      &no_doubt);
  if (error != nullptr) {
    *error = status;
  }
  return status == CL_SUCCESS ? mapped : nullptr;
}

cl_int wrap::clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void* pointer, cl_uint count,
                                     const cl_event* waits, cl_event* event) noexcept {
  constexpr auto kKind = OperationKind::kUnmap;
  return enqueue(
      {entry::clEnqueueUnmapMemObject, kKind, token_of(kKind, {}), CL_COMMAND_UNMAP_MEM_OBJECT,
       "it gives mapped memory back"},
      queue, count, waits, event,
      [&](OperationWriter& writer, Token token) {
        writer.begin(kKind, token);
        name_host_copy(writer, memory, pointer);
      },
      [&](const cl_event* driver_waits, cl_event* result) {
        return target.clEnqueueUnmapMemObject(queue, memory, pointer, count, driver_waits, result);
      },
      &no_doubt);
}

cl_int wrap::clEnqueueMigrateMemObjects(cl_command_queue queue, cl_uint objects_count, const cl_mem* memory,
                                        cl_mem_migration_flags flags, cl_uint count, const cl_event* waits,
                                        cl_event* event) noexcept {
  constexpr auto kKind = OperationKind::kMigrate;
  return enqueue(
      {entry::clEnqueueMigrateMemObjects, kKind, token_of(kKind, {objects_count, flags}),
       CL_COMMAND_MIGRATE_MEM_OBJECTS},
      queue, count, waits, event,
      [&](OperationWriter& writer, Token token) {
        writer.begin(kKind, token);
        writer.words(words::Migrate{.flags = flags});
        for (cl_uint i = 0; memory != nullptr && i < objects_count; ++i) {
          const MemoryState* known = objects.memory.find(handle_of(memory[i]));
          writer.argument_handle(known != nullptr ? known->kind : ArgumentKind::kBuffer,
                                 known != nullptr ? known->id : 0, handle_of(memory[i]));
        }
      },
      [&](const cl_event* driver_waits, cl_event* result) {
        return target.clEnqueueMigrateMemObjects(queue, objects_count, memory, flags, count, driver_waits, result);
      },
      [&](const QueueState& on) {
        return doubt_migrate(on, {memory, memory == nullptr ? 0 : objects_count}, flags);
      });
}

}  // namespace refrain::layer::opencl
