#include "replay/bench/bench_plot.h"

#include <catch2/catch.hpp>
#include <regex>

namespace refrain::replay {
namespace {

BenchRow row(std::uint32_t graph, std::uint32_t chunk, double native) {
  BenchRow made;
  made.graph = graph;
  made.chunk = chunk;
  made.nodes = 40;
  made.eager = {100, 90, 120, Interval{98, 103}};
  made.native = {native, native * 0.9, native * 1.5, Interval{native * 0.98, native * 1.02}};
  return made;
}

std::size_t count(const std::string& svg, const std::string& pattern) {
  const std::regex what(pattern);
  return static_cast<std::size_t>(
      std::distance(std::sregex_iterator(svg.begin(), svg.end(), what), std::sregex_iterator()));
}

}  // namespace

TEST_CASE("bench plot: a bar for eager runs of each graph and one for each chunk size, as long as their medians") {
  BenchResult result;
  result.file = "app.rfn";
  result.rows = {row(3, 1, 200), row(3, 8, 50), row(3, 0, 80), row(5, 0, 0)};
  const std::string svg = plot(result);
  INFO(svg);
  CHECK(svg.starts_with("<svg xmlns="));
  CHECK(svg.substr(svg.find('\n') + 1).starts_with(kPlotMark));
  CHECK(count(svg, ">eager</text>") == 3);  // and in the legend
  CHECK(count(svg, ">native, (1|8|all)</text>") == 4);
  CHECK(count(svg, ">graph 3: nodes 40, edges 0; fastest chunk: 8<") == 1);
  CHECK(count(svg, ">graph 5: nodes 40, edges 0<") == 1);
  CHECK(count(svg, ">time of one run, us<") == 2);
  CHECK(count(svg, ">50.0<") == 1);
  CHECK(count(svg, "<title>native, 8: 50.0 us \\(45.0-75.0\\)</title>") == 1);
  CHECK(count(svg, "nan|inf|\"-") == 0);
  // 300 us, where the longest spread ends, are 448 pixels.
  CHECK(count(svg, "width=\"149.3\" height=\"13.0\" class=\"eager\"") == 1);
  CHECK(count(svg, "width=\"298.7\" height=\"13.0\" class=\"native\"") == 1);
  CHECK(count(svg, "width=\"74.7\" height=\"13.0\" class=\"native\"") == 1);
  CHECK(count(svg, "width=\"0.0\" height=\"13.0\" class=\"native\"") == 1);
}

TEST_CASE("bench plot: there is something to see of times that are all 0, and of nothing") {
  BenchResult result;
  CHECK(plot(result).ends_with("</svg>\n"));
  result.rows = {BenchRow()};
  CHECK(count(plot(result), "nan|inf") == 0);
}

TEST_CASE("bench plot: names stay text, whatever is in them, and the picture needs nothing else") {
  BenchResult result;
  result.file = "a<script>alert(1)</script>&\x1b\xEF\xBF\xBF\xEF\xBF\xBE\xff.rfn";
  result.device.name = "\"quoted\" <b>";
  result.device.platform = std::string(10000, 'x');
  result.rows = {row(1, 0, 10)};
  const std::string svg = plot(result);
  CHECK(svg.find("<script") == std::string::npos);
  CHECK(svg.find("<b>") == std::string::npos);
  CHECK(svg.find("a&lt;script&gt;alert(1)&lt;/script&gt;&amp;\\x1b??\\xff.rfn") != std::string::npos);
  CHECK(svg.find('\x1b') == std::string::npos);
  CHECK(svg.find("\xEF\xBF\xBF") == std::string::npos);
  CHECK(svg.find("\xEF\xBF\xBE") == std::string::npos);
  CHECK(svg.size() < 10000);
  CHECK(count(svg, "https?://") == 1);
  CHECK(svg.find("http://www.w3.org/2000/svg") != std::string::npos);
  CHECK(count(svg, "href|src=|url\\(|@import") == 0);
  CHECK(count(svg, "prefers-color-scheme: dark") == 1);
}

}  // namespace refrain::replay
