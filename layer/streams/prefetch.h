// Memory that the driver moves, asked for beforehand where it will be used.
#pragma once

#include "layer/streams/memory.h"
#include "layer/streams/submission.h"

namespace refrain::layer::streams {

template <class L, class Issue>
StatusOf<L> prefetch(const replay::EntryPoint& entry_point, std::uint64_t address,
                     const capture::words::PointerPrefetchTo& numbers, typename L::Api::StreamHandle stream,
                     DefaultStream by_default, Issue&& issue) noexcept {
  if (StatusOf<L> status = L::Api::kSuccess; short_way<L>(entry_point, {stream, by_default}, &status, issue)) {
    return status;
  }
  // A graph leaves it out, so that the driver is not asked whether it refuses it: that must be known.
  const Place place = place_of<L>(address, numbers.bytes);
  const bool managed =
      place.kind == capture::ArgumentKind::kPointer && L::Api::is_managed(L::runtime().driver, address);
  Token token = static_cast<Token>(OperationKind::kPointerMigrate);
  for (const std::uint64_t word : capture::words::in_order(numbers)) {
    token = mix(token, word);
  }
  const Call call{entry_point, OperationKind::kPointerMigrate, token,
                  managed ? nullptr : "what is to be fetched is no managed memory, or more than one allocation"};
  return submit<L>(
      call, find_stream<L>(stream, by_default),
      [&](capture::OperationWriter& writer, Token whole, bool) {
        writer.begin(OperationKind::kPointerMigrate, whole);
        writer.words(numbers);
        writer.argument_handle(place.kind, place.id, address);
        writer.finish();
      },
      issue);
}

}  // namespace refrain::layer::streams
