// The forms in which `refrain dump` tells about a capture. Each returns the whole text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "capture/analysis.h"
#include "capture/model.h"

namespace refrain::capture {

std::string dump_summary(const Capture& capture, const Analysis& analysis);
std::string dump_explain(const Capture& capture, const Analysis& analysis);
/// `graph` is an index in Capture::graphs.
std::string dump_graph(const Capture& capture, const Analysis& analysis, std::uint32_t graph);
std::string dump_json(const Capture& capture, const Analysis& analysis);
std::string dump_dot(const Capture& capture, const Analysis& analysis, std::optional<std::uint32_t> graph);
std::string dump_trace(const Capture& capture);

}  // namespace refrain::capture
