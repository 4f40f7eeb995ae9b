// Any bytes as a capture file: read, and all that was read is looked at.
#include "capture/reader.h"
#include "test/fuzz/capture_input.h"

namespace {

using namespace refrain::capture;

void look_at(const Graph& graph, std::uint64_t& sum) {
  for (NodeIndex node = 0; node < graph.size(); ++node) {
    const OperationView operation = graph.operation(node);
    for (const std::byte byte : operation.bytes()) {
      sum += static_cast<std::uint64_t>(byte);
    }
    for (std::size_t i = 0; i < operation.arguments().size() && i < 64; ++i) {
      sum += operation.handle_of(i) + operation.value_of(i).size();
    }
    for (const NodeIndex next : graph.successors(node)) {
      if (next <= node) {
        std::abort();  // acyclic
      }
    }
    sum += graph.queue_of(node).id;
  }
}

std::uint64_t look_at(const Capture& capture) {
  std::uint64_t sum = 0;
  for (const StoredGraph& graph : capture.graphs) {
    for (std::uint32_t set = 0; set < graph.argument_sets(); ++set) {
      try {
        look_at(graph.materialise(set), sum);
        sum += graph.statistics().size();
      } catch (const Refused&) {
        // What sets and statistics name is only checked when they are looked at.
      }
    }
  }
  for (const LaneHistory& lane : capture.lanes) {
    for_each_leaf(lane, [&](const HistoryItem& item) { sum += capture.graphs.at(item.graph).size(); });
  }
  for (const auto& [id, code] : capture.code) {
    if (capture.read_code(id).size() != code.size) {
      std::abort();
    }
  }
  std::vector<std::byte> contents(256);
  for (const auto& [id, buffer] : capture.buffers) {
    if (capture.has_contents(id)) {
      capture.read_contents(id, contents, nullptr);
    }
  }
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  refrain::test::with_both(data, size, [](const std::string& file) {
    std::string error;
    const auto capture = read_capture(file, &error);
    if (capture) {
      static volatile std::uint64_t sink = 0;
      sink = sink + look_at(*capture);
    } else if (error.find(file) == std::string::npos) {
      std::abort();  // an error must name the file
    }
  });
  return 0;
}
