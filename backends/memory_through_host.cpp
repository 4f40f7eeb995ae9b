#include "backends/memory_through_host.h"

#include <xxhash.h>

#include <algorithm>
#include <new>
#include <utility>

namespace refrain::backends {
namespace {

std::uint64_t address_of(const std::byte* memory) noexcept {
  return reinterpret_cast<std::uint64_t>(memory);
}

}  // namespace

class MemoryThroughHost::Copy final : public MemoryCopy {
 public:
  /// May throw std::bad_alloc.
  Copy(MemoryThroughHost& owner, std::span<const MemoryRange> ranges, std::uint64_t bytes)
      : owner_(owner), ranges_(ranges.begin(), ranges.end()), contents_(new std::byte[bytes]), bytes_(bytes) {
    owner_.in_copies_ += bytes_;
  }
  ~Copy() override { owner_.in_copies_ -= bytes_; }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  [[nodiscard]] Status take() noexcept {
    Status status;
    std::byte* into = contents_.get();
    for (const MemoryRange& range : ranges_) {
      status = status.ok() ? owner_.read(range, into) : status;
      into += range.bytes;
    }
    return status;
  }
  Status write_back(std::span<const MemoryRange> ranges) noexcept override {
    Status status;
    for (const MemoryRange& range : ranges) {
      const std::byte* from = contents_.get();
      auto copied = ranges_.begin();
      for (; range.start - copied->start >= copied->bytes; ++copied) {
        from += copied->bytes;
      }
      const Status written = owner_.move(range.start, address_of(from) + (range.start - copied->start), range.bytes);
      status = status.ok() ? written : status;
    }
    return status;
  }

 private:
  MemoryThroughHost& owner_;
  const std::vector<MemoryRange> ranges_;
  const std::unique_ptr<std::byte[]> contents_;
  const std::uint64_t bytes_;
};

Status MemoryThroughHost::hash(std::span<const MemoryRange> ranges, std::vector<std::uint64_t>* numbers) noexcept {
  constexpr std::uint64_t kBlock = 64 * kPage;
  Status status;
  try {
    numbers->clear();
    const std::unique_ptr<std::byte[]> block(new std::byte[kBlock]);
    for (const MemoryRange& range : ranges) {
      for (std::uint64_t at = 0; at < range.bytes && status.ok(); at += kBlock) {
        const std::uint64_t bytes = std::min(kBlock, range.bytes - at);
        status = read({range.start + at, bytes}, block.get());
        for (std::uint64_t page = 0; page < bytes; page += kPage) {
          numbers->push_back(XXH3_64bits(block.get() + page, std::min(kPage, bytes - page)));
        }
      }
    }
  } catch (const std::bad_alloc&) {
    status = out_of_memory();
  }
  return status;
}

Status MemoryThroughHost::read(const MemoryRange& range, std::byte* into) noexcept {
  return move(address_of(into), range.start, range.bytes);
}

std::unique_ptr<MemoryCopy> MemoryThroughHost::copy(std::span<const MemoryRange> ranges, std::uint64_t most) noexcept {
  std::uint64_t bytes = 0;
  for (const MemoryRange& range : ranges) {
    bytes += range.bytes;
  }
  if (bytes == 0 || bytes > most || in_copies_ > most - bytes) {
    return nullptr;
  }
  try {
    auto made = std::make_unique<Copy>(*this, ranges, bytes);
    return made->take().ok() ? std::move(made) : nullptr;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace refrain::backends
