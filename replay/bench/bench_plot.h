// A result of the bench as a picture: SVG that needs nothing else.
#pragma once

#include <string>

#include "replay/bench/bench_report.h"

namespace refrain::replay {

/// The second line of every picture, by which it is known.
inline constexpr const char* kPlotMark = "<!-- refrain bench -->";

/// Bars of the medians of each graph, eagerly and with each chunk size, with the spread. Each graph has a scale of its
/// own from 0 on: what is compared stands in one graph.
std::string plot(const BenchResult& result);

}  // namespace refrain::replay
