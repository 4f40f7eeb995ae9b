#include "capture/operation.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>

namespace refrain::capture {
namespace {

RecordBytes kernel_record(std::uint32_t scalar, WaitRef wait) {
  RecordBytes bytes;
  OperationWriter writer(bytes);
  OperationHeader& header = writer.begin(OperationKind::kKernel, 5);
  header.function = 9;
  header.queue = 2;
  for (std::uint64_t i = 0; i < words::kKernelCount; ++i) {
    writer.word(i);
  }
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
  CHECK(view.words().size() == words::kKernelCount);
  CHECK(view.words()[words::kLocal] == words::kLocal);
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
  writer.words(std::vector<std::uint64_t>{16, 4, 2, 32, 5, 64, 8, 0});
  writer.argument_handle(ArgumentKind::kPointer, 0, 0x1000);
  writer.argument_handle(ArgumentKind::kPointer, 0, 0x2000);
  writer.finish();
  const OperationView copy(bytes.data());
  CHECK(bytes_named(copy, 0) == (5 + 3) * 32 + 16);
  CHECK(bytes_named(copy, 1) == (8 + 3) * 64 + 16);
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
