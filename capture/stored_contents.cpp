#include "capture/stored_contents.h"

#include <xxhash.h>

#include <algorithm>
#include <unordered_set>

namespace refrain::capture {

std::vector<std::span<const std::byte>> pieces_of(std::span<const std::byte> contents) {
  std::vector<std::span<const std::byte>> pieces;
  while (!contents.empty()) {
    pieces.push_back(contents.first(std::min<std::size_t>(format::kContentsPiece, contents.size())));
    contents = contents.subspan(pieces.back().size());
  }
  return pieces;
}

ContentsHash hash_of(std::span<const std::byte> piece) noexcept {
  // The length goes into it: zeros of two lengths are two pieces.
  const XXH128_hash_t hash = XXH3_128bits(piece.data(), piece.size());
  return {hash.low64, hash.high64};
}

bool StoredContents::reserve(std::span<const Piece> pieces) {
  std::unordered_set<ContentsHash, Hasher> counted;
  std::uint64_t all = 0, added = 0;
  for (const Piece& piece : pieces) {
    all += piece.bytes.size();
    if (!numbers_.contains(piece.hash) && counted.insert(piece.hash).second) {
      added += piece.bytes.size();
    }
  }
  if (all > format::kMaxContents || added > format::kMaxContents - bytes_) {
    return false;
  }
  bytes_ += added;
  return true;
}

std::optional<std::uint32_t> StoredContents::find(const ContentsHash& hash) const {
  const auto known = numbers_.find(hash);
  return known != numbers_.end() ? std::optional(known->second) : std::nullopt;
}

void StoredContents::add(const ContentsHash& hash) {
  numbers_.emplace(hash, count_++);
}

}  // namespace refrain::capture
