#include "capture/dump.h"

#include <stdexcept>

#if REFRAIN_HAVE_BENCH
#include "backends/standalone_device.h"
#endif
#include "env/cli/commands.h"
#include "env/cli/options.h"
#include "replay/forecast/forecast.h"

namespace refrain::env {
namespace {

#if REFRAIN_HAVE_BENCH
/// A device of this machine whose name contains `name`, as a capture would tell it.
capture::DeviceInfo device_here(const std::string& api, const std::string& name) {
  std::string why;
  backends::DeviceChoice choice;
  choice.name = name;
  choice.library = find_hip_runtime();
  const auto opened = backends::open_standalone_device(api, choice, &why);
  if (opened == nullptr) throw std::runtime_error("--device: " + why);
  capture::QueueInfo wanted, queue;
  wanted.id = 1;
  wanted.in_order = true;
  if (!opened->make_queue(wanted, &queue, &why)) throw std::runtime_error("--device: " + why);
  const backends::Capabilities can = opened->backend().capabilities(queue);
  capture::DeviceInfo info = opened->info();
  info.native = !can.native ? "" : info.native.empty() ? "yes" : info.native;
  info.updates = can.update_arguments;
  info.keeps_order = can.keeps_order;
  return info;
}
#endif

}  // namespace

int dump_command(const CommandArguments& arguments) {
  CLI::App app("Prints what a capture holds.", "refrain dump");
  set_usage(app, "refrain dump [OPTIONS] FILE");
  app.footer(
      "The exit status is 0 if the file was shown, also one that ends early because its program was killed; 1 if it\n"
      "is damaged or cannot be shown; 2 for wrong usage.");
  capture::DumpOptions dump;
  std::optional<std::uint32_t> graph;
  bool summary = false;
  bool json = false;
  bool csv = false;
  bool dot = false;
  bool trace = false;
  bool explain = false;
  app.add_flag("--summary", summary, "A page of text: devices, totals, the graphs that matter (default)");
  app.add_option("--graph", graph, "One graph, as numbered in the summary: nodes, arguments, edges")->type_name("N");
  app.add_flag("--json", json, "Everything but code and contents, as JSON");
  app.add_flag("--csv", csv, "The graphs as a table of values with commas between, a line for each");
  app.add_flag("--dot", dot, "Graphviz: pictures of all graphs, or of the one of --graph; what repeats stands once");
  app.add_flag("--trace", trace,
               "Timeline of lanes and queues for chrome://tracing and Perfetto, as JSON; of several captures (the "
               "ranks of a job): "
               "all of them");
  app.add_flag("--explain", explain, "What keeps submissions from being replayed, what would gain most first");
#if REFRAIN_HAVE_BENCH
  std::string device;
  app.add_option("--device", device,
                 "Say what would be replayed on the device of this machine whose name contains this, instead of on the "
                 "captured one")
      ->type_name("TEXT");
#endif
  std::uint64_t max_memory_mb = 0;
  app.add_option("--max-memory-mb", max_memory_mb,
                 "Memory that reading and showing the file may take; 0: 64 MiB and 32 times the file's size")
      ->capture_default_str()
      ->type_name("MiB")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 24));
  std::vector<std::string> files;
  app.add_option("FILE", files, "The capture file; with --trace: files");
  if (const auto status = parse(app, arguments, nullptr)) return *status;
  if (files.empty() || (files.size() > 1 && !trace)) {
    throw UsageError("dump needs one capture file, --trace one or several; usage: refrain dump [OPTIONS] FILE");
  }
  if (summary + json + csv + dot + trace + explain > 1) {
    throw UsageError("--summary, --json, --csv, --dot, --trace and --explain exclude each other");
  }
  if (graph && (summary || json || csv || trace || explain))
    throw UsageError("--graph goes with --dot or stands alone");

  using capture::DumpFormat;
  dump.file = files.front();
  dump.more.assign(files.begin() + 1, files.end());
  dump.forecast = replay::forecast;
#if REFRAIN_HAVE_BENCH
  if (!device.empty()) dump.device = [&](const std::string& api) { return device_here(api, device); };
#endif
  dump.graph = graph;
  dump.max_memory = max_memory_mb << 20U;
  dump.format = json      ? DumpFormat::kJson
                : csv     ? DumpFormat::kCsv
                : dot     ? DumpFormat::kDot
                : trace   ? DumpFormat::kTrace
                : explain ? DumpFormat::kExplain
                : graph   ? DumpFormat::kGraph
                          : DumpFormat::kSummary;
  return capture::run_dump(dump, stdout, stderr);
}

}  // namespace refrain::env
