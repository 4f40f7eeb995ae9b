// Which arguments of a stretch change from one occurrence to the next: for who asks why it is not replayed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "capture/operation.h"
#include "replay/graph/executable.h"

namespace refrain::replay {

/// Not thread-safe: the graph's entry guards it.
class ArgumentChanges {
 public:
  /// The next occurrence. May throw std::bad_alloc.
  void add(std::span<const capture::OperationView> operations);
  /// A sentence without its full stop that names what changed most often.
  [[nodiscard]] std::string text() const;
  /// Gives back the memory of the last occurrence; what changed stays known. Returns the bytes.
  std::size_t release() noexcept;
  /// Bytes that release() would give back.
  [[nodiscard]] std::size_t memory() const noexcept { return last_.storage.size(); }

 private:
  static constexpr std::uint32_t kNoArgument = ~0U;  // format
  struct Place {
    std::uint32_t operation = 0;
    std::uint32_t argument = 0;                                     ///< kNoArgument: something else of it, as its size
    friend auto operator<=>(const Place&, const Place&) = default;  // NOLINT(modernize-use-nullptr): none is there
  };
  void compare(std::uint32_t index, const capture::OperationView& before, const capture::OperationView& now);

  Occurrence last_;
  std::map<Place, std::uint64_t> times_;
};

}  // namespace refrain::replay
