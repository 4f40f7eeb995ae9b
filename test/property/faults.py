"""Five faults to plant, each a few words of the sources: name, what it breaks, and (file, old text, new text).

As replacements and not as patches, so that they still fit when the lines around them change; `planted --list` checks
that they do.
"""

FAULTS = {
    "hold-not-flushed-before-a-query": (
        "what is held is not submitted before the program asks whether an event or a stream is done",
        [("layer/streams/waits.h|layer/cuda/waits.cpp",
          "template <class L, class Query>\nStatusOf<L> query_event(const replay::EntryPoint& entry_point, "
          "typename L::Api::EventHandle handle,\n                        Query&& call) noexcept {\n",
          "template <class L, class Query>\nStatusOf<L> query_event(const replay::EntryPoint& entry_point, "
          "typename L::Api::EventHandle handle,\n                        Query&& call) noexcept {\n"
          "  if (handle != nullptr) { return call(); }\n"),
         ("layer/streams/waits.h",
          "StatusOf<L> query_stream(const replay::EntryPoint& entry_point, Find&& stream, Query&& call) noexcept {\n",
          "StatusOf<L> query_stream(const replay::EntryPoint& entry_point, Find&& stream, Query&& call) noexcept {\n"
          "  if (L::runtime().backend != nullptr) { return call(); }\n")]),
    "argument-copied-late": (
        "the arguments of a held kernel are read when what is held is submitted, not at the launch",
        [("layer/streams/host_call.h", "/// Flushes what the call may observe, and reports",
          "struct Late { void* to; const void* from; std::size_t size; };\n"
          "inline thread_local std::vector<Late> copied_late;\n/// Flushes what the call may observe, and reports"),
         ("layer/streams/host_call.h", "      held_error_ = flush(*engine_);",
          "      for (const Late& each : copied_late) { std::memcpy(each.to, each.from, each.size); }\n"
          "      copied_late.clear();\n      held_error_ = flush(*engine_);"),
         ("layer/streams/host_call.h", "#include <utility>", "#include <cstring>\n#include <utility>\n#include <vector>"),
         ("layer/streams/launch.h", "inline std::byte* copy_parameter(std::byte* to, const void* from, std::uint32_t size) noexcept {",
          "inline std::byte* copy_parameter(std::byte* to, const void* from, std::uint32_t size) noexcept {\n"
          "  copied_late.push_back({to, from, size});")]),
    "edge-dropped-in-a-graph": (
        "edges between streams are left out of graphs",
        [("backends/cuda/cuda_command_buffer.cpp|backends/streams/command_buffer.h", "if (inside[predecessor]) {",
          "if (inside[predecessor] && graph.queue_of(predecessor).id == graph.queue_of(index).id) {")]),
    "join-of-a-second-stream-missing": (
        "what comes next in the other streams of a graph does not wait for it",
        [("backends/cuda/cuda_command_buffer.cpp|backends/streams/command_buffer.h",
          "parts_.links.link(*main_.stream, tail, others_, before_);", "static_cast<void>(tail);")]),
    "update-applied-in-flight": (
        "changed arguments are written into a graph when the launch that they are for is already in flight",
        [("replay/executable.cpp", "if (!parts_[index].buffer->update(updates_[index]).ok()) {", "if (index > parts_.size()) {"),
         ("replay/executable.cpp", "status = part.buffer->enqueue(waits.events(), wants_event ? &event : nullptr);",
          "status = part.buffer->enqueue(waits.events(), wants_event ? &event : nullptr);\n"
          "      if (index < updates_.size() && !updates_[index].empty()) {\n"
          "        static_cast<void>(part.buffer->update(updates_[index]));\n"
          "        updates_[index].clear();\n"
          "      }")]),
}
