// Which contents of memory a capture file has: each piece once, and no more than it is to hold. The writer's side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "capture/limits.h"
#include "capture/operation.h"

namespace refrain::capture {

/// What a piece of contents is known by, as argument sets are. To compare bytes, those of all pieces would have to stay
/// in the program's memory.
struct ContentsHash {
  std::uint64_t low = 0, high = 0;
  friend bool operator==(const ContentsHash&, const ContentsHash&) = default;
};

/// A piece of a buffer's contents that is in the file already. As in format.fbs.
struct ContentsReference {
  ObjectId buffer = 0;
  std::uint64_t offset = 0;
  std::uint32_t piece = 0;  ///< which of the Contents records
};

/// Contents as the file has them.
std::vector<std::span<const std::byte>> pieces_of(std::span<const std::byte> contents);
ContentsHash hash_of(std::span<const std::byte> piece) noexcept;

/// Not thread-safe.
class StoredContents {
 public:
  struct Piece {
    std::span<const std::byte> bytes;
    ContentsHash hash;
  };
  /// Takes room for what is new of a buffer's contents. False if they are left out, as that does not fit, or as no
  /// buffer may have so many. (What two threads tell at the same time takes room twice.)
  bool reserve(std::span<const Piece> pieces);
  /// The number of the piece in the file, if it is there.
  [[nodiscard]] std::optional<std::uint32_t> find(const ContentsHash& hash) const;
  /// The next piece in the file is this one.
  void add(const ContentsHash& hash);

  void leave_out(std::uint64_t bytes) noexcept {
    ++left_out_buffers_;
    left_out_bytes_ += bytes;
  }
  [[nodiscard]] std::uint64_t left_out_buffers() const noexcept { return left_out_buffers_; }
  [[nodiscard]] std::uint64_t left_out_bytes() const noexcept { return left_out_bytes_; }

 private:
  struct Hasher {
    std::size_t operator()(const ContentsHash& hash) const noexcept { return hash.low; }
  };
  std::unordered_map<ContentsHash, std::uint32_t, Hasher> numbers_;
  std::uint32_t count_ = 0;
  std::uint64_t bytes_ = 0;  ///< for which room was taken
  std::uint64_t left_out_buffers_ = 0, left_out_bytes_ = 0;
};

}  // namespace refrain::capture
