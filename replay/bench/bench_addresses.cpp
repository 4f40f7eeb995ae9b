#include "replay/bench/bench_addresses.h"

#include <algorithm>
#include <cstring>

namespace refrain::replay {

using capture::ArgumentKind;
using capture::OperationView;

BenchAddresses::BenchAddresses(const capture::Capture& capture) {
  for (const auto& [id, buffer] : capture.buffers) {
    if (buffer.address != 0 && buffer.size != 0) {
      known_.push_back({buffer.address, buffer.address + buffer.size, 0, id, false});
    }
  }
  std::ranges::sort(known_, [](const Known& a, const Known& b) {
    return a.address != b.address ? a.address < b.address : a.buffer < b.buffer;
  });
  std::uint64_t farthest = 0;
  for (Known& known : known_) {
    farthest = std::max(farthest, known.end);
    known.farthest = farthest;
  }
}

bool BenchAddresses::use(std::uint64_t address) {
  bool inside = false;
  Known* before = nullptr;
  auto at = std::ranges::upper_bound(known_, address, {}, &Known::address);
  while (at != known_.begin()) {
    --at;
    if (at->farthest < address) {
      break;
    }
    if (at->end > address) {
      at->used = true;
      inside = true;
    } else if (at->end == address) {
      before = &*at;
    }
  }
  if (!inside && before != nullptr) {
    before->used = true;
  }
  return inside || before != nullptr;
}

std::vector<BenchAddresses::Region>& BenchAddresses::join() {
  for (const Known& known : known_) {
    if (!known.used) {
      continue;
    }
    if (regions_.empty() || known.address >= regions_.back().address + regions_.back().size) {
      regions_.push_back({known.address, 0, 0, {}});
    }
    Region& region = regions_.back();
    region.size = std::max(region.size, known.end - region.address);
    region.buffers.push_back(known.buffer);
  }
  for (Region& region : regions_) {
    std::ranges::sort(region.buffers);  // ids grow
  }
  return regions_;
}

std::optional<std::uint64_t> BenchAddresses::relocated(std::uint64_t address, std::uint64_t bytes) const {
  auto after = std::ranges::upper_bound(regions_, address, {}, &Region::address);
  if (after == regions_.begin()) {
    return std::nullopt;
  }
  const Region& region = *std::prev(after);
  const std::uint64_t offset = address - region.address;
  if (offset > region.size || bytes > region.size - offset) {
    return std::nullopt;
  }
  return region.made + offset;
}

void for_each_address(const OperationView& operation,
                      const std::function<void(std::size_t offset, std::uint64_t word)>& visit) {
  const std::byte* values = operation.values().data();
  auto at = static_cast<std::size_t>(values - operation.bytes().data());
  for (const capture::ArgumentDescriptor& argument : operation.arguments()) {
    if (argument.kind == ArgumentKind::kValue || argument.kind == ArgumentKind::kPointer) {
      for (std::size_t in = 0; in + sizeof(std::uint64_t) <= argument.size; in += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, operation.bytes().data() + at + in, sizeof(word));
        visit(at + in, word);
      }
    }
    at += argument.stored_bytes();
  }
}

bool relocate(const BenchAddresses& addresses, const OperationView& operation, std::byte* record, std::string* why) {
  bool good = true;
  for_each_address(operation, [&](std::size_t offset, std::uint64_t word) {
    if (const auto made = addresses.relocated(word, 0)) {
      std::memcpy(record + offset, &*made, sizeof(*made));
    }
  });
  for (std::size_t i = 0; i < operation.arguments().size() && good; ++i) {
    if (operation.arguments()[i].kind == ArgumentKind::kPointer &&
        !addresses.relocated(operation.handle_of(i), capture::bytes_named(operation, i))) {
      *why = "it names memory that the capture does not describe";
      good = false;
    }
  }
  return good;
}

}  // namespace refrain::replay
