// What a program told besides operations, each thing once, until the writer takes it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "capture/definitions.h"
#include "capture/recorder.h"
#include "capture/stored_contents.h"

namespace refrain::capture {

/// Not thread-safe. Members may throw std::bad_alloc.
class PendingDefinitions {
 public:
  struct OwnedCode {
    CodeInfo info;
    std::vector<std::byte> bytes;
  };
  struct Taken {
    DefinitionLists definitions;
    std::vector<OwnedCode> code;
    std::vector<std::vector<std::uint8_t>> contents;  ///< payloads of Contents records
    std::vector<ContentsReference> references;        ///< to these, and to earlier ones
    std::size_t bytes = 0;
  };

  void add(const Definitions& definitions);
  /// Adds it if it is new. Recorder::reason().
  [[nodiscard]] std::uint16_t reason(std::string_view why);
  void add(const CodeInfo& info);
  /// Whether add_piece() is to follow for each piece of a buffer's contents.
  bool begin_contents(ObjectId buffer, std::span<const StoredContents::Piece> pieces);
  void add_piece(ObjectId buffer, std::uint64_t offset, const StoredContents::Piece& piece);
  /// Of a buffer of which so many bytes are not told.
  void leave_out_contents(std::uint64_t bytes);

  /// Of what waits for the writer: code and contents.
  [[nodiscard]] std::size_t bytes() const noexcept { return pending_.bytes; }
  [[nodiscard]] const StoredContents& contents() const noexcept { return stored_; }
  [[nodiscard]] std::span<const QueueInfo> queues() const noexcept {
    return std::get<std::vector<QueueInfo>>(pending_.definitions);
  }
  Taken take() { return std::exchange(pending_, {}); }

 private:
  using Ids = std::unordered_set<std::uint64_t>;
  Taken pending_;
  // What was told already.
  std::array<Ids, std::variant_size_v<Definitions>> known_definitions_;
  Ids known_code_, known_contents_;
  std::map<std::string, std::uint16_t, std::less<>> reasons_;
  StoredContents stored_;
};

}  // namespace refrain::capture
