// The forms in which `refrain dump` tells about a capture. Each writes while it reads: memory does not grow with what
// is shown. They throw Refused for a file that makes no sense, OutputFailed where nothing can be written.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "capture/analysis.h"
#include "capture/dump_output.h"
#include "capture/model.h"

namespace refrain::capture {

void dump_summary(const Capture& capture, const Analysis& analysis, DumpOutput& out);
void dump_explain(const Capture& capture, const Analysis& analysis, DumpOutput& out);
/// `graph` is an index in Capture::graphs.
void dump_graph(const Capture& capture, const Analysis& analysis, std::uint32_t graph, DumpOutput& out);
void dump_json(const Capture& capture, const Analysis& analysis, DumpOutput& out);
/// Graphs that never came are left out.
void dump_csv(const Capture& capture, const Analysis& analysis, DumpOutput& out);
void dump_dot(const Capture& capture, const Analysis& analysis, std::optional<std::uint32_t> graph, DumpOutput& out);
/// At least one; each is a process of one timeline, by the clock of the day.
void dump_trace(std::span<const Capture> captures, DumpOutput& out);

}  // namespace refrain::capture
