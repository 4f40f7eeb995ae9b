// Memory of a captured program whose API has pointers, made again at other addresses.
//
// What parameters of kernels mean is not known: every aligned word of them that lies in captured memory is taken
// for an address. Memory that was freed and its address given out again is one region with what came after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "capture/model.h"

namespace refrain::replay {

class BenchAddresses {
 public:
  /// Neighbouring memory that overlaps, of all that is used.
  struct Region {
    std::uint64_t address = 0;  ///< in the captured process
    std::uint64_t size = 0;
    std::uint64_t made = 0;                  ///< where it is now; whoever makes it says so
    std::vector<capture::ObjectId> buffers;  ///< captured allocations in it, oldest first
  };

  explicit BenchAddresses(const capture::Capture& capture);

  /// True if the capture describes any memory by address at all.
  [[nodiscard]] bool any() const noexcept { return !known_.empty(); }
  /// Notes that the memory at `address` is needed. False if the capture knows of none there.
  bool use(std::uint64_t address);
  /// Everything that was noted, joined; call it once, after the last use().
  std::vector<Region>& join();

  /// Where `address` is now, if `bytes` from it on are in one region. With `bytes` = 0 the end of a region, or of a
  /// captured allocation, is an address, too: programs pass it as the place to stop at.
  [[nodiscard]] std::optional<std::uint64_t> relocated(std::uint64_t address, std::uint64_t bytes) const;

 private:
  struct Known {
    std::uint64_t address, end;
    std::uint64_t farthest;  ///< end of anything up to here
    capture::ObjectId buffer;
    bool used;
  };
  std::vector<Known> known_;  ///< by address
  std::vector<Region> regions_;
};

/// Calls `visit(offset in the record's bytes, word)` for every word of an operation that may be an address: 8-byte
/// words of values, and pointers.
void for_each_address(const capture::OperationView& operation,
                      const std::function<void(std::size_t offset, std::uint64_t word)>& visit);

/// Puts new addresses in place of those in `record` (a copy of the operation). False, and `why`, if it names memory
/// by pointer that is not known.
bool relocate(const BenchAddresses& addresses, const capture::OperationView& operation, std::byte* record,
              std::string* why);

}  // namespace refrain::replay
