// What each kind of operation does to memory.
#include <algorithm>
#include <cstring>

#include "backends/host/host_state.h"

namespace refrain::backends::host {
namespace {

using capture::OperationKind;
using capture::OperationView;
using capture::words::Three;
namespace words = capture::words;

bool inside(std::uint64_t offset, std::uint64_t bytes, std::size_t size) {
  return offset <= size && bytes <= size - offset;
}

// One side of a copy in three dimensions: where a row starts and how far apart rows and slices are.
struct Side {
  std::byte* base = nullptr;
  std::size_t size = 0;  // bytes that may be touched; SIZE_MAX: host memory, unknown
  std::size_t row_pitch = 0, slice_pitch = 0;
  std::size_t start = 0;
};

// `row` bytes, `rows`, `slices`.
bool fits(const Side& side, const Three& region) {
  if (region[0] == 0 || region[1] == 0 || region[2] == 0) {
    return false;
  }
  const std::uint64_t last = side.start + (region[2] - 1) * side.slice_pitch + (region[1] - 1) * side.row_pitch;
  return side.row_pitch >= region[0] && inside(last, region[0], side.size);
}

Side rect_side(std::byte* base, std::size_t size, const Three& origin, const Three& region, std::uint64_t row_pitch,
               std::uint64_t slice_pitch) {
  Side side{base, size, row_pitch != 0 ? row_pitch : region[0], 0, 0};
  side.slice_pitch = slice_pitch != 0 ? slice_pitch : side.row_pitch * region[1];
  side.start = origin[0] + origin[1] * side.row_pitch + origin[2] * side.slice_pitch;
  return side;
}

// `region` in elements becomes bytes.
Side image_side(const Memory& image, const Three& origin) {
  Side side{image.data.get(), image.size, image.extent[0] * image.element, 0, 0};
  side.slice_pitch = side.row_pitch * image.extent[1];
  side.start = origin[0] * image.element + origin[1] * side.row_pitch + origin[2] * side.slice_pitch;
  return side;
}

bool inside_image(const Memory& image, const Three& origin, const Three& region) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (region[i] == 0 || !inside(origin[i], region[i], image.extent[i])) {
      return false;
    }
  }
  return true;
}

struct Copy {
  Side from, to;
  Three region{};  // bytes, rows, slices
};

std::byte* host_pointer(const OperationView& operation, std::size_t index) {
  return reinterpret_cast<std::byte*>(operation.handle_of(index));
}

// The copy that an operation asks for; false if it reaches outside or is no copy.
bool describe(const Prepared& p, Copy* copy) {
  const OperationView operation = p.operation();
  const auto memory = [&](std::size_t i) -> Memory& { return *p.memory[i]; };
  const auto buffer_side = [&](std::size_t i, std::size_t offset) {
    return Side{memory(i).data.get(), memory(i).size, SIZE_MAX / 4, SIZE_MAX / 4, offset};
  };
  const auto tight = [&](std::size_t i, std::size_t offset, const Three& region) {
    return Side{memory(i).data.get(), memory(i).size, region[0], region[0] * region[1], offset};
  };
  const auto host_side = [&](std::size_t i) {
    return Side{host_pointer(operation, i), SIZE_MAX / 2, SIZE_MAX / 4, SIZE_MAX / 4, 0};
  };
  const auto image_region = [&](std::size_t i, const Three& origin, const Three& region) {
    if (memory(i).element == 0 || !inside_image(memory(i), origin, region)) {
      return false;
    }
    copy->region = {region[0] * memory(i).element, region[1], region[2]};
    return true;
  };
  switch (operation.kind()) {
    case OperationKind::kCopyBuffer: {
      const auto& n = operation.as<words::CopyBuffer>();
      *copy = {buffer_side(0, n.from_offset), buffer_side(1, n.to_offset), {n.bytes, 1, 1}};
      break;
    }
    case OperationKind::kReadBuffer: {
      const auto& n = operation.as<words::TransferBuffer>();
      *copy = {buffer_side(0, n.offset), host_side(1), {n.bytes, 1, 1}};
      break;
    }
    case OperationKind::kWriteBuffer: {
      const auto& n = operation.as<words::TransferBuffer>();
      *copy = {host_side(1), buffer_side(0, n.offset), {n.bytes, 1, 1}};
      break;
    }
    case OperationKind::kCopyBufferRect: {
      const auto& n = operation.as<words::CopyBufferRect>();
      *copy = {rect_side(memory(0).data.get(), memory(0).size, n.from_origin, n.region, n.from_row_pitch,
                         n.from_slice_pitch),
               rect_side(memory(1).data.get(), memory(1).size, n.to_origin, n.region, n.to_row_pitch, n.to_slice_pitch),
               n.region};
      break;
    }
    case OperationKind::kReadBufferRect:
    case OperationKind::kWriteBufferRect: {
      const auto& n = operation.as<words::TransferBufferRect>();
      copy->from = rect_side(memory(0).data.get(), memory(0).size, n.origin, n.region, n.row_pitch, n.slice_pitch);
      copy->to = rect_side(host_pointer(operation, 1), SIZE_MAX / 2, n.host_origin, n.region, n.host_row_pitch,
                           n.host_slice_pitch);
      copy->region = n.region;
      if (operation.kind() == OperationKind::kWriteBufferRect) {
        std::swap(copy->from, copy->to);
      }
      break;
    }
    case OperationKind::kCopyImage: {
      const auto& n = operation.as<words::CopyImage>();
      if (memory(0).element != memory(1).element || !image_region(0, n.from_origin, n.region) ||
          !image_region(1, n.to_origin, n.region)) {
        return false;
      }
      copy->from = image_side(memory(0), n.from_origin);
      copy->to = image_side(memory(1), n.to_origin);
      break;
    }
    case OperationKind::kCopyBufferToImage: {
      const auto& n = operation.as<words::CopyBufferToImage>();
      if (!image_region(1, n.to_origin, n.region)) {
        return false;
      }
      copy->from = tight(0, n.from_offset, copy->region);
      copy->to = image_side(memory(1), n.to_origin);
      break;
    }
    case OperationKind::kCopyImageToBuffer: {
      const auto& n = operation.as<words::CopyImageToBuffer>();
      if (!image_region(0, n.from_origin, n.region)) {
        return false;
      }
      copy->from = image_side(memory(0), n.from_origin);
      copy->to = tight(1, n.to_offset, copy->region);
      break;
    }
    case OperationKind::kReadImage:
    case OperationKind::kWriteImage: {
      const auto& n = operation.as<words::TransferImage>();
      if (!image_region(0, n.origin, n.region)) {
        return false;
      }
      copy->from = image_side(memory(0), n.origin);
      copy->to =
          rect_side(host_pointer(operation, 1), SIZE_MAX / 2, {}, copy->region, n.host_row_pitch, n.host_slice_pitch);
      if (operation.kind() == OperationKind::kWriteImage) {
        std::swap(copy->from, copy->to);
      }
      break;
    }
    default: return false;
  }
  return fits(copy->from, copy->region) && fits(copy->to, copy->region);
}

void fill(std::byte* into, std::size_t bytes, std::span<const std::byte> pattern) {
  for (std::size_t at = 0; at < bytes; at += pattern.size()) {
    std::memcpy(into + at, pattern.data(), pattern.size());
  }
}

// What an image element becomes if it is filled with a colour of four 32-bit words.
std::array<std::byte, 16> element_of(std::span<const std::byte> colour, std::size_t element) {
  std::array<std::byte, 16> result{};
  for (std::size_t i = 0; i < element; ++i) {
    result[i] = colour[element == 4 ? i * 4 : i];
  }
  return result;
}

bool pointer_range_ok(const Prepared& p, std::size_t argument, std::size_t bytes) {
  const auto& memory = p.memory[argument];
  const auto base = reinterpret_cast<std::uintptr_t>(memory ? memory->data.get() : nullptr);
  return memory && inside(p.operation().handle_of(argument) - base, bytes, memory->size);
}

}  // namespace

std::span<std::byte> KernelCall::bytes(std::size_t argument) const {
  const auto& memory = memory_[argument];
  if (!memory) {
    return {};
  }
  if (operation_.arguments()[argument].kind != capture::ArgumentKind::kPointer) {
    return memory->bytes();
  }
  const auto offset = operation_.handle_of(argument) - reinterpret_cast<std::uintptr_t>(memory->data.get());
  return memory->bytes().subspan(offset);
}

int check(const Prepared& p) {
  const OperationView operation = p.operation();
  const auto colour_ok = [&](std::size_t i) { return operation.arguments()[i].size == 16; };
  switch (operation.kind()) {
    case OperationKind::kKernel: {
      const std::uint64_t dimensions = operation.as<words::Kernel>().dimensions;
      return dimensions >= 1 && dimensions <= 3 ? kSuccess : kInvalidValue;
    }
    case OperationKind::kFillBuffer: {
      const auto& n = operation.as<words::FillBuffer>();
      const std::size_t pattern = operation.arguments()[1].size;
      return pattern != 0 && n.bytes != 0 && n.offset % pattern == 0 && n.bytes % pattern == 0 &&
                     inside(n.offset, n.bytes, p.memory[0]->size)
                 ? kSuccess
                 : kInvalidValue;
    }
    case OperationKind::kFillImage: {
      const auto& n = operation.as<words::FillImage>();
      return p.memory[0]->element != 0 && colour_ok(1) && inside_image(*p.memory[0], n.origin, n.region)
                 ? kSuccess
                 : kInvalidValue;
    }
    case OperationKind::kPointerCopy: {
      const std::uint64_t bytes = operation.as<words::PointerCopy>().bytes;
      return pointer_range_ok(p, 0, bytes) && pointer_range_ok(p, 1, bytes) ? kSuccess : kInvalidValue;
    }
    case OperationKind::kPointerFill: {
      const std::uint64_t bytes = operation.as<words::PointerFill>().bytes;
      const std::size_t pattern = operation.arguments()[1].size;
      return pattern != 0 && bytes % pattern == 0 && pointer_range_ok(p, 0, bytes) ? kSuccess : kInvalidValue;
    }
    case OperationKind::kCopyBuffer:
    case OperationKind::kReadBuffer:
    case OperationKind::kWriteBuffer:
    case OperationKind::kCopyBufferRect:
    case OperationKind::kReadBufferRect:
    case OperationKind::kWriteBufferRect:
    case OperationKind::kCopyImage:
    case OperationKind::kCopyBufferToImage:
    case OperationKind::kCopyImageToBuffer:
    case OperationKind::kReadImage:
    case OperationKind::kWriteImage: {
      Copy copy;
      return describe(p, &copy) ? kSuccess : kInvalidValue;
    }
    case OperationKind::kUnknown:
    case OperationKind::kOther:
    case OperationKind::kCommandBuffer:
    case OperationKind::kPointerFree: return kUnsupported;
    default: return kSuccess;  // carries order only, or a host function
  }
}

int execute(const Prepared& p) {
  const OperationView operation = p.operation();
  switch (operation.kind()) {
    case OperationKind::kKernel:
    case OperationKind::kHostFunction: p.kernel(KernelCall(operation, p.memory)); return kSuccess;
    case OperationKind::kFillBuffer: {
      const auto& n = operation.as<words::FillBuffer>();
      fill(p.memory[0]->data.get() + n.offset, n.bytes, operation.value_of(1));
      return kSuccess;
    }
    case OperationKind::kPointerFill:
      fill(reinterpret_cast<std::byte*>(operation.handle_of(0)), operation.as<words::PointerFill>().bytes,
           operation.value_of(1));
      return kSuccess;
    case OperationKind::kPointerCopy:
      std::memmove(reinterpret_cast<void*>(operation.handle_of(0)), reinterpret_cast<void*>(operation.handle_of(1)),
                   operation.as<words::PointerCopy>().bytes);
      return kSuccess;
    case OperationKind::kFillImage: {
      const auto& n = operation.as<words::FillImage>();
      const Memory& image = *p.memory[0];
      const auto element = element_of(operation.value_of(1), image.element);
      const Side side = image_side(image, n.origin);
      for (std::size_t z = 0; z < n.region[2]; ++z) {
        for (std::size_t y = 0; y < n.region[1]; ++y) {
          fill(side.base + side.start + z * side.slice_pitch + y * side.row_pitch, n.region[0] * image.element,
               {element.data(), image.element});
        }
      }
      return kSuccess;
    }
    default: break;
  }
  if (Copy copy; describe(p, &copy)) {
    for (std::size_t z = 0; z < copy.region[2]; ++z) {
      for (std::size_t y = 0; y < copy.region[1]; ++y) {
        std::memmove(copy.to.base + copy.to.start + z * copy.to.slice_pitch + y * copy.to.row_pitch,
                     copy.from.base + copy.from.start + z * copy.from.slice_pitch + y * copy.from.row_pitch,
                     copy.region[0]);
      }
    }
  }
  return kSuccess;
}

}  // namespace refrain::backends::host
