#include "backends/memory_through_host.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <span>
#include <vector>

using refrain::backends::MemoryCopy;
using refrain::backends::MemoryRange;
using refrain::backends::MemoryThroughHost;
using refrain::backends::Status;

namespace {

constexpr std::uint64_t kPage = MemoryThroughHost::kPage;

/// Memory of the host stands for the device's.
class Memory final : public MemoryThroughHost {
 public:
  std::vector<std::byte> bytes = std::vector<std::byte>(200 * kPage);
  std::uint64_t refused_at = 0;

  [[nodiscard]] MemoryRange range(std::uint64_t from, std::uint64_t count) const {
    return {reinterpret_cast<std::uint64_t>(bytes.data()) + from, count};
  }
  [[nodiscard]] const char* why_not(const refrain::capture::QueueInfo& /*queue*/,
                                    std::span<const refrain::capture::OperationView> /*operations*/) noexcept override {
    return nullptr;
  }
  bool begin(const refrain::capture::QueueInfo& /*queue*/, std::vector<MemoryRange>* /*device*/,
             std::vector<MemoryRange>* /*host*/, const char** /*why*/) noexcept override {
    return true;
  }
  void end(bool /*idle*/) noexcept override {}

 private:
  Status move(std::uint64_t to, std::uint64_t from, std::size_t count) noexcept override {
    if (from == refused_at || to == refused_at) {
      return {7};
    }
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), count);
    return {};
  }
  [[nodiscard]] Status out_of_memory() const noexcept override { return {8}; }
};

}  // namespace

TEST_CASE("each page of each range has a number, which its contents alone decide") {
  Memory memory;
  const std::vector<MemoryRange> ranges = {memory.range(8, 130 * kPage), memory.range(150 * kPage, 5)};
  std::vector<std::uint64_t> before;
  REQUIRE(memory.hash(ranges, &before).ok());
  REQUIRE(before.size() == 131);
  CHECK(before[0] == before[129]);
  CHECK(before[0] != before[130]);  // shorter

  for (const auto& [at, page] : {std::pair(std::uint64_t{8}, std::size_t{0}),
                                 {8 + 64 * kPage - 1, 63},
                                 {8 + 64 * kPage, 64},
                                 {8 + 130 * kPage - 1, 129},
                                 {150 * kPage + 4, 130}}) {
    memory.bytes[at] ^= std::byte{1};
    std::vector<std::uint64_t> after;
    REQUIRE(memory.hash(ranges, &after).ok());
    for (std::size_t i = 0; i < before.size(); ++i) {
      CHECK((after[i] != before[i]) == (i == page));
    }
    memory.bytes[at] ^= std::byte{1};
  }
}

TEST_CASE("a copy writes back what was there, where it is asked to") {
  Memory memory;
  for (std::size_t i = 0; i < memory.bytes.size(); ++i) {
    memory.bytes[i] = static_cast<std::byte>(i * 7 / 3);
  }
  const std::vector<std::byte> old = memory.bytes;
  const std::vector<MemoryRange> ranges = {memory.range(3, 100), memory.range(5 * kPage, 3 * kPage)};
  const auto copy = memory.copy(ranges, 4 * kPage);
  REQUIRE(copy != nullptr);
  std::fill(memory.bytes.begin(), memory.bytes.end(), std::byte{0});
  const std::vector<MemoryRange> part = {memory.range(4, 2), memory.range(6 * kPage, kPage)};
  REQUIRE(copy->write_back(part).ok());
  std::vector<std::byte> expected(old.size());
  std::copy_n(old.begin() + 4, 2, expected.begin() + 4);
  std::copy_n(old.begin() + 6 * kPage, kPage, expected.begin() + 6 * kPage);
  CHECK((memory.bytes == expected));
}

TEST_CASE("copies together take no more than they may") {
  Memory memory;
  const std::vector<MemoryRange> three = {memory.range(0, 3 * kPage)};
  const std::vector<MemoryRange> two = {memory.range(0, 2 * kPage)};
  auto first = memory.copy(three, 4 * kPage);
  REQUIRE(first != nullptr);
  CHECK(memory.copy(two, 4 * kPage) == nullptr);
  first.reset();
  CHECK(memory.copy(two, 4 * kPage) != nullptr);
  CHECK(memory.copy({}, 4 * kPage) == nullptr);
}

TEST_CASE("what the driver refuses is told") {
  Memory memory;
  const std::vector<MemoryRange> ranges = {memory.range(0, kPage), memory.range(9 * kPage, kPage)};
  const auto copy = memory.copy(ranges, 4 * kPage);
  memory.refused_at = ranges[0].start;
  std::vector<std::uint64_t> numbers;
  CHECK(memory.hash(ranges, &numbers).code == 7);
  CHECK(memory.copy(ranges, 4 * kPage) == nullptr);
  std::fill(memory.bytes.begin(), memory.bytes.end(), std::byte{1});
  CHECK(copy->write_back(ranges).code == 7);
  CHECK(memory.bytes[9 * kPage] == std::byte{0});  // the rest is written all the same
}
