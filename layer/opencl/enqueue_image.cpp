// Reads, writes, copies, fills and maps of images.

#include "layer/opencl/enqueue.h"

namespace refrain::layer::opencl {
namespace {

using capture::ArgumentKind;
using capture::OperationWriter;

Token region_token(OperationKind kind, const size_t* region) noexcept {
  const auto r = three(region);
  return mix(mix(mix(static_cast<Token>(kind), r[0]), r[1]), r[2]);
}

Call host_copy(const replay::EntryPoint& entry_point, OperationKind kind, const size_t* region, cl_command_type command,
               cl_bool blocking) noexcept {
  return {entry_point,
          kind,
          mix(region_token(kind, region), blocking),
          command,
          blocking != CL_FALSE ? "the call blocks" : "it copies from or to the program's own memory",
          static_cast<std::uint16_t>(blocking != CL_FALSE ? capture::kBlocking : 0)};
}

void describe_host_copy(OperationWriter& writer, OperationKind kind, Token token, cl_mem image, const void* pointer,
                        const size_t* origin, const size_t* region, size_t row_pitch, size_t slice_pitch,
                        cl_bool blocking) {
  writer.begin(kind, token);
  writer.words(words::TransferImage{.origin = three(origin),
                                    .region = three(region),
                                    .host_row_pitch = row_pitch,
                                    .host_slice_pitch = slice_pitch,
                                    .blocking = blocking});
  ArgumentList list;
  list.memory(image);
  list.handle(ArgumentKind::kHostPointer, pointer);
  list.write(writer);
}

template <words::Structure Numbers>
void describe_copy(OperationWriter& writer, OperationKind kind, Token token, cl_mem source, cl_mem destination,
                   const Numbers& numbers) {
  writer.begin(kind, token);
  writer.words(numbers);
  ArgumentList list;
  list.memory(source);
  list.memory(destination);
  list.write(writer);
}

/// Bytes of a fill colour: always four channels of four bytes.
constexpr std::size_t kColourBytes = 16;

}  // namespace

cl_int wrap::clEnqueueReadImage(cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t* origin,
                                const size_t* region, size_t row_pitch, size_t slice_pitch, void* pointer,
                                cl_uint count, const cl_event* waits, cl_event* event) noexcept {
  constexpr auto kKind = OperationKind::kReadImage;
  return enqueue(
      host_copy(entry::clEnqueueReadImage, kKind, region, CL_COMMAND_READ_IMAGE, blocking), queue, count, waits, event,
      [&](OperationWriter& writer, Token token) {
        describe_host_copy(writer, kKind, token, image, pointer, origin, region, row_pitch, slice_pitch, blocking);
      },
      [&](const cl_event* driver_waits, cl_event* result) {
        return target.clEnqueueReadImage(queue, image, blocking, origin, region, row_pitch, slice_pitch, pointer, count,
                                         driver_waits, result);
      },
      &no_doubt);
}

cl_int wrap::clEnqueueWriteImage(cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t* origin,
                                 const size_t* region, size_t row_pitch, size_t slice_pitch, const void* pointer,
                                 cl_uint count, const cl_event* waits, cl_event* event) noexcept {
  constexpr auto kKind = OperationKind::kWriteImage;
  return enqueue(
      host_copy(entry::clEnqueueWriteImage, kKind, region, CL_COMMAND_WRITE_IMAGE, blocking), queue, count, waits,
      event,
      [&](OperationWriter& writer, Token token) {
        describe_host_copy(writer, kKind, token, image, pointer, origin, region, row_pitch, slice_pitch, blocking);
      },
      [&](const cl_event* driver_waits, cl_event* result) {
        return target.clEnqueueWriteImage(queue, image, blocking, origin, region, row_pitch, slice_pitch, pointer,
                                          count, driver_waits, result);
      },
      &no_doubt);
}

cl_int wrap::clEnqueueCopyImage(cl_command_queue queue, cl_mem source, cl_mem destination, const size_t* source_origin,
                                const size_t* destination_origin, const size_t* region, cl_uint count,
                                const cl_event* waits, cl_event* event) noexcept {
  constexpr auto kKind = OperationKind::kCopyImage;
  return enqueue(
      {entry::clEnqueueCopyImage, kKind, region_token(kKind, region), CL_COMMAND_COPY_IMAGE}, queue, count, waits,
      event,
      [&](OperationWriter& writer, Token token) {
        describe_copy(
            writer, kKind, token, source, destination,
            words::CopyImage{
                .from_origin = three(source_origin), .to_origin = three(destination_origin), .region = three(region)});
      },
      [&](const cl_event* driver_waits, cl_event* result) {
        return target.clEnqueueCopyImage(queue, source, destination, source_origin, destination_origin, region, count,
                                         driver_waits, result);
      },
      [&](const QueueState& known) {
        return doubt_copy_image(known, {source, source_origin}, {destination, destination_origin}, region);
      });
}

cl_int wrap::clEnqueueCopyImageToBuffer(cl_command_queue queue, cl_mem image, cl_mem buffer, const size_t* origin,
                                        const size_t* region, size_t offset, cl_uint count, const cl_event* waits,
                                        cl_event* event) noexcept {
  constexpr auto kKind = OperationKind::kCopyImageToBuffer;
  return enqueue(
      {entry::clEnqueueCopyImageToBuffer, kKind, region_token(kKind, region), CL_COMMAND_COPY_IMAGE_TO_BUFFER}, queue,
      count, waits, event,
      [&](OperationWriter& writer, Token token) {
        describe_copy(
            writer, kKind, token, image, buffer,
            words::CopyImageToBuffer{.from_origin = three(origin), .region = three(region), .to_offset = offset});
      },
      [&](const cl_event* driver_waits, cl_event* result) {
        return target.clEnqueueCopyImageToBuffer(queue, image, buffer, origin, region, offset, count, driver_waits,
                                                 result);
      },
      [&](const QueueState& known) {
        return doubt_copy_between(known, {image, origin}, {buffer, offset}, region);
      });
}

cl_int wrap::clEnqueueCopyBufferToImage(cl_command_queue queue, cl_mem buffer, cl_mem image, size_t offset,
                                        const size_t* origin, const size_t* region, cl_uint count,
                                        const cl_event* waits, cl_event* event) noexcept {
  constexpr auto kKind = OperationKind::kCopyBufferToImage;
  return enqueue(
      {entry::clEnqueueCopyBufferToImage, kKind, region_token(kKind, region), CL_COMMAND_COPY_BUFFER_TO_IMAGE}, queue,
      count, waits, event,
      [&](OperationWriter& writer, Token token) {
        describe_copy(
            writer, kKind, token, buffer, image,
            words::CopyBufferToImage{.from_offset = offset, .to_origin = three(origin), .region = three(region)});
      },
      [&](const cl_event* driver_waits, cl_event* result) {
        return target.clEnqueueCopyBufferToImage(queue, buffer, image, offset, origin, region, count, driver_waits,
                                                 result);
      },
      [&](const QueueState& known) {
        return doubt_copy_between(known, {image, origin}, {buffer, offset}, region);
      });
}

cl_int wrap::clEnqueueFillImage(cl_command_queue queue, cl_mem image, const void* colour, const size_t* origin,
                                const size_t* region, cl_uint count, const cl_event* waits, cl_event* event) noexcept {
  constexpr auto kKind = OperationKind::kFillImage;
  // The colour of a depth image is one float: more must not be read from the program's memory.
  const MemoryState* known = objects.memory.find(handle_of(image));
  const bool depth = known != nullptr && !known->info.description.empty() &&
                     (known->info.description[0] == CL_DEPTH || known->info.description[0] == CL_DEPTH_STENCIL);
  const Call call{entry::clEnqueueFillImage, kKind, region_token(kKind, region), CL_COMMAND_FILL_IMAGE};
  return enqueue(
      call, queue, count, waits, event,
      [&](OperationWriter& writer, Token token) {
        writer.begin(kKind, token);
        writer.words(words::FillImage{.origin = three(origin), .region = three(region)});
        std::array<std::byte, kColourBytes> copy{};
        if (colour != nullptr) {
          std::memcpy(copy.data(), colour, depth ? sizeof(float) : kColourBytes);
        }
        ArgumentList list;
        list.memory(image);
        list.value(copy.data(), copy.size());
        list.write(writer);
      },
      [&](const cl_event* driver_waits, cl_event* result) {
        return target.clEnqueueFillImage(queue, image, colour, origin, region, count, driver_waits, result);
      },
      [&](const QueueState& there) {
        return doubt_fill_image(there, {image, origin}, colour, region);
      });
}

void* wrap::clEnqueueMapImage(cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags,
                              const size_t* origin, const size_t* region, size_t* row_pitch, size_t* slice_pitch,
                              cl_uint count, const cl_event* waits, cl_event* event, cl_int* error) noexcept {
  constexpr auto kKind = OperationKind::kMap;
  void* mapped = nullptr;
  const Call call{entry::clEnqueueMapImage,
                  kKind,
                  mix(mix(region_token(kKind, region), flags), blocking),
                  CL_COMMAND_MAP_IMAGE,
                  "it maps memory into the program",
                  static_cast<std::uint16_t>(blocking != CL_FALSE ? capture::kBlocking : 0)};
  const cl_int status = enqueue(
      call, queue, count, waits, event,
      [&](OperationWriter& writer, Token token) {
        writer.begin(kKind, token);
        writer.words(
            words::MapImage{.origin = three(origin), .region = three(region), .flags = flags, .blocking = blocking});
        ArgumentList list;
        list.memory(image);
        list.write(writer);
      },
      [&](const cl_event* driver_waits, cl_event* result) {
        cl_int driver_status = CL_SUCCESS;
        mapped = target.clEnqueueMapImage(queue, image, blocking, flags, origin, region, row_pitch, slice_pitch, count,
                                          driver_waits, result, &driver_status);
        return driver_status;
      },
      &no_doubt);
  if (error != nullptr) {
    *error = status;
  }
  return status == CL_SUCCESS ? mapped : nullptr;
}

}  // namespace refrain::layer::opencl
