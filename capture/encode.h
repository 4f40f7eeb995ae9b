// Payloads of records, from what the writer collected.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "capture/graph_deduplicator.h"
#include "capture/history.h"
#include "capture/recorder.h"

namespace refrain::capture::encode {

using Payload = flatbuffers::DetachedBuffer;

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
Payload devices(std::span<const DeviceInfo> devices);
Payload queues(std::span<const QueueInfo> queues);
Payload code(const CodeInfo& code);
Payload functions(std::span<const FunctionInfo> functions);
Payload buffers(std::span<const BufferInfo> buffers);
Payload entry_points(std::span<const NamedEntryPoint> entry_points);
Payload graphs(std::span<const NewGraph> graphs);
Payload argument_sets(std::span<const NewArgumentSet> sets);
Payload statistics(std::span<const GraphFigures> figures);
Payload history(const LaneNews& news);
Payload host_calls(std::span<const HostCallCount> counts);

}  // namespace refrain::capture::encode
