// Memory by address in APIs whose queues are streams: numbers of pages by kernels, copies on the device while they fit.
//
// Api has, besides what stream.h lists, PageHash (the kernels of one context:
// load(driver), run(driver, table, pieces, pages, numbers, stream): see page_hash.h), allocate, release,
// zero, copy, and reach(driver, address): what the current context may do with memory.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "backends/addressed_memory.h"
#include "backends/memory_inventory.h"
#include "backends/streams/memory_piece.h"
#include "backends/streams/named_memory.h"
#include "backends/streams/stream.h"

namespace refrain::backends {

/// What the current context may do with it; kNone: it is not there any more.
template <class Api>
[[nodiscard]] Reach reach_now(const typename Api::Driver& driver, const LiveMemory& memory) noexcept {
  Allocation now;
  const bool same = Api::find_allocation(driver, memory.start, &now) &&
                    (now.id != 0 ? now.id == memory.id : now.start == memory.start && now.bytes >= memory.bytes);
  return same ? Api::reach(driver, memory.start) : Reach::kNone;
}

/// Whether one is a copy from or to another device, whose memory kernels here need not reach.
template <class Api>
[[nodiscard]] bool copies_further(const typename Api::Driver& driver, int device,
                                  std::span<const capture::OperationView> operations) noexcept {
  const auto is_elsewhere = [&](std::uint64_t address) {
    Allocation found;
    return Api::find_allocation(driver, address, &found) && found.type == MemoryType::kDevice && found.device != device;
  };
  return std::ranges::any_of(operations, [&](const capture::OperationView& operation) {
    return (operation.kind() == capture::OperationKind::kPointerCopy ||
            operation.kind() == capture::OperationKind::kPointerCopyRect) &&
           (is_elsewhere(operation.handle_of(0)) || is_elsewhere(operation.handle_of(1)));
  });
}

/// Without waiting for any work: see AddressedMemory::why_not().
template <class Api>
[[nodiscard]] const char* why_not_now(const typename Api::Driver& driver, const MemoryInventory& inventory,
                                      const capture::QueueInfo& queue,
                                      std::span<const capture::OperationView> operations) noexcept {
  const typename Api::ContextHandle context = Stream<Api>::of(queue.handle).context;
  const typename Api::RelaxedCapture relaxed(driver);
  const typename Api::Scope scope(driver, context);
  if (scope.status() != Api::kSuccess) {
    return nullptr;
  }
  const int device = Api::device_of(driver, context);
  const char* const why =
      why_not_comparable(inventory, device, [&](const LiveMemory& memory) { return reach_now<Api>(driver, memory); });
  return why == nullptr && copies_further<Api>(driver, device, operations)
             ? "it copies from or to another device, whose memory cannot be put back with its own"
             : why;
}

template <class Api>
class StreamMemory final : public AddressedMemory {
 public:
  explicit StreamMemory(const typename Api::Driver& driver) noexcept : driver_(driver) {}

  /// Before the first check. `inventory` must outlive this.
  void use(MemoryInventory& inventory) noexcept { inventory_ = &inventory; }
  [[nodiscard]] bool usable() const noexcept { return inventory_ != nullptr; }
  /// What was made in it goes with it. Between begin_freeing() and end_freeing() of the inventory, one call at a time.
  void context_gone(typename Api::ContextHandle context) noexcept {
    if (inventory_ == nullptr) {
      return;
    }
    for (auto each = kernels_.begin(); each != kernels_.end();) {
      each = context == Api::kNoContext || each->first == context ? kernels_.erase(each) : std::next(each);
    }
    std::erase_if(unused_, [&](const Piece& piece) { return context == Api::kNoContext || piece.context == context; });
  }

  [[nodiscard]] const char* why_not(const capture::QueueInfo& queue,
                                    std::span<const capture::OperationView> operations) noexcept override {
    return why_not_now<Api>(driver_, *inventory_, queue, operations);
  }
  bool begin(const capture::QueueInfo& queue, std::vector<MemoryRange>* device, std::vector<MemoryRange>* host,
             const char** why) noexcept override;
  void end(bool idle) noexcept override;
  Status hash(std::span<const MemoryRange> ranges, std::vector<std::uint64_t>* numbers) noexcept override;
  Status read(const MemoryRange& range, std::byte* into) noexcept override;
  std::unique_ptr<MemoryCopy> copy(std::span<const MemoryRange> ranges, std::uint64_t most) noexcept override;

 private:
  /// Memory of ours on the device.
  struct Piece {
    typename Api::ContextHandle context;
    std::uint64_t address = 0, bytes = 0;
  };
  class Copy;

  [[nodiscard]] typename Api::Status prepare() noexcept;
  /// One pass over the pieces, in one launch; sets their first pages. `numbers`: of all pages, or null.
  [[nodiscard]] typename Api::Status pass(std::span<MemoryPiece> pieces, std::vector<std::uint64_t>* numbers) noexcept;
  [[nodiscard]] typename Api::Status allocate(std::uint64_t bytes, Piece* piece) noexcept;
  void free_unused() noexcept;

  const typename Api::Driver& driver_;
  MemoryInventory* inventory_ = nullptr;
  std::map<typename Api::ContextHandle, typename Api::PageHash> kernels_;  ///< of each context
  std::vector<Piece> unused_;                                              ///< to be given back when the device is idle
  std::uint64_t in_copies_ = 0;                                            ///< bytes
  bool is_held_ = false;  ///< the inventory, by the check that is under way
  // Of the check that is under way. A stream of our own would make the program's graphs slower from then on.
  const typename Api::PageHash* current_ = nullptr;
  typename Api::StreamHandle stream_ = {};
  typename Api::ContextHandle context_ = Api::kNoContext;
};

template <class Api>
class StreamMemory<Api>::Copy final : public MemoryCopy {
 public:
  /// Room for these ranges. May throw std::bad_alloc.
  Copy(StreamMemory& owner, std::span<const MemoryRange> ranges) : owner_(owner) {
    pieces_.reserve(ranges.size());
    for (const MemoryRange& range : ranges) {
      // Kernels move much at once only between addresses that are equally far from a multiple of it.
      constexpr std::uint64_t kTogether = 16;
      const std::uint64_t place = (bytes_ + kTogether - 1) / kTogether * kTogether + range.start % kTogether;
      pieces_.push_back({range.start, place, range.bytes});
      bytes_ = place + range.bytes;
    }
  }
  ~Copy() override {
    if (memory_.address != 0) {
      owner_.in_copies_ -= memory_.bytes;
      owner_.unused_.push_back(memory_);  // there is room, see allocate()
    }
  }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] typename Api::Status take() noexcept {
    const typename Api::Status status = owner_.allocate(bytes_, &memory_);
    if (status != Api::kSuccess) {
      memory_.address = 0;
      return status;
    }
    owner_.in_copies_ += memory_.bytes;
    for (MemoryPiece& piece : pieces_) {
      piece.to += memory_.address;
    }
    return owner_.pass(pieces_, nullptr);
  }
  /// By the driver, which knows what is to be done for constant memory.
  Status write_back(std::span<const MemoryRange> ranges) noexcept override {
    const typename Api::RelaxedCapture relaxed(owner_.driver_);
    const typename Api::Scope scope(owner_.driver_, owner_.context_);
    typename Api::Status status = scope.status();
    auto piece = pieces_.begin();
    for (const MemoryRange& range : ranges) {
      piece = std::find_if(piece, pieces_.end(),
                           [&](const MemoryPiece& each) { return range.start - each.from < each.bytes; });
      if (piece == pieces_.end()) {
        return {Api::kInvalidHandle};
      }
      if (status == Api::kSuccess) {
        status = Api::copy(owner_.driver_, range.start, piece->to + (range.start - piece->from), range.bytes,
                           owner_.stream_);
      }
    }
    const typename Api::Status waited = Api::synchronize(owner_.driver_, owner_.stream_);
    return {status != Api::kSuccess ? status : waited};
  }

 private:
  StreamMemory& owner_;
  std::vector<MemoryPiece> pieces_;
  std::uint64_t bytes_ = 0;
  Piece memory_{};
};

template <class Api>
bool StreamMemory<Api>::begin(const capture::QueueInfo& queue, std::vector<MemoryRange>* device,
                              std::vector<MemoryRange>* host, const char** why) noexcept {
  is_held_ = inventory_->hold();
  if (!is_held_) {
    *why = "another thread frees memory";
    return false;
  }
  context_ = Stream<Api>::of(queue.handle).context;
  stream_ = Stream<Api>::of(queue.handle).handle;
  const typename Api::RelaxedCapture relaxed(driver_);
  const typename Api::Scope scope(driver_, context_);
  if (scope.status() != Api::kSuccess || prepare() != Api::kSuccess) {
    *why = "what compares memory could not be loaded into the device";
    return false;
  }
  free_unused();
  return list_memory(
      *inventory_, Api::device_of(driver_, context_),
      [&](const LiveMemory& memory) { return reach_now<Api>(driver_, memory); }, device, host, why);
}

template <class Api>
void StreamMemory<Api>::end(bool idle) noexcept {
  if (idle && context_ != Api::kNoContext) {
    const typename Api::RelaxedCapture relaxed(driver_);
    const typename Api::Scope scope(driver_, context_);
    if (scope.status() == Api::kSuccess) {
      free_unused();
    }
  }
  context_ = Api::kNoContext;
  current_ = nullptr;
  if (std::exchange(is_held_, false)) {
    inventory_->let_go();
  }
}

/// The context must be current.
template <class Api>
typename Api::Status StreamMemory<Api>::prepare() noexcept {
  const auto [place, fresh] = kernels_.try_emplace(context_);
  if (fresh) {
    if (const typename Api::Status status = place->second.load(driver_); status != Api::kSuccess) {
      kernels_.erase(place);
      return status;
    }
  }
  current_ = &place->second;
  return Api::kSuccess;
}

template <class Api>
typename Api::Status StreamMemory<Api>::allocate(std::uint64_t bytes, Piece* piece) noexcept {
  try {
    unused_.reserve(unused_.size() + 8);  // for it, when it is not used any more
  } catch (...) {
    return Api::kOutOfMemory;
  }
  piece->context = context_;
  piece->bytes = bytes;
  return Api::allocate(driver_, bytes, &piece->address);
}

template <class Api>
void StreamMemory<Api>::free_unused() noexcept {
  std::erase_if(unused_, [&](const Piece& piece) {
    if (piece.context != context_) {
      return false;
    }
    static_cast<void>(Api::release(driver_, piece.address));
    return true;
  });
}

/// The context must be current.
template <class Api>
typename Api::Status StreamMemory<Api>::pass(std::span<MemoryPiece> pieces,
                                             std::vector<std::uint64_t>* numbers) noexcept {
  std::uint64_t pages = 0;
  for (MemoryPiece& piece : pieces) {
    piece.first_page = pages;
    pages += piece.pages();
  }
  try {
    if (numbers != nullptr) {
      numbers->assign(pages, 0);
    }
  } catch (const std::bad_alloc&) {
    return Api::kOutOfMemory;
  }
  if (pages == 0) {
    return Api::kSuccess;
  }
  const std::uint64_t of_numbers = numbers != nullptr ? pages * sizeof(std::uint64_t) : 0;
  Piece memory;
  typename Api::Status status = allocate(pieces.size_bytes() + of_numbers, &memory);
  if (status != Api::kSuccess) {
    return status;
  }
  const std::uint64_t at = numbers != nullptr ? memory.address + pieces.size_bytes() : 0;
  status =
      Api::copy(driver_, memory.address, reinterpret_cast<std::uint64_t>(pieces.data()), pieces.size_bytes(), stream_);
  if (status == Api::kSuccess && at != 0) {
    status = Api::zero(driver_, at, of_numbers, stream_);
  }
  if (status == Api::kSuccess) {
    status = current_->run(driver_, memory.address, pieces.size(), pages, at, stream_);
  }
  if (status == Api::kSuccess && at != 0) {
    status = Api::copy(driver_, reinterpret_cast<std::uint64_t>(numbers->data()), at, of_numbers, stream_);
  }
  const typename Api::Status waited = Api::synchronize(driver_, stream_);
  static_cast<void>(Api::release(driver_, memory.address));
  return status != Api::kSuccess ? status : waited;
}

template <class Api>
Status StreamMemory<Api>::hash(std::span<const MemoryRange> ranges, std::vector<std::uint64_t>* numbers) noexcept {
  const typename Api::RelaxedCapture relaxed(driver_);
  const typename Api::Scope scope(driver_, context_);
  if (scope.status() != Api::kSuccess) {
    return {scope.status()};
  }
  try {
    std::vector<MemoryPiece> pieces;
    pieces.reserve(ranges.size());
    for (const MemoryRange& range : ranges) {
      pieces.push_back({.from = range.start, .bytes = range.bytes});
    }
    return {pass(pieces, numbers)};
  } catch (const std::bad_alloc&) {
    return {Api::kOutOfMemory};
  }
}

template <class Api>
Status StreamMemory<Api>::read(const MemoryRange& range, std::byte* into) noexcept {
  const typename Api::RelaxedCapture relaxed(driver_);
  const typename Api::Scope scope(driver_, context_);
  typename Api::Status status = scope.status();
  if (status == Api::kSuccess) {
    status = Api::copy(driver_, reinterpret_cast<std::uint64_t>(into), range.start, range.bytes, stream_);
  }
  const typename Api::Status waited = Api::synchronize(driver_, stream_);
  return {status != Api::kSuccess ? status : waited};
}

template <class Api>
std::unique_ptr<MemoryCopy> StreamMemory<Api>::copy(std::span<const MemoryRange> ranges, std::uint64_t most) noexcept {
  try {
    auto made = std::make_unique<Copy>(*this, ranges);
    if (made->bytes() == 0 || made->bytes() > most || in_copies_ > most - made->bytes()) {
      return nullptr;
    }
    const typename Api::RelaxedCapture relaxed(driver_);
    const typename Api::Scope scope(driver_, context_);
    return scope.status() == Api::kSuccess && made->take() == Api::kSuccess ? std::move(made) : nullptr;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace refrain::backends
