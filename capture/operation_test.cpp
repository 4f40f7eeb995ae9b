#include "capture/operation.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

namespace refrain::capture {
namespace {

RecordBytes kernel_record(std::uint32_t scalar, WaitRef wait) {
  RecordBytes bytes;
  OperationWriter writer(bytes);
  OperationHeader& header = writer.begin(OperationKind::kKernel, 5);
  header.function = 9;
  header.queue = 2;
  writer.words(words::Kernel{.dimensions = 0, .offset = {1, 2, 3}, .global = {4, 5, 6}, .local = {7, 8, 9}});
  writer.argument_handle(ArgumentKind::kBuffer, 3, 0xABCD);
  writer.argument(ArgumentKind::kValue, 0, std::as_bytes(std::span(&scalar, 1)));
  writer.argument_local(256);
  writer.wait(wait);
  writer.finish();
  return bytes;
}

}  // namespace

TEST_CASE("a record gives back what was written") {
  const auto bytes = kernel_record(42, kInternalWait | 7);
  REQUIRE(OperationView::well_formed(bytes));
  const OperationView view(bytes.data());
  CHECK(view.kind() == OperationKind::kKernel);
  REQUIRE(view.words().size() == words::kCount<words::Kernel>);
  CHECK(view.words()[7] == 7);
  CHECK(view.as<words::Kernel>().local == words::Three{7, 8, 9});
  REQUIRE(view.arguments().size() == 3);
  CHECK(view.handle_of(0) == 0xABCD);
  CHECK(view.handle_of(1) == 0);  // four bytes: no handle
  CHECK(view.value_of(1).size() == 4);
  CHECK(view.value_of(2).empty());
  CHECK(view.arguments()[2].size == 256);
  REQUIRE(view.waits().size() == 1);
  CHECK(view.waits()[0] == (kInternalWait | 7));
  CHECK(view.bytes().size() == bytes.size());
}

TEST_CASE("several records lie one behind the other") {
  RecordBytes bytes;
  OperationWriter writer(bytes);
  writer.begin(OperationKind::kMarker, 1);
  const std::size_t first = writer.finish();
  writer.begin(OperationKind::kOther, 2);
  writer.word(11);
  const std::size_t second = writer.finish();
  CHECK(first == 0);
  CHECK(second == OperationView(bytes.data()).bytes().size());
  CHECK(OperationView(bytes.data() + second).words()[0] == 11);
}

TEST_CASE("same work means same arguments, not same waits") {
  const auto a = kernel_record(42, kInternalWait | 7);
  const auto b = kernel_record(42, 12345);
  const auto c = kernel_record(43, kInternalWait | 7);
  CHECK(same_work(OperationView(a.data()), OperationView(b.data())));
  CHECK_FALSE(same_work(OperationView(a.data()), OperationView(c.data())));
}

TEST_CASE("a copy of rows uses memory at each end by the pitch of that end") {
  RecordBytes bytes;
  OperationWriter writer(bytes);
  writer.begin(OperationKind::kPointerCopyRect, 5);
  // 4 rows of 16 bytes in 2 slices; to: 32 bytes apart, 5 rows to a slice; from: 64 bytes apart, 8 rows to a slice.
  writer.words(words::PointerCopyRect{.row_bytes = 16,
                                      .rows = 4,
                                      .slices = 2,
                                      .to_pitch = 32,
                                      .to_rows = 5,
                                      .from_pitch = 64,
                                      .from_rows = 8,
                                      .blocking = 0});
  writer.argument_handle(ArgumentKind::kPointer, 0, 0x1000);
  writer.argument_handle(ArgumentKind::kPointer, 0, 0x2000);
  writer.finish();
  const OperationView copy(bytes.data());
  CHECK(bytes_named(copy, 0) == (5 + 3) * 32 + 16);
  CHECK(bytes_named(copy, 1) == (8 + 3) * 64 + 16);
}

TEST_CASE("a copy of a region uses memory at each end up to the end of its last row") {
  const auto named = [](const words::CopyBufferRect& numbers, std::size_t index) {
    RecordBytes bytes;
    OperationWriter writer(bytes);
    writer.begin(OperationKind::kCopyBufferRect, 5);
    writer.words(numbers);
    writer.argument_handle(ArgumentKind::kPointer, 0, 0x1000);
    writer.argument_handle(ArgumentKind::kPointer, 0, 0x2000);
    writer.finish();
    return bytes_named(OperationView(bytes.data()), index);
  };
  words::CopyBufferRect numbers{.from_origin = {4, 2, 1},
                                .to_origin = {8, 0, 0},
                                .region = {16, 3, 2},
                                .from_row_pitch = 32,
                                .from_slice_pitch = 256,
                                .to_row_pitch = 64,
                                .to_slice_pitch = 512};
  CHECK(named(numbers, 0) == 4 + (2 + 2) * 32 + (1 + 1) * 256 + 16);
  CHECK(named(numbers, 1) == 8 + 2 * 64 + 1 * 512 + 16);
  numbers.region = {16, 0, 0};  // Level Zero: one row
  CHECK(named(numbers, 1) == 8 + 16);
  numbers.to_row_pitch = ~std::uint64_t{0} / 2;
  numbers.region = {16, 4, 1};
  CHECK(named(numbers, 1) == ~std::uint64_t{0});
}

namespace {

/// A record as capture files have it: the number at each place is the place, from 1.
template <words::Structure Numbers>
RecordBytes numbered_record(OperationKind kind, std::size_t count = words::kCount<Numbers>) {
  RecordBytes bytes;
  OperationWriter writer(bytes);
  writer.begin(kind, 5);
  for (std::size_t i = 1; i <= count; ++i) {
    writer.word(i);
  }
  writer.finish();
  return bytes;
}

/// Each of `fields`, with the place in a record where it is to be, from 1.
template <words::Structure Numbers>
void check_numbers(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& fields) {
  CHECK(fields.size() <= words::kCount<Numbers>);
  for (const auto& [value, place] : fields) {
    CHECK(value == place);
  }
}

template <words::Structure Numbers, class Fields>
void check_structure(Fields&& fields) {
  for (const OperationKind kind : Numbers::kKinds) {
    CAPTURE(name_of(kind));
    const RecordBytes bytes = numbered_record<Numbers>(kind);
    REQUIRE(OperationView::well_formed(bytes));
    const OperationView view(bytes.data());
    const Numbers* const numbers = view.find<Numbers>();
    REQUIRE(numbers != nullptr);
    CHECK(numbers == &view.as<Numbers>());
    check_numbers<Numbers>(fields(*numbers));
    // Written by their names they are the same bytes again.
    RecordBytes again;
    OperationWriter writer(again);
    writer.begin(kind, 5);
    writer.words(*numbers);
    writer.finish();
    CHECK(again == bytes);
    CHECK(std::ranges::equal(words::in_order(*numbers), view.words()));
    // Too few numbers, or too many.
    const bool fixed = word_count_of(kind) >= 0;
    CHECK((!fixed || word_count_of(kind) == words::kCount<Numbers>));
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{words::kCount<Numbers>} - 1, std::size_t{words::kCount<Numbers>} + 1}) {
      const RecordBytes other = numbered_record<Numbers>(kind, count);
      CHECK(OperationView::well_formed(other) == !fixed);
      CHECK(OperationView(other.data()).find<Numbers>() == nullptr);
    }
    const RecordBytes marker = numbered_record<Numbers>(OperationKind::kMarker);
    CHECK(OperationView(marker.data()).find<Numbers>() == nullptr);
  }
}

}  // namespace

TEST_CASE("the numbers of every kind have their names, and their places in the file") {
  using Fields = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  using namespace words;
  const auto three = [](const Three& numbers, std::uint64_t from) {
    CHECK(numbers == Three{from, from + 1, from + 2});
    return from;
  };
  check_structure<Kernel>([&](const Kernel& n) {
    return Fields{{n.dimensions, 1}, {three(n.offset, 2), 2}, {three(n.global, 5), 5}, {three(n.local, 8), 8}};
  });
  check_structure<CopyBuffer>([](const CopyBuffer& n) {
    return Fields{{n.from_offset, 1}, {n.to_offset, 2}, {n.bytes, 3}};
  });
  check_structure<CopyBufferRect>([&](const CopyBufferRect& n) {
    return Fields{{three(n.from_origin, 1), 1}, {three(n.to_origin, 4), 4}, {three(n.region, 7), 7},
                  {n.from_row_pitch, 10},       {n.from_slice_pitch, 11},   {n.to_row_pitch, 12},
                  {n.to_slice_pitch, 13}};
  });
  check_structure<FillBuffer>([](const FillBuffer& n) { return Fields{{n.offset, 1}, {n.bytes, 2}}; });
  check_structure<CopyImage>([&](const CopyImage& n) {
    return Fields{{three(n.from_origin, 1), 1}, {three(n.to_origin, 4), 4}, {three(n.region, 7), 7}};
  });
  check_structure<FillImage>([&](const FillImage& n) {
    return Fields{{three(n.origin, 1), 1}, {three(n.region, 4), 4}};
  });
  check_structure<CopyBufferToImage>([&](const CopyBufferToImage& n) {
    return Fields{{n.from_offset, 1}, {three(n.to_origin, 2), 2}, {three(n.region, 5), 5}};
  });
  check_structure<CopyImageToBuffer>([&](const CopyImageToBuffer& n) {
    return Fields{{three(n.from_origin, 1), 1}, {three(n.region, 4), 4}, {n.to_offset, 7}};
  });
  check_structure<TransferBuffer>([](const TransferBuffer& n) {
    return Fields{{n.offset, 1}, {n.bytes, 2}, {n.blocking, 3}};
  });
  check_structure<TransferBufferRect>([&](const TransferBufferRect& n) {
    return Fields{{three(n.origin, 1), 1}, {three(n.host_origin, 4), 4}, {three(n.region, 7), 7},  {n.row_pitch, 10},
                  {n.slice_pitch, 11},     {n.host_row_pitch, 12},       {n.host_slice_pitch, 13}, {n.blocking, 14}};
  });
  check_structure<TransferImage>([&](const TransferImage& n) {
    return Fields{{three(n.origin, 1), 1},
                  {three(n.region, 4), 4},
                  {n.host_row_pitch, 7},
                  {n.host_slice_pitch, 8},
                  {n.blocking, 9}};
  });
  check_structure<PointerCopy>([](const PointerCopy& n) { return Fields{{n.bytes, 1}, {n.blocking, 2}}; });
  check_structure<PointerFill>([](const PointerFill& n) { return Fields{{n.bytes, 1}}; });
  check_structure<PointerCopyRect>([](const PointerCopyRect& n) {
    return Fields{{n.row_bytes, 1}, {n.rows, 2},       {n.slices, 3},    {n.to_pitch, 4},
                  {n.to_rows, 5},   {n.from_pitch, 6}, {n.from_rows, 7}, {n.blocking, 8}};
  });
  check_structure<PointerFillRect>([](const PointerFillRect& n) {
    return Fields{{n.row_bytes, 1}, {n.rows, 2}, {n.pitch, 3}};
  });
  check_structure<MapBuffer>([](const MapBuffer& n) {
    return Fields{{n.offset, 1}, {n.bytes, 2}, {n.flags, 3}, {n.blocking, 4}};
  });
  check_structure<MapImage>([&](const MapImage& n) {
    return Fields{{three(n.origin, 1), 1}, {three(n.region, 4), 4}, {n.flags, 7}, {n.blocking, 8}};
  });
  check_structure<Migrate>([](const Migrate& n) { return Fields{{n.flags, 1}}; });
  check_structure<PointerMap>([](const PointerMap& n) { return Fields{{n.bytes, 1}, {n.flags, 2}, {n.blocking, 3}}; });
  check_structure<PointersMigrate>([](const PointersMigrate& n) { return Fields{{n.flags, 1}}; });
  check_structure<PointerPrefetch>([](const PointerPrefetch& n) { return Fields{{n.bytes, 1}}; });
  check_structure<PointerPrefetchTo>([](const PointerPrefetchTo& n) {
    return Fields{{n.bytes, 1}, {n.kind, 2}, {n.place, 3}, {n.flags, 4}};
  });
  check_structure<EventRecord>([](const EventRecord& n) { return Fields{{n.takes_time, 1}}; });
}

TEST_CASE("a record with fewer or more numbers than its kind has is refused") {
  for (std::uint16_t i = 0; i < kOperationKindCount; ++i) {
    const auto kind = static_cast<OperationKind>(i);
    for (const std::size_t count : {0U, 1U, 5U}) {
      const RecordBytes bytes = numbered_record<words::FillBuffer>(kind, count);
      CHECK(OperationView::well_formed(bytes) ==
            (word_count_of(kind) < 0 || static_cast<std::size_t>(word_count_of(kind)) == count));
    }
  }
}

TEST_CASE("an operation whose numbers are not known has a record that can be read") {
  for (std::size_t i = 0; i < kOperationKindCount; ++i) {
    const OperationKind kind = without_words(static_cast<OperationKind>(i));
    CAPTURE(i);
    CHECK((kind == OperationKind::kUnknown || kind == static_cast<OperationKind>(i)));
    RecordBytes bytes;
    OperationWriter writer(bytes);
    writer.begin(kind, 5);
    writer.finish();
    CHECK(OperationView::well_formed(bytes));
  }
}

TEST_CASE("damaged records are not well formed or stay inside their bytes") {
  const auto good = kernel_record(42, 7);
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    auto bytes = good;
    const std::size_t place = random() % bytes.size();
    bytes[place] = static_cast<std::byte>(random());
    bytes.resize(random() % 4 == 0 ? random() % bytes.size() : bytes.size());
    if (!OperationView::well_formed(bytes)) {
      continue;
    }
    const OperationView view(bytes.data());
    REQUIRE(view.bytes().size() <= bytes.size());
    const auto* end = reinterpret_cast<const std::byte*>(view.waits().data() + view.waits().size());
    REQUIRE(end == bytes.data() + view.header().size);
    for (std::size_t i = 0; i < view.arguments().size(); ++i) {
      const auto value = view.value_of(i);
      REQUIRE((value.empty() || value.data() + value.size() <= end));
    }
  }
}

TEST_CASE("every kind has a name of its own") {
  for (std::uint16_t i = 1; i < kOperationKindCount; ++i) {
    CHECK(name_of(static_cast<OperationKind>(i)) != name_of(static_cast<OperationKind>(i - 1)));
  }
  CHECK(name_of(static_cast<OperationKind>(999)) == "unknown");
}

}  // namespace refrain::capture
