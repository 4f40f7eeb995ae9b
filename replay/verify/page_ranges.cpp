#include "replay/verify/page_ranges.h"

#include <algorithm>

namespace refrain::replay {

using backends::AddressedMemory;
using backends::MemoryRange;

Ranges changed(const Ranges& ranges, const Numbers& before, const Numbers& after) {
  Ranges result;
  std::size_t index = 0;
  for (const MemoryRange& range : ranges) {
    for (std::uint64_t offset = 0; offset < range.bytes; offset += AddressedMemory::kPage, ++index) {
      if (before[index] == after[index]) {
        continue;
      }
      const MemoryRange page{range.start + offset, std::min(AddressedMemory::kPage, range.bytes - offset)};
      if (!result.empty() && result.back().start + result.back().bytes == page.start && offset != 0) {
        result.back().bytes += page.bytes;
      } else {
        result.push_back(page);
      }
    }
  }
  return result;
}

std::uint64_t bytes_of(std::span<const MemoryRange> ranges) {
  std::uint64_t sum = 0;
  for (const MemoryRange& range : ranges) {
    sum += range.bytes;
  }
  return sum;
}

Ranges common(std::span<const MemoryRange> a, std::span<const MemoryRange> b) {
  Ranges result;
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    const std::uint64_t start = std::max(x->start, y->start);
    const std::uint64_t end = std::min(x->start + x->bytes, y->start + y->bytes);
    if (start < end) {
      result.push_back({start, end - start});
    }
    if (x->start + x->bytes < y->start + y->bytes) {
      ++x;
    } else {
      ++y;
    }
  }
  return result;
}

Ranges without(std::span<const MemoryRange> a, std::span<const MemoryRange> b) {
  Ranges result;
  for (const MemoryRange& range : a) {
    std::uint64_t start = range.start;
    for (const MemoryRange& hole : common({&range, 1}, b)) {
      if (hole.start != start) {
        result.push_back({start, hole.start - start});
      }
      start = hole.start + hole.bytes;
    }
    if (start != range.start + range.bytes) {
      result.push_back({start, range.start + range.bytes - start});
    }
  }
  return result;
}

Ranges united(std::span<const MemoryRange> a, std::span<const MemoryRange> b) {
  Ranges all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  std::ranges::sort(all, {}, &MemoryRange::start);
  Ranges result;
  for (const MemoryRange& range : all) {
    if (result.empty() || range.start > result.back().start + result.back().bytes) {
      result.push_back(range);
    } else {
      result.back().bytes = std::max(result.back().bytes, range.start + range.bytes - result.back().start);
    }
  }
  return result;
}

}  // namespace refrain::replay
