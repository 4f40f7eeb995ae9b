#include "capture/operation_kind.h"

#include <algorithm>
#include <string>

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

const char* blocking_name_of(OperationKind kind) noexcept {
  // Never destroyed: the last lanes are drained by an exit handler, when statics may be gone already.
  static const auto& names = *[] {
    auto* made = new std::array<std::string, kOperationKindCount>;
    for (std::size_t i = 0; i < made->size(); ++i) {
      (*made)[i] = "blocking " + std::string(name_of(static_cast<OperationKind>(i)));
    }
    return made;
  }();
  return names[std::min<std::size_t>(static_cast<std::size_t>(kind), names.size() - 1)].c_str();
}

int word_count_of(OperationKind kind) noexcept {
  switch (kind) {
    case OperationKind::kKernel: return words::kCount<words::Kernel>;
    case OperationKind::kCopyBuffer: return words::kCount<words::CopyBuffer>;
    case OperationKind::kCopyBufferRect: return words::kCount<words::CopyBufferRect>;
    case OperationKind::kFillBuffer: return words::kCount<words::FillBuffer>;
    case OperationKind::kCopyImage: return words::kCount<words::CopyImage>;
    case OperationKind::kFillImage: return words::kCount<words::FillImage>;
    case OperationKind::kCopyBufferToImage: return words::kCount<words::CopyBufferToImage>;
    case OperationKind::kCopyImageToBuffer: return words::kCount<words::CopyImageToBuffer>;
    case OperationKind::kReadBuffer:
    case OperationKind::kWriteBuffer: return words::kCount<words::TransferBuffer>;
    case OperationKind::kReadBufferRect:
    case OperationKind::kWriteBufferRect: return words::kCount<words::TransferBufferRect>;
    case OperationKind::kReadImage:
    case OperationKind::kWriteImage: return words::kCount<words::TransferImage>;
    case OperationKind::kPointerCopy: return words::kCount<words::PointerCopy>;
    case OperationKind::kPointerFill: return words::kCount<words::PointerFill>;
    case OperationKind::kPointerCopyRect: return words::kCount<words::PointerCopyRect>;
    case OperationKind::kPointerFillRect: return words::kCount<words::PointerFillRect>;
    default: return -1;
  }
}

OperationKind without_words(OperationKind kind) noexcept {
  return word_count_of(kind) > 0 ? OperationKind::kUnknown : kind;
}

}  // namespace refrain::capture
