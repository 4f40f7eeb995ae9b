// Captures of which one graph is written again, with something changed: for what is damaged or missing.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "test/capture/capture_files.h"

namespace refrain::capture {

struct CaptureChange {
  std::function<void(std::vector<std::byte>& bytes)> code = [](auto&) {};  ///< of each image; empty: there is none
  std::function<void(FunctionInfo&)> function = [](auto&) {};
  std::function<void(QueueInfo&)> queue = [](auto&) {};
  std::function<void(BufferInfo&)> buffer = [](auto&) {};
};

inline void write_changed(const Capture& from, const StoredGraph& stored, const std::string& file,
                          const CaptureChange& change) {
  const auto recorder = open(file);
  recorder->define_all(std::span<const DeviceInfo>(from.devices));
  for (auto [id, queue] : from.queues) {
    change.queue(queue);
    recorder->define(queue);
  }
  for (const auto& [id, reason] : from.reasons) {
    recorder->define(reason);
  }
  for (auto [id, function] : from.functions) {
    change.function(function);
    recorder->define(function);
  }
  for (auto [id, buffer] : from.buffers) {
    change.buffer(buffer);
    recorder->define(buffer);
  }
  for (const auto& [id, code] : from.code) {
    std::vector<std::byte> bytes = from.read_code(id);
    change.code(bytes);
    if (!bytes.empty()) {
      recorder->code({id, code.kind, bytes});
    }
  }
  const Graph graph = stored.graph();
  Stream& stream = recorder->open_stream(1);
  for (NodeIndex node = 0; node < graph.size(); ++node) {
    stream.operation(graph.operation(node));
  }
  stream.host_call("(the end)", 1);
  recorder->flush();
}

}  // namespace refrain::capture
