// Whether a fill is exactly what a record says.
#include "layer/streams/predicted.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <span>

namespace refrain::layer::streams {
namespace {

TEST_CASE("a fill is the predicted one if it writes the same bytes to the same place, and only then") {
  constexpr Handle kPlace = 0x7000;
  const std::uint16_t value = 0x1234;
  const std::uint16_t other = 0x1235;
  const std::uint32_t longer = 0x1234;
  const auto bytes_of = [](const auto& from) { return std::as_bytes(std::span(&from, 1)); };
  capture::RecordBytes bytes;
  capture::OperationWriter writer(bytes);
  writer.begin(OperationKind::kPointerFill, 1);
  writer.words(capture::words::PointerFill{.bytes = 10 * sizeof(value)});
  writer.argument_handle(capture::ArgumentKind::kPointer, 5, kPlace);
  writer.argument(capture::ArgumentKind::kValue, 0, bytes_of(value));
  writer.finish();
  const capture::OperationView record(bytes.data());
  CHECK(is_same_fill(record, {kPlace, 5, bytes_of(value), 20}));
  CHECK_FALSE(is_same_fill(record, {kPlace + 2, 5, bytes_of(value), 20}));
  CHECK_FALSE(is_same_fill(record, {kPlace, 5, bytes_of(other), 20}));
  CHECK_FALSE(is_same_fill(record, {kPlace, 5, bytes_of(longer), 20}));
  CHECK_FALSE(is_same_fill(record, {kPlace, 5, bytes_of(value), 22}));
  CHECK_FALSE(is_same_fill(record, {kPlace, 6, bytes_of(value), 20}));  // freed, and allocated again there
  capture::RecordBytes another;
  capture::OperationWriter copy(another);
  copy.begin(OperationKind::kPointerCopy, 1);
  copy.words(capture::words::PointerCopy{.bytes = 20, .blocking = 0});
  copy.argument_handle(capture::ArgumentKind::kPointer, 5, kPlace);
  copy.argument(capture::ArgumentKind::kValue, 0, bytes_of(value));
  copy.finish();
  CHECK_FALSE(is_same_fill(capture::OperationView(another.data()), {kPlace, 5, bytes_of(value), 20}));
}

}  // namespace
}  // namespace refrain::layer::streams
