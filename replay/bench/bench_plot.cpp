#include "replay/bench/bench_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "env/escape.h"
#include "replay/bench/bench_sweep.h"

namespace refrain::replay {
namespace {

constexpr int kWidth = 680, kMargin = 16;          // format: pixels at full size
constexpr int kLeft = 132, kRight = 580;           // format: where bars begin, and the longest one ends
constexpr int kHead = 136, kLine = 22, kBar = 13;  // format
constexpr std::size_t kLongestText = 88;           // format: letters that fit

constexpr const char* kStyle = R"(<style>
text { font: 13px system-ui, 'DejaVu Sans', Helvetica, Arial, sans-serif; fill: #1f2328 }
.title { font-size: 16px; font-weight: bold } .name { font-weight: bold } .small { font-size: 12px; fill: #59636e }
.ground { fill: #ffffff } .eager { fill: #bc6a00 } .native { fill: #0969da }
.grid { stroke: #d1d9e0 } .spread { stroke: #1f2328; stroke-width: 1.5; fill: none }
.end { text-anchor: end } .middle { text-anchor: middle }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .small { fill: #9198a1 }
.ground { fill: #0d1117 } .eager { fill: #e0912f } .native { fill: #4493f8 }
.grid { stroke: #3d444d } .spread { stroke: #e6edf3 }
}
</style>
)";

/// As content of an element.
std::string xml(const std::string& text) {
  std::string safe;
  for (const char letter : env::escaped(text)) {
    switch (letter) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      default: safe += letter;
    }
  }
  // Printable enough for a terminal, but no characters of XML.
  for (const char* const none : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {
    for (std::size_t at = safe.find(none); at != std::string::npos; at = safe.find(none, at)) {
      safe.replace(at, 3, "?");
    }
  }
  return safe;
}

std::string text(double x, double y, const char* classes, const std::string& content) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, classes, xml(content));
}

std::string line(const char* classes, double x1, double y1, double x2, double y2) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1, x2, y2,
                     classes);
}

std::string box(const char* classes, double x, double y, double width, double height) {
  return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"{}\"/>\n", x, y, width,
                     height, classes);
}

std::string whisker(double from, double to, double y) {
  return line("spread", from, y, to, y) + line("spread", from, y - 3, from, y + 3) +
         line("spread", to, y - 3, to, y + 3);
}

/// 1, 2 or 5 times a power of ten, so that at most five fit into `most`.
double tick_step(double most) {
  const double power = std::pow(10.0, std::floor(std::log10(most / 5)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power * 5 >= most) {
      return factor * power;
    }
  }
  return 10 * power;
}

struct Bar {
  std::string label;
  const char* classes;
  BenchTime time;
};

/// One graph; its rows stand together.
class Panel {
 public:
  explicit Panel(std::span<const BenchRow> rows) : first_(rows.front()) {
    bars_.push_back({"eager", "eager", first_.eager});
    for (const BenchRow& row : rows) {
      bars_.push_back({"native, " + text_of_chunk(row.chunk), "native", row.native});
    }
    if (const std::vector<BestChunk> best = best_chunks({rows.begin(), rows.end()}); !best.empty()) {
      fastest_ = "; fastest chunk: " + text_of_chunk(best.front().best.chunk);
    }
    for (const Bar& bar : bars_) {
      most_ = std::max({most_, bar.time.median, bar.time.p90});
    }
    if (!(most_ > 0)) {
      most_ = 1;
    }
  }

  [[nodiscard]] int height() const noexcept { return kLine * (static_cast<int>(bars_.size()) + 1) + 56; }

  /// For those who do not see it.
  [[nodiscard]] std::string described() const {
    std::string told = fmt::format("graph {}:", first_.graph);
    for (const Bar& bar : bars_) {
      told += fmt::format(" {} {};", bar.label, figures(bar.time));
    }
    return told + " ";
  }

  [[nodiscard]] std::string drawn(int top) const {
    const int begin = top + kLine, end = begin + kLine * static_cast<int>(bars_.size());
    std::string svg =
        text(kMargin, top + 8, "name",
             fmt::format("graph {}: nodes {}, edges {}{}", first_.graph, first_.nodes, first_.edges, fastest_));
    svg += text(kWidth - kMargin, top + 8, "small end", "median, us");
    const double step = tick_step(most_);
    for (int tick = 0; tick * step <= most_; ++tick) {
      svg += line("grid", at(tick * step), begin - 4, at(tick * step), end);
      svg += text(at(tick * step), end + 14, "small middle", fmt::format("{:g}", tick * step));
    }
    svg += text((kLeft + kRight) / 2.0, end + 30, "small middle", "time of one run, us");
    for (int i = 0; i < static_cast<int>(bars_.size()); ++i) {
      const Bar& bar = bars_[i];
      const double y = begin + kLine * i;
      svg += "<g><title>" + xml(bar.label + ": " + figures(bar.time)) + "</title>\n";
      svg += text(kLeft - 8, y + kBar - 2, "end", bar.label);
      svg += box(bar.classes, kLeft, y, at(bar.time.median) - kLeft, kBar);
      svg += whisker(at(bar.time.p10), at(bar.time.p90), y + kBar / 2.0);
      svg += text(kWidth - kMargin, y + kBar - 2, "end", fmt::format("{:.1f}", bar.time.median)) + "</g>\n";
    }
    return svg;
  }

 private:
  static std::string figures(const BenchTime& time) {
    return fmt::format("{:.1f} us ({:.1f}-{:.1f})", time.median, time.p10, time.p90);
  }
  [[nodiscard]] double at(double time) const { return kLeft + (kRight - kLeft) * time / most_; }

  const BenchRow& first_;
  std::vector<Bar> bars_;
  std::string fastest_;
  double most_ = 0;
};

std::string legend(int y) {
  std::string svg = box("eager", kMargin, y - 11, kBar, kBar) + text(kMargin + 20, y, "", "eager");
  svg += box("native", kMargin + 76, y - 11, kBar, kBar) + text(kMargin + 96, y, "", "native, as command buffers");
  svg += whisker(kMargin + 300, kMargin + 324, y - 4.5) + text(kMargin + 332, y, "", "10th to 90th percentile");
  return svg + text(kMargin, y + 18, "small", "Behind native: nodes in a command buffer; all: as many as possible.");
}

}  // namespace

std::string plot(const BenchResult& result) {
  std::vector<Panel> panels;
  for (auto first = result.rows.begin(), next = first; first != result.rows.end(); first = next) {
    next = std::find_if(first, result.rows.end(), [&](const BenchRow& row) { return row.graph != first->graph; });
    panels.emplace_back(std::span(first, next));
  }
  int height = kHead;
  std::string described = fmt::format("Shorter is faster. {} on {}. ", result.file, result.device.name);
  for (const Panel& panel : panels) {
    height += panel.height();
    described += panel.described();
  }
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "style=\"max-width: 100%; height: auto\" role=\"img\" aria-labelledby=\"title desc\">\n{2}\n",
      kWidth, height, kPlotMark);
  svg += "<title id=\"title\">refrain bench: " + xml(result.file) + "</title>\n";
  svg += "<desc id=\"desc\">" + xml(described) + "</desc>\n";
  svg += kStyle + box("ground", 0, 0, kWidth, height);
  svg += text(kMargin, 28, "title", "Graphs run eagerly and as command buffers");
  svg += text(kMargin, 48, "small", env::shortened(result.file, kLongestText));
  svg += text(kMargin, 64, "small",
              env::shortened(fmt::format("{} on {}", result.device.name, result.device.platform), kLongestText));
  svg += legend(90);
  int top = kHead;
  for (const Panel& panel : panels) {
    svg += panel.drawn(top);
    top += panel.height();
  }
  return svg + "</svg>\n";
}

}  // namespace refrain::replay
