// Payloads of records, from what the writer collected. Those of definitions: capture/definitions.h.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "capture/call_times.h"
#include "capture/graph_deduplicator.h"
#include "capture/history.h"
#include "capture/limits.h"
#include "capture/recorder.h"
#include "capture/stored_contents.h"

namespace refrain::capture::encode {

using Payload = flatbuffers::DetachedBuffer;

template <typename Root>
Payload release(flatbuffers::FlatBufferBuilder& builder, flatbuffers::Offset<Root> root) {
  builder.Finish(root);
  return builder.Release();
}

/// Names come from the program, and may be of any length.
flatbuffers::Offset<flatbuffers::String> text_of(flatbuffers::FlatBufferBuilder& builder, const std::string& text);

/// As many of the first items as fill a record. `bytes_of` tells how large one becomes.
template <typename Item, typename Bytes>
std::span<const Item> first_batch(std::span<const Item> items, Bytes bytes_of) {
  std::size_t count = 0;
  for (std::size_t bytes = 0; count < items.size() && (count == 0 || bytes < format::kBatchBytes); ++count) {
    bytes += bytes_of(items[count]);
  }
  return items.first(count);
}

struct NamedEntryPoint {
  std::uint32_t id = 0;
  std::string name;
};

struct LaneNews {
  std::uint64_t lane = 0;
  std::uint64_t closed_before = 0;
  std::vector<Folded> closed;
  std::vector<Folded> open;
};

Payload meta(const std::string& writer, const std::string& command);
Payload code(const CodeInfo& code);
Payload contents_references(std::span<const ContentsReference> references);
Payload entry_points(std::span<const NamedEntryPoint> entry_points);
Payload graphs(std::span<const NewGraph> graphs);
Payload argument_sets(std::span<const NewArgumentSet> sets);
Payload statistics(std::span<const GraphFigures> figures);
Payload history(const LaneNews& news);
Payload regions(std::span<const RegionUse> regions);
Payload times(const CallBatch& batch);
Payload host_calls(std::span<const HostCallCount> counts);

}  // namespace refrain::capture::encode
