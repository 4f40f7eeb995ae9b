// Buffers, images, pipes and samplers: who they are, and when the application lets go of them.

#include <cstring>

#include "layer/opencl/doubts.h"
#include "layer/opencl/layer.h"
#include "layer/opencl/wrappers.h"

namespace refrain::layer::opencl {
namespace {

using capture::ArgumentKind;

/// Registers `memory`; `describe(info)` may throw, then the object stays unknown.
template <class Describe>
cl_mem register_memory(cl_mem memory, ArgumentKind kind, cl_context context, cl_mem_flags flags,
                       Describe&& describe) noexcept {
  if (memory == nullptr) {
    return memory;
  }
  MemoryState* record = objects.memory.make();
  if (record == nullptr) {
    state.foreign_objects.store(true, std::memory_order_relaxed);
    return memory;
  }
  record->begin();
  record->kind = kind;
  try {
    record->info.id = record->id;
    record->info.context = context_id(context);
    record->info.flags = flags;
    describe(record->info, *record);
    if (objects.memory.insert(record, handle_of(memory))) {
      return memory;
    }
  } catch (...) {
    // Falls through: unknown.
  }
  objects.memory.recycle(record);
  state.foreign_objects.store(true, std::memory_order_relaxed);
  return memory;
}

cl_mem register_buffer(cl_mem memory, cl_context context, cl_mem_flags flags, std::size_t size) noexcept {
  return register_memory(memory, ArgumentKind::kBuffer, context, flags,
                         [&](capture::BufferInfo& info, MemoryState& record) {
                           info.size = size;
                           const ContextState* owner = objects.contexts.find(handle_of(context));
                           record.alignment = owner == nullptr ? 0 : owner->alignment;
                         });
}

/// Description of an image for captures: channel order, channel type, type, width, height, depth, array
/// size, row pitch, slice pitch, mip levels, samples.
cl_mem register_image(cl_mem memory, cl_context context, cl_mem_flags flags, const cl_image_format* format,
                      const cl_image_desc& description) noexcept {
  return register_memory(
      memory, ArgumentKind::kImage, context, flags, [&](capture::BufferInfo& info, MemoryState& record) {
        info.is_image = true;
        info.description = {
            format->image_channel_order,  format->image_channel_data_type, description.image_type,
            description.image_width,      description.image_height,        description.image_depth,
            description.image_array_size, description.image_row_pitch,     description.image_slice_pitch,
            description.num_mip_levels,   description.num_samples};
        if (const MemoryState* parent = objects.memory.find(handle_of(description.mem_object)); parent != nullptr) {
          info.parent = parent->id;
          record.parent = description.mem_object;
        }
        const ContextState* owner = objects.contexts.find(handle_of(context));
        record.device_dependent = owner == nullptr || owner->devices.size() != 1;
        static_cast<void>(target.clGetImageInfo(memory, CL_IMAGE_ELEMENT_SIZE, sizeof(record.element_bytes),
                                                &record.element_bytes, nullptr));
      });
}

cl_int release_memory(Handle handle) noexcept {
  return target.clReleaseMemObject(native<cl_mem>(handle));
}
cl_int release_sampler(Handle handle) noexcept {
  return target.clReleaseSampler(native<cl_sampler>(handle));
}

cl_sampler register_sampler(cl_sampler sampler, cl_context context, std::uint64_t normalized, std::uint64_t addressing,
                            std::uint64_t filter) noexcept {
  SamplerState* record = sampler == nullptr ? nullptr : objects.samplers.make();
  if (record == nullptr) {
    return sampler;
  }
  record->begin();
  try {
    record->info.id = record->id;
    record->info.context = context_id(context);
    record->info.is_sampler = true;
    record->info.description = {normalized, addressing, filter};
    if (objects.samplers.insert(record, handle_of(sampler))) {
      return sampler;
    }
  } catch (...) {
    // Falls through: unknown.
  }
  objects.samplers.recycle(record);
  state.foreign_objects.store(true, std::memory_order_relaxed);
  return sampler;
}

}  // namespace

cl_mem wrap::clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void* host, cl_int* error) noexcept {
  return register_buffer(target.clCreateBuffer(context, flags, size, host, error), context, flags, size);
}

cl_mem wrap::clCreateBufferWithProperties(cl_context context, const cl_mem_properties* properties, cl_mem_flags flags,
                                          size_t size, void* host, cl_int* error) noexcept {
  return register_buffer(target.clCreateBufferWithProperties(context, properties, flags, size, host, error), context,
                         flags, size);
}

cl_mem wrap::clCreateSubBuffer(cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type, const void* create_info,
                               cl_int* error) noexcept {
  cl_mem part = target.clCreateSubBuffer(buffer, flags, type, create_info, error);
  const MemoryState* parent = objects.memory.find(handle_of(buffer));
  return register_memory(part, ArgumentKind::kBuffer, nullptr, flags,
                         [&](capture::BufferInfo& info, MemoryState& record) {
                           record.parent = buffer;
                           if (parent != nullptr) {
                             info.parent = parent->id;
                             info.context = parent->info.context;
                           }
                           if (type == CL_BUFFER_CREATE_TYPE_REGION) {
                             const auto* region = static_cast<const cl_buffer_region*>(create_info);
                             info.offset = region->origin;
                             info.size = region->size;
                             const std::size_t alignment = parent == nullptr ? 0 : parent->alignment;
                             record.device_dependent = alignment == 0 || region->origin % alignment != 0;
                           }
                         });
}

cl_mem wrap::clCreateImage(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                           const cl_image_desc* description, void* host, cl_int* error) noexcept {
  cl_mem image = target.clCreateImage(context, flags, format, description, host, error);
  return image == nullptr ? image : register_image(image, context, flags, format, *description);
}

cl_mem wrap::clCreateImageWithProperties(cl_context context, const cl_mem_properties* properties, cl_mem_flags flags,
                                         const cl_image_format* format, const cl_image_desc* description, void* host,
                                         cl_int* error) noexcept {
  cl_mem image = target.clCreateImageWithProperties(context, properties, flags, format, description, host, error);
  return image == nullptr ? image : register_image(image, context, flags, format, *description);
}

cl_mem wrap::clCreateImage2D(cl_context context, cl_mem_flags flags, const cl_image_format* format, size_t width,
                             size_t height, size_t row_pitch, void* host, cl_int* error) noexcept {
  cl_mem image = target.clCreateImage2D(context, flags, format, width, height, row_pitch, host, error);
  cl_image_desc description{};
  description.image_type = CL_MEM_OBJECT_IMAGE2D;
  description.image_width = width;
  description.image_height = height;
  description.image_row_pitch = row_pitch;
  return image == nullptr ? image : register_image(image, context, flags, format, description);
}

cl_mem wrap::clCreateImage3D(cl_context context, cl_mem_flags flags, const cl_image_format* format, size_t width,
                             size_t height, size_t depth, size_t row_pitch, size_t slice_pitch, void* host,
                             cl_int* error) noexcept {
  cl_mem image =
      target.clCreateImage3D(context, flags, format, width, height, depth, row_pitch, slice_pitch, host, error);
  cl_image_desc description{};
  description.image_type = CL_MEM_OBJECT_IMAGE3D;
  description.image_width = width;
  description.image_height = height;
  description.image_depth = depth;
  description.image_row_pitch = row_pitch;
  description.image_slice_pitch = slice_pitch;
  return image == nullptr ? image : register_image(image, context, flags, format, description);
}

cl_mem wrap::clCreatePipe(cl_context context, cl_mem_flags flags, cl_uint packet_size, cl_uint packets,
                          const cl_pipe_properties* properties, cl_int* error) noexcept {
  cl_mem pipe = target.clCreatePipe(context, flags, packet_size, packets, properties, error);
  return register_memory(pipe, ArgumentKind::kOtherHandle, context, flags, [](capture::BufferInfo&, MemoryState&) {});
}

cl_int wrap::clRetainMemObject(cl_mem memory) noexcept {
  const cl_int status = target.clRetainMemObject(memory);
  if (status == CL_SUCCESS) {
    retained(objects.memory, handle_of(memory));
  }
  return status;
}

cl_int wrap::clReleaseMemObject(cl_mem memory) noexcept {
  MemoryState* known = objects.memory.find(handle_of(memory));
  if (known == nullptr || known->references.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return target.clReleaseMemObject(memory);
  }
  const EntryScope scope;
  const std::uint64_t holder = known->holder.load(std::memory_order_relaxed);
  const ObjectId id = known->id;
  objects.memory.erase(known);
  objects.memory.recycle(known);
  if (replay::Engine* running = engine_with_threads(); running != nullptr) {
    running->object_gone(id);
  }
  return release_later<&release_memory>(holder, handle_of(memory));
}

cl_sampler wrap::clCreateSampler(cl_context context, cl_bool normalized, cl_addressing_mode addressing,
                                 cl_filter_mode filter, cl_int* error) noexcept {
  return register_sampler(target.clCreateSampler(context, normalized, addressing, filter, error), context, normalized,
                          addressing, filter);
}

cl_sampler wrap::clCreateSamplerWithProperties(cl_context context, const cl_sampler_properties* properties,
                                               cl_int* error) noexcept {
  std::uint64_t normalized = CL_TRUE;
  std::uint64_t addressing = CL_ADDRESS_CLAMP;
  std::uint64_t filter = CL_FILTER_NEAREST;
  for (const cl_sampler_properties* entry = properties; entry != nullptr && *entry != 0; entry += 2) {
    switch (*entry) {
      case CL_SAMPLER_NORMALIZED_COORDS: normalized = entry[1]; break;
      case CL_SAMPLER_ADDRESSING_MODE: addressing = entry[1]; break;
      case CL_SAMPLER_FILTER_MODE: filter = entry[1]; break;
      default: break;
    }
  }
  return register_sampler(target.clCreateSamplerWithProperties(context, properties, error), context, normalized,
                          addressing, filter);
}

cl_int wrap::clRetainSampler(cl_sampler sampler) noexcept {
  const cl_int status = target.clRetainSampler(sampler);
  if (status == CL_SUCCESS) {
    retained(objects.samplers, handle_of(sampler));
  }
  return status;
}

cl_int wrap::clReleaseSampler(cl_sampler sampler) noexcept {
  SamplerState* known = objects.samplers.find(handle_of(sampler));
  if (known == nullptr || known->references.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return target.clReleaseSampler(sampler);
  }
  const EntryScope scope;
  const std::uint64_t holder = known->holder.load(std::memory_order_relaxed);
  const ObjectId id = known->id;
  objects.samplers.erase(known);
  objects.samplers.recycle(known);
  if (replay::Engine* running = engine_with_threads(); running != nullptr) {
    running->object_gone(id);
  }
  return release_later<&release_sampler>(holder, handle_of(sampler));
}

}  // namespace refrain::layer::opencl
