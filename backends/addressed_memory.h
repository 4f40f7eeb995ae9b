// Memory of the program that kernels reach by address, as verify looks at it: compared by a number for each page, put
// back from copies. Which of it a kernel touches is not known, so it is all of it.
//
// For one check at a time, which sees to it that nothing else is submitted meanwhile; every function waits for what it
// does. None throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backends/backend.h"
#include "backends/memory_inventory.h"
#include "backends/reach.h"

namespace refrain::backends {

struct MemoryRange {
  std::uint64_t start = 0, bytes = 0;
  bool operator==(const MemoryRange&) const = default;
};

/// Contents of some ranges at one time.
class MemoryCopy {
 public:
  virtual ~MemoryCopy() = default;
  /// Writes them back, all or those that lie in `ranges`, each of which lies in one that was copied.
  virtual Status write_back(std::span<const MemoryRange> ranges) noexcept = 0;
};

class AddressedMemory {
 public:
  static constexpr std::uint64_t kPage = std::uint64_t{64} << 10U;

  virtual ~AddressedMemory() = default;
  /// Why these operations in the queue cannot be compared, as far as that is known without waiting for any; null:
  /// begin() says. For users, with static lifetime.
  [[nodiscard]] virtual const char* why_not(const capture::QueueInfo& queue,
                                            std::span<const capture::OperationView> operations) noexcept = 0;
  /// Everything that work of the queue may write, by address, and no overlaps: memory of the device, and of the host,
  /// which the program may use meanwhile. False: there is more that cannot be compared; `why` is for users, with static
  /// lifetime. Until end() calls of the program that free memory wait.
  virtual bool begin(const capture::QueueInfo& queue, std::vector<MemoryRange>* device, std::vector<MemoryRange>* host,
                     const char** why) noexcept = 0;
  /// `idle`: nothing runs on the device, so that the memory of copies can be given back at once.
  virtual void end(bool idle) noexcept = 0;

  /// A number for each page of each range, in their order; the last page of a range may be shorter. Equal contents have
  /// equal numbers.
  virtual Status hash(std::span<const MemoryRange> ranges, std::vector<std::uint64_t>* numbers) noexcept = 0;
  /// Into memory of the host.
  virtual Status read(const MemoryRange& range, std::byte* into) noexcept = 0;
  /// Null if it would take more than `most` bytes together with the other copies that live, or there is no memory.
  virtual std::unique_ptr<MemoryCopy> copy(std::span<const MemoryRange> ranges, std::uint64_t most) noexcept = 0;
};

/// What why_not() tells of an inventory. `reach_of` as below.
[[nodiscard]] const char* why_not_comparable(const MemoryInventory& inventory, int own_device,
                                             const std::function<Reach(const LiveMemory&)>& reach_of) noexcept;

/// What begin() tells of an inventory that is held. `reach_of`: what work of the queue may do with memory of the
/// inventory, kNone where the driver has something else there by now, since what was freed in a way that nobody saw
/// must not be touched.
[[nodiscard]] bool list_memory(const MemoryInventory& inventory, int own_device,
                               const std::function<Reach(const LiveMemory&)>& reach_of,
                               std::vector<MemoryRange>* device, std::vector<MemoryRange>* host,
                               const char** why) noexcept;

}  // namespace refrain::backends
