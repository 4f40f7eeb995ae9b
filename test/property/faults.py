"""Faults to plant, each a few words of the sources: name, what it breaks, and (file, old text, new text).

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
          "StatusOf<L> query_stream(const replay::EntryPoint& entry_point, typename L::Api::StreamHandle handle,\n"
          "                         DefaultStream by_default, Query&& call) noexcept {\n",
          "StatusOf<L> query_stream(const replay::EntryPoint& entry_point, typename L::Api::StreamHandle handle,\n"
          "                         DefaultStream by_default, Query&& call) noexcept {\n"
          "  if (L::runtime().backend != nullptr) { return call(); }\n")]),
    "argument-copied-late": (
        "the arguments of a held kernel are read when what is held is submitted, not at the launch",
        [("layer/common/host_call.h", "/// Flushes what the call may observe, and reports",
          "struct Late { void* to; const void* from; std::size_t size; };\n"
          "inline thread_local std::vector<Late> copied_late;\n/// Flushes what the call may observe, and reports"),
         ("layer/common/host_call.h", "    held_error_ = engine_ != nullptr ?",
          "      for (const Late& each : copied_late) { std::memcpy(each.to, each.from, each.size); }\n"
          "      copied_late.clear();\n    held_error_ = engine_ != nullptr ?"),
         ("layer/common/host_call.h", "#include <utility>", "#include <cstring>\n#include <utility>\n#include <vector>"),
         ("layer/streams/launch.h", "inline std::byte* copy_parameter(std::byte* to, const void* from, std::uint32_t size) noexcept {",
          "inline std::byte* copy_parameter(std::byte* to, const void* from, std::uint32_t size) noexcept {\n"
          "  common::copied_late.push_back({to, from, size});")]),
    "wait-dropped-between-graphs": (
        "a stream that waits for an event between two graphs does not",
        [("backends/streams/stream_backend.h", "    status = status == Api::kSuccess ? Api::wait_event(driver_, stream.handle, event) : status;\n    while",
          "    status = Api::kSuccess;\n    while")]),
    "false-wait-at-a-graphs-end": (
        "the stream of the graph before waits for the end of a graph",
        [("backends/streams/command_buffer.h", "  // The work is submitted: from here on a failure must not",
          "  static std::atomic<Stream<Api>*> before{nullptr};\n"
          "  Stream<Api>* const other = before.exchange(stream_);\n"
          "  if (Event end = kNoEvent; other != nullptr && other != stream_ && other->context == stream_->context &&\n"
          "                            other->id.load() != 0 && record_end(&end) == Api::kSuccess) {\n"
          "    static_cast<void>(Api::wait_event(parts_.driver, other->handle, NativeEvent<Api>::of(end).handle));\n"
          "    parts_.events.release(NativeEvent<Api>::of(end));\n"
          "  }\n"
          "  // The work is submitted: from here on a failure must not")]),
    "false-wait-between-chunks": (
        "each part of a graph waits for the one before, whatever their streams are",
        [("replay/graph/executable.cpp", "    result->plain_ = result->plain_ && native",
          "    for (std::size_t before = result->parts_.size(); before-- > 0;) {\n"
          "      if (Part& other = result->parts_[before]; std::find(recorded.begin(), recorded.end(), before) != recorded.end()) {\n"
          "        part.waits.push_back(static_cast<std::uint32_t>(before));\n"
          "        other.signals = true;\n"
          "        break;\n"
          "      }\n"
          "    }\n"
          "    result->plain_ = result->plain_ && native")]),
    "setter-not-in-the-token": (
        "what is set for a kernel is told to nobody: graphs of another state are used",
        [("layer/streams/setters.h", "    const Setting setting{entry_point, capture::mix(name, what), value};\n",
          "    if (function != 0) { return call(); }\n"
          "    const Setting setting{entry_point, capture::mix(name, what), value};\n")]),
    "update-applied-in-flight": (
        "changed arguments are written into a graph when the launch that they are for is already in flight",
        [("replay/graph/executable.cpp", "if (!parts_[index].buffer->update(updates_[index]).ok()) {", "if (index > parts_.size()) {"),
         ("replay/graph/executable.cpp", "status = part.buffer->enqueue(waits.events(), wants_event ? &event : nullptr);",
          "status = part.buffer->enqueue(waits.events(), wants_event ? &event : nullptr);\n"
          "      if (index < updates_.size() && !updates_[index].empty()) {\n"
          "        static_cast<void>(part.buffer->update(updates_[index]));\n"
          "        updates_[index].clear();\n"
          "      }")]),
}
