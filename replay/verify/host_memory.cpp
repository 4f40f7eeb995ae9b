#include "replay/verify/host_memory.h"

#include <algorithm>
#include <cstring>

namespace refrain::replay {
namespace {

using backends::MemoryRange;
using capture::ArgumentKind;
using capture::OperationKind;
using capture::OperationView;
namespace words = capture::words;

/// Where a copy or a fill goes, with what lies between its rows.
MemoryRange destination(const OperationView& operation) {
  switch (operation.kind()) {
    case OperationKind::kPointerCopy: return {operation.handle_of(0), operation.as<words::PointerCopy>().bytes};
    case OperationKind::kPointerFill: return {operation.handle_of(0), operation.as<words::PointerFill>().bytes};
    case OperationKind::kPointerCopyRect: {
      const auto& to = operation.as<words::PointerCopyRect>();
      const std::uint64_t rows = to.slices == 0 ? 0 : (to.slices - 1) * to.to_rows + to.rows;
      return {operation.handle_of(0), rows == 0 ? 0 : (rows - 1) * to.to_pitch + to.row_bytes};
    }
    case OperationKind::kPointerFillRect: {
      const auto& to = operation.as<words::PointerFillRect>();
      return {operation.handle_of(0), to.rows == 0 ? 0 : (to.rows - 1) * to.pitch + to.row_bytes};
    }
    case OperationKind::kCopyBufferRect: {  // of Level Zero, with addresses
      const auto& to = operation.as<words::CopyBufferRect>();
      const std::uint64_t first =
          to.to_origin[0] + to.to_origin[1] * to.to_row_pitch + to.to_origin[2] * to.to_slice_pitch;
      const auto more = [](std::uint64_t count) { return count == 0 ? 0 : count - 1; };
      return {operation.handle_of(1) + first,
              more(to.region[1]) * to.to_row_pitch + more(to.region[2]) * to.to_slice_pitch + to.region[0]};
    }
    default: return {};
  }
}

}  // namespace

Ranges written_of_host(std::span<const OperationView> operations, const Ranges& host) {
  Ranges written;
  if (host.empty()) {
    return written;
  }
  const auto note = [&](std::uint64_t address) {
    const auto after = std::ranges::upper_bound(host, address, {}, &MemoryRange::start);
    if (after != host.begin() && address - std::prev(after)->start < std::prev(after)->bytes) {
      written.push_back(*std::prev(after));
    }
  };
  for (const OperationView& operation : operations) {
    if (operation.kind() != OperationKind::kKernel) {
      if (const MemoryRange range = destination(operation); range.bytes != 0) {
        written.push_back(range);
      }
      continue;
    }
    for (std::size_t i = 0; i < operation.arguments().size(); ++i) {
      if (operation.arguments()[i].kind == ArgumentKind::kPointer) {
        note(operation.handle_of(i));
      } else if (operation.arguments()[i].kind == ArgumentKind::kValue) {
        const auto value = operation.value_of(i);
        std::uint64_t word = 0;
        for (std::size_t at = 0; at + sizeof(word) <= value.size(); at += sizeof(word)) {
          std::memcpy(&word, value.data() + at, sizeof(word));
          note(word);
        }
      }
    }
  }
  return common(united(written, {}), host);
}

}  // namespace refrain::replay
