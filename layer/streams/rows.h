// Copies and fills of rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "layer/streams/copies.h"

namespace refrain::layer::streams {

/// One side of a copy of rows.
struct Rows {
  std::uint64_t start = 0;          ///< address of the first byte
  std::uint64_t pitch = 0;          ///< bytes from one row to the next
  std::uint64_t rows_of_slice = 0;  ///< rows from one slice to the next
};

struct RowsCopy {
  Rows to, from;
  std::uint64_t row_bytes = 0, rows = 0, slices = 0;

  /// From the first byte of one side to its last.
  [[nodiscard]] std::uint64_t bytes_of(const Rows& side) const noexcept {
    return ((slices - 1) * side.rows_of_slice + rows - 1) * side.pitch + row_bytes;
  }
};

/// The same copy, with no number that does not count. Null: the driver may refuse it, or read it in its own way.
[[nodiscard]] inline std::optional<RowsCopy> plain_copy(RowsCopy copy) noexcept {
  if (copy.row_bytes == 0 || copy.rows == 0 || copy.slices == 0) {
    return std::nullopt;
  }
  for (Rows* side : {&copy.to, &copy.from}) {
    if (copy.rows == 1 && copy.slices == 1) {
      side->pitch = copy.row_bytes;
    }
    if (copy.slices == 1) {
      side->rows_of_slice = copy.rows;
    }
    if (side->pitch < copy.row_bytes || side->rows_of_slice < copy.rows) {
      return std::nullopt;
    }
  }
  return copy;
}

/// `copy` is null: it is never held, for `why_unknown`.
template <class L, class Issue>
StatusOf<L> copy_rows(const replay::EntryPoint& entry_point, const std::optional<RowsCopy>& copy,
                      const char* why_unknown, typename L::Api::StreamHandle stream, DefaultStream by_default,
                      Issue&& issue) noexcept {
  constexpr auto kKind = OperationKind::kPointerCopyRect;
  if (StatusOf<L> status = L::Api::kSuccess; short_way<L>(entry_point, {stream, by_default}, &status, issue, true)) {
    return status;
  }
  if (!copy) {
    return submit_unheld<L>(entry_point, OperationKind::kOther, why_unknown, stream, by_default, issue);
  }
  const CopyPlaces places =
      CopyPlaces::find<L>(copy->to.start, copy->bytes_of(copy->to), copy->from.start, copy->bytes_of(copy->from));
  auto* const found = find_stream<L>(stream, by_default);
  const char* const in_stream = why_not_in<L>(found, places);
  const char* why = places.why_not() != nullptr ? places.why_not() : in_stream;
  if (why == nullptr && L::Api::kRowsOfDeviceOnly && !places.within_one_device()) {
    why = "copies of rows are recorded within the memory of one device only";
  }
  const capture::words::PointerCopyRect numbers = {.row_bytes = copy->row_bytes,
                                                   .rows = copy->rows,
                                                   .slices = copy->slices,
                                                   .to_pitch = copy->to.pitch,
                                                   .to_rows = copy->to.rows_of_slice,
                                                   .from_pitch = copy->from.pitch,
                                                   .from_rows = copy->from.rows_of_slice,
                                                   .blocking = places.blocks() ? 1U : 0U};
  Token token = static_cast<Token>(kKind);
  for (const std::uint64_t word : capture::words::in_order(numbers)) {
    token = mix(token, word);
  }
  const Call call{entry_point, kKind, places.mixed_into(token), why, places.blocks()};
  return submit<L>(
      call, found,
      [&](capture::OperationWriter& writer, Token whole, bool) {
        writer.begin(kKind, whole);
        writer.words(numbers);
        writer.argument_handle(places.target.kind, places.target.id, copy->to.start);
        writer.argument_handle(places.source.kind, places.source.id, copy->from.start);
        writer.finish();
      },
      issue);
}

/// `height` rows of `width` values.
template <class L, class Value, class Issue>
StatusOf<L> fill_rows(const replay::EntryPoint& entry_point, std::uint64_t to, std::size_t pitch, Value value,
                      std::size_t width, std::size_t height, typename L::Api::StreamHandle stream,
                      DefaultStream by_default, Issue&& issue) noexcept {
  constexpr auto kKind = OperationKind::kPointerFillRect;
  if (StatusOf<L> status = L::Api::kSuccess; short_way<L>(entry_point, {stream, by_default}, &status, issue)) {
    return status;
  }
  const capture::words::PointerFillRect numbers = {.row_bytes = width * sizeof(value), .rows = height, .pitch = pitch};
  Token token = mix(static_cast<Token>(kKind), sizeof(value));
  for (const std::uint64_t word : capture::words::in_order(numbers)) {
    token = mix(token, word);
  }
  const bool odd = width == 0 || height == 0 || (height > 1 && pitch < numbers.row_bytes);
  const Place target = odd ? Place{} : filled_place<L>(to, (height - 1) * pitch + numbers.row_bytes);
  const char* const why = odd ? "a fill of no rows, or of rows that lie in each other"
                          : target.kind != capture::ArgumentKind::kPointer ? kUnknownFill
                                                                           : nullptr;
  return submit<L>(
      Call{entry_point, kKind, token, why}, find_stream<L>(stream, by_default),
      [&](capture::OperationWriter& writer, Token whole, bool) {
        writer.begin(kKind, whole);
        writer.words(numbers);
        writer.argument_handle(capture::ArgumentKind::kPointer, target.id, to);
        writer.argument(capture::ArgumentKind::kValue, 0, std::as_bytes(std::span(&value, 1)));
        writer.finish();
      },
      issue);
}

}  // namespace refrain::layer::streams
