#include "capture/operation.h"

#include <cstring>

namespace refrain::capture {

bool OperationView::well_formed(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() < sizeof(OperationHeader) || reinterpret_cast<std::uintptr_t>(bytes.data()) % 8 != 0) {
    return false;
  }
  OperationHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.size % 8 != 0 || header.size > bytes.size() || header.value_bytes % 8 != 0) {
    return false;
  }
  if (static_cast<std::uint16_t>(header.kind) >= kOperationKindCount) {
    return false;
  }
  const std::size_t expected = sizeof(OperationHeader) + std::size_t{header.word_count} * 8 +
                               std::size_t{header.argument_count} * sizeof(ArgumentDescriptor) +
                               std::size_t{header.value_bytes} + std::size_t{header.wait_count} * 8;
  if (expected != header.size) {
    return false;
  }
  const int wanted = word_count_of(header.kind);
  if (wanted >= 0 && wanted != header.word_count) {
    return false;
  }
  const OperationView view(bytes.data());
  std::size_t stored = 0;
  for (const ArgumentDescriptor& argument : view.arguments()) {
    stored += argument.stored_bytes();
  }
  return stored == header.value_bytes;
}

std::span<const std::byte> OperationView::value_of(std::size_t index) const noexcept {
  const auto descriptors = arguments();
  std::size_t offset = 0;
  for (std::size_t i = 0; i < index; ++i) {
    offset += descriptors[i].stored_bytes();
  }
  const std::size_t bytes = descriptors[index].stored_bytes() == 0 ? 0 : descriptors[index].size;
  return values().subspan(offset, bytes);
}

std::uint64_t OperationView::handle_of(std::size_t index) const noexcept {
  if (index >= header_->argument_count) {
    return 0;
  }
  const auto value = value_of(index);
  std::uint64_t handle = 0;
  if (value.size() == sizeof(handle)) {
    std::memcpy(&handle, value.data(), sizeof(handle));
  }
  return handle;
}

namespace {

/// From the first byte of the first row to the last one of the last.
std::uint64_t box(std::uint64_t row_bytes, std::uint64_t rows, std::uint64_t slices, std::uint64_t pitch,
                  std::uint64_t rows_of_slice) noexcept {
  constexpr std::uint64_t kTooMuch = ~std::uint64_t{0};
  std::uint64_t last = 0;
  if (rows == 0 || slices == 0) {
    return 0;
  }
  return __builtin_mul_overflow(slices - 1, rows_of_slice, &last) || __builtin_add_overflow(last, rows - 1, &last) ||
                 __builtin_mul_overflow(last, pitch, &last) || __builtin_add_overflow(last, row_bytes, &last)
             ? kTooMuch
             : last;
}

/// From the pointer to behind the last byte of the last row.
std::uint64_t region(const words::Three& origin, const words::Three& extent, std::uint64_t row_pitch,
                     std::uint64_t slice_pitch) noexcept {
  constexpr std::uint64_t kTooMuch = ~std::uint64_t{0};
  const auto last = [](std::uint64_t begin, std::uint64_t count, std::uint64_t* place) {
    return __builtin_add_overflow(begin, count == 0 ? 0 : count - 1, place);
  };
  std::uint64_t row = 0;
  std::uint64_t slice = 0;
  std::uint64_t end = 0;
  return last(origin[1], extent[1], &row) || last(origin[2], extent[2], &slice) ||
                 __builtin_mul_overflow(row, row_pitch, &row) || __builtin_mul_overflow(slice, slice_pitch, &slice) ||
                 __builtin_add_overflow(origin[0], extent[0], &end) || __builtin_add_overflow(end, row, &end) ||
                 __builtin_add_overflow(end, slice, &end)
             ? kTooMuch
             : end;
}

}  // namespace

std::uint64_t bytes_named(const OperationView& operation, std::size_t index) noexcept {
  switch (operation.kind()) {
    case OperationKind::kPointerCopy: return operation.as<words::PointerCopy>().bytes;
    case OperationKind::kPointerFill: return operation.as<words::PointerFill>().bytes;
    case OperationKind::kPointerFillRect: {
      const auto& fill = operation.as<words::PointerFillRect>();
      return box(fill.row_bytes, fill.rows, 1, fill.pitch, 0);
    }
    case OperationKind::kPointerCopyRect: {
      const auto& copy = operation.as<words::PointerCopyRect>();
      return index == 0 ? box(copy.row_bytes, copy.rows, copy.slices, copy.to_pitch, copy.to_rows)
                        : box(copy.row_bytes, copy.rows, copy.slices, copy.from_pitch, copy.from_rows);
    }
    case OperationKind::kCopyBufferRect: {
      const auto& copy = operation.as<words::CopyBufferRect>();
      return index == 0 ? region(copy.from_origin, copy.region, copy.from_row_pitch, copy.from_slice_pitch)
                        : region(copy.to_origin, copy.region, copy.to_row_pitch, copy.to_slice_pitch);
    }
    default: return 0;
  }
}

OperationHeader& OperationWriter::begin(OperationKind kind, Token token) {
  auto* fresh = ::new (static_cast<void*>(extend(sizeof(OperationHeader)))) OperationHeader;
  fresh->kind = kind;
  fresh->token = token;
  return *fresh;
}

OperationHeader& OperationWriter::begin_kernel(Token token, const words::Kernel& shape,
                                               std::span<const ArgumentDescriptor> descriptors,
                                               std::span<const std::byte> padded_values) {
  const KernelSections sections = begin_kernel_sections(token, descriptors.size(), padded_values.size());
  sections.shape = shape;
  if (!descriptors.empty()) {
    std::memcpy(sections.arguments, descriptors.data(), descriptors.size_bytes());
  }
  if (!padded_values.empty()) {
    std::memcpy(sections.values, padded_values.data(), padded_values.size());
  }
  return sections.header;
}

void OperationWriter::append(const void* data, std::size_t bytes) {
  const std::size_t end = storage_->size();
  storage_->resize(end + bytes);
  if (bytes != 0) {
    std::memcpy(storage_->data() + end, data, bytes);
  }
}

void OperationWriter::word(std::uint64_t value) {
  append(&value, sizeof(value));
  ++header().word_count;
}

void OperationWriter::argument(ArgumentKind kind, ObjectId object, std::span<const std::byte> value) {
  ArgumentDescriptor descriptor;
  descriptor.kind = kind;
  descriptor.object = object;
  descriptor.size = static_cast<std::uint32_t>(value.size());
  append(&descriptor, sizeof(descriptor));
  ++header().argument_count;
  const std::size_t stored = descriptor.stored_bytes();
  if (stored != 0) {
    const std::size_t offset = values_.size();
    values_.resize(offset + stored);
    std::memcpy(values_.data() + offset, value.data(), value.size());
  }
}

void OperationWriter::argument_handle(ArgumentKind kind, ObjectId object, std::uint64_t handle) {
  argument(kind, object, std::as_bytes(std::span(&handle, 1)));
}

void OperationWriter::argument_local(std::uint32_t bytes) {
  ArgumentDescriptor descriptor;
  descriptor.kind = ArgumentKind::kLocalMemory;
  descriptor.size = bytes;
  append(&descriptor, sizeof(descriptor));
  ++header().argument_count;
}

void OperationWriter::arguments(std::span<const ArgumentDescriptor> descriptors,
                                std::span<const std::byte> padded_values) {
  append(descriptors.data(), descriptors.size_bytes());
  header().argument_count = static_cast<std::uint16_t>(header().argument_count + descriptors.size());
  if (values_.empty()) {  // the hot path: nothing to put in front, so no second copy
    header().value_bytes = static_cast<std::uint32_t>(padded_values.size());
    append(padded_values.data(), padded_values.size());
    return;
  }
  values_.insert(values_.end(), padded_values.begin(), padded_values.end());
}

void OperationWriter::append_values() {
  header().value_bytes = static_cast<std::uint32_t>(values_.size());
  append(values_.data(), values_.size());
  values_.clear();
}

void OperationWriter::wait(WaitRef ref) {
  // Values come before waits: the first wait closes the values section.
  if (!values_.empty()) {
    append_values();
  }
  append(&ref, sizeof(ref));
  ++header().wait_count;
}

}  // namespace refrain::capture
