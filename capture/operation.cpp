#include "capture/operation.h"

#include <array>
#include <cstring>

namespace refrain::capture {

std::string_view name_of(OperationKind kind) noexcept {
  static constexpr std::array<std::string_view, kOperationKindCount> names = {"unknown",
                                                                              "kernel",
                                                                              "copy buffer",
                                                                              "copy buffer rect",
                                                                              "fill buffer",
                                                                              "copy image",
                                                                              "fill image",
                                                                              "copy buffer to image",
                                                                              "copy image to buffer",
                                                                              "read buffer",
                                                                              "write buffer",
                                                                              "read buffer rect",
                                                                              "write buffer rect",
                                                                              "read image",
                                                                              "write image",
                                                                              "map",
                                                                              "unmap",
                                                                              "migrate",
                                                                              "pointer copy",
                                                                              "pointer fill",
                                                                              "pointer map",
                                                                              "pointer unmap",
                                                                              "pointer free",
                                                                              "pointer migrate",
                                                                              "marker",
                                                                              "barrier",
                                                                              "flush",
                                                                              "event record",
                                                                              "event wait",
                                                                              "host function",
                                                                              "command buffer",
                                                                              "other",
                                                                              "pointer copy rect",
                                                                              "pointer fill rect"};
  const auto index = static_cast<std::size_t>(kind);
  return index < names.size() ? names[index] : names[0];
}

int word_count_of(OperationKind kind) noexcept {
  switch (kind) {
    case OperationKind::kKernel: return words::kKernelCount;
    case OperationKind::kCopyBuffer:
    case OperationKind::kReadBuffer:
    case OperationKind::kWriteBuffer: return 3;
    case OperationKind::kFillBuffer: return 2;
    case OperationKind::kCopyBufferRect: return 13;
    case OperationKind::kReadBufferRect:
    case OperationKind::kWriteBufferRect: return 14;
    case OperationKind::kCopyImage:
    case OperationKind::kReadImage:
    case OperationKind::kWriteImage: return 9;
    case OperationKind::kFillImage: return 6;
    case OperationKind::kCopyBufferToImage:
    case OperationKind::kCopyImageToBuffer: return 7;
    case OperationKind::kPointerCopy: return 2;
    case OperationKind::kPointerFill: return 1;
    case OperationKind::kPointerCopyRect: return 8;
    case OperationKind::kPointerFillRect: return 3;
    default: return -1;
  }
}

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

std::uint64_t bytes_named(const OperationView& operation, std::size_t index) noexcept {
  const auto words = operation.words();
  const auto box = [&](std::uint64_t slices, std::uint64_t rows_of_slice, std::uint64_t pitch) {
    constexpr std::uint64_t kTooMuch = ~std::uint64_t{0};
    const std::uint64_t rows = words[words::kRows];
    std::uint64_t last = 0;
    if (rows == 0 || slices == 0) {
      return std::uint64_t{0};
    }
    return __builtin_mul_overflow(slices - 1, rows_of_slice, &last) || __builtin_add_overflow(last, rows - 1, &last) ||
                   __builtin_mul_overflow(last, pitch, &last) ||
                   __builtin_add_overflow(last, words[words::kRowBytes], &last)
               ? kTooMuch
               : last;
  };
  switch (operation.kind()) {
    case OperationKind::kPointerCopy:
    case OperationKind::kPointerFill: return words[0];
    case OperationKind::kPointerFillRect: return box(1, 0, words[words::kFillPitch]);
    case OperationKind::kPointerCopyRect:
      return index == 0 ? box(words[words::kSlices], words[words::kToRows], words[words::kToPitch])
                        : box(words[words::kSlices], words[words::kFromRows], words[words::kFromPitch]);
    default: return 0;
  }
}

OperationHeader& OperationWriter::begin(OperationKind kind, Token token) {
  auto* fresh = ::new (static_cast<void*>(extend(sizeof(OperationHeader)))) OperationHeader;
  fresh->kind = kind;
  fresh->token = token;
  return *fresh;
}

OperationHeader& OperationWriter::begin_kernel(Token token, std::span<const std::uint64_t, words::kKernelCount> shape,
                                               std::span<const ArgumentDescriptor> descriptors,
                                               std::span<const std::byte> padded_values) {
  const KernelSections sections = begin_kernel_sections(token, descriptors.size(), padded_values.size());
  std::memcpy(sections.words, shape.data(), words::kKernelCount * sizeof(std::uint64_t));
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

void OperationWriter::words(std::span<const std::uint64_t> values) {
  append(values.data(), values.size_bytes());
  header().word_count = static_cast<std::uint16_t>(header().word_count + values.size());
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
