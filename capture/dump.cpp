#include "capture/dump.h"

#include <cerrno>
#include <cstring>
#include <exception>

#include "capture/dump_formats.h"
#include "capture/reader.h"

namespace refrain::capture {
namespace {

std::string render(const DumpOptions& options, const Capture& capture) {
  if (options.format == DumpFormat::kTrace) {
    return dump_trace(capture);
  }
  const Analysis analysis = analyse(capture);
  switch (options.format) {
    case DumpFormat::kGraph: return dump_graph(capture, analysis, options.graph.value_or(0));
    case DumpFormat::kJson: return dump_json(capture, analysis);
    case DumpFormat::kDot: return dump_dot(capture, analysis, options.graph);
    case DumpFormat::kExplain: return dump_explain(capture, analysis);
    default: return dump_summary(capture, analysis);
  }
}

}  // namespace

int run_dump(const DumpOptions& options, std::FILE* out, std::FILE* err) noexcept {
  try {
    std::string error;
    const auto capture = read_capture(options.file, &error);
    if (!capture) {
      std::fprintf(err, "refrain dump: %s\n", error.c_str());
      return 1;
    }
    if (!capture->cut_short.empty()) {
      std::fprintf(err, "refrain dump: note: '%s' is %s; what comes before is shown\n", options.file.c_str(),
                   capture->cut_short.c_str());
    }
    const bool wants_graph = options.format == DumpFormat::kGraph || options.format == DumpFormat::kDot;
    if (wants_graph && options.graph.value_or(0) >= capture->graphs.size() &&
        (options.graph || options.format == DumpFormat::kGraph)) {
      std::fprintf(err, "refrain dump: '%s' has no graph %u; it has %zu, numbered from 0\n", options.file.c_str(),
                   options.graph.value_or(0), capture->graphs.size());
      return 1;
    }
    const std::string text = render(options, *capture);
    if (std::fwrite(text.data(), 1, text.size(), out) != text.size() || std::fflush(out) != 0) {
      std::fprintf(err, "refrain dump: cannot write the output: %s\n", std::strerror(errno));
      return 1;
    }
    return 0;
  } catch (const std::exception& problem) {
    std::fprintf(err, "refrain dump: cannot show '%s': %s\n", options.file.c_str(), problem.what());
    return 1;
  }
}

}  // namespace refrain::capture
