#include "replay/graph/argument_hashes.h"

#include <xxhash.h>

#include <algorithm>

namespace refrain::replay {

void ArgumentHashes::compute(std::span<const capture::OperationView> operations) {
  clear();
  each_.reserve(operations.size());
  std::uint64_t whole = operations.size();
  for (const capture::OperationView& operation : operations) {
    const auto bytes = operation.comparable();
    std::uint64_t hash = XXH3_64bits(bytes.data(), bytes.size());
    hash = capture::mix(hash, operation.header().function);
    hash = capture::mix(hash, operation.header().queue);
    each_.push_back(static_cast<std::uint32_t>(hash));
    whole = capture::mix(whole, hash);
  }
  whole_ = whole;
}

std::size_t ArgumentHashes::differing(const ArgumentHashes& other) const noexcept {
  const std::size_t common = std::min(each_.size(), other.each_.size());
  std::size_t count = std::max(each_.size(), other.each_.size()) - common;
  for (std::size_t i = 0; i < common; ++i) {
    count += each_[i] != other.each_[i] ? 1 : 0;
  }
  return count;
}

}  // namespace refrain::replay
