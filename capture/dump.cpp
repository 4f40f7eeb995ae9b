#include "capture/dump.h"

#include <exception>

#include "capture/dump_formats.h"
#include "capture/reader.h"

namespace refrain::capture {
namespace {

void put_in_place(const std::function<DeviceInfo(const std::string& api)>& device, Capture& capture) {
  for (DeviceInfo& each : capture.devices) {
    const ObjectId id = each.id;
    each = device(each.api);
    each.id = id;
  }
}

void show(const DumpOptions& options, std::span<const Capture> captures, DumpOutput& out) {
  if (options.format == DumpFormat::kTrace) {
    return dump_trace(captures, out);
  }
  const Capture& capture = captures.front();
  const Analysis analysis = analyse(capture, options.forecast);
  switch (options.format) {
    case DumpFormat::kGraph: return dump_graph(capture, analysis, options.graph.value_or(0), out);
    case DumpFormat::kJson: return dump_json(capture, analysis, out);
    case DumpFormat::kCsv: return dump_csv(capture, analysis, out);
    case DumpFormat::kDot: return dump_dot(capture, analysis, options.graph, out);
    case DumpFormat::kExplain: return dump_explain(capture, analysis, out);
    default: return dump_summary(capture, analysis, out);
  }
}

}  // namespace

int run_dump(const DumpOptions& options, std::FILE* out, std::FILE* err) noexcept {
  try {
    const auto say = [&](const std::string& message) {
      std::fprintf(err, "refrain dump: %s\n", env::escaped(message).c_str());
    };
    std::vector<std::string> files = options.more;
    files.insert(files.begin(), options.file);
    std::string reading;
    try {
      std::vector<Capture> captures;
      bool damaged = false;
      for (const std::string& file : files) {
        reading = file;
        std::string error;
        auto capture = read_capture(file, &error, options.max_memory);
        if (!capture) {
          say(error);
          return 1;
        }
        if (!capture->cut_short.empty()) {
          say("note: '" + file + "' is " + capture->cut_short + "; what comes before is shown");
        }
        damaged = damaged || capture->damaged;
        captures.push_back(std::move(*capture));
      }
      const std::size_t graphs = captures.front().graphs.size();
      const bool wants_graph = options.format == DumpFormat::kGraph || options.format == DumpFormat::kDot;
      if (wants_graph && options.graph.value_or(0) >= graphs &&
          (options.graph || options.format == DumpFormat::kGraph)) {
        say(fmt::format("'{}' has no graph {}; it has {}, numbered from 0", options.file, options.graph.value_or(0),
                        graphs));
        return 1;
      }
      if (options.device) {
        put_in_place(options.device, captures.front());
      }
      DumpOutput output(out);
      show(options, captures, output);
      output.flush();
      return damaged ? 1 : 0;
    } catch (const OutputFailed& problem) {
      say(std::string("cannot write the output: ") + problem.what());
    } catch (const std::exception& problem) {
      say("cannot show '" + reading + "': " + problem.what());
    }
  } catch (...) {
    std::fputs("refrain dump: out of memory\n", err);
  }
  return 1;
}

}  // namespace refrain::capture
