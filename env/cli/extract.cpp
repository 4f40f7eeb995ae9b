#include "replay/bench/extract.h"

#include <fmt/core.h>

#include <iostream>

#include "env/cli/commands.h"
#include "env/cli/options.h"
#include "env/cli/output_files.h"
#include "env/escape.h"

namespace refrain::env {

int extract_command(const CommandArguments& arguments) {
  CLI::App app(
      "Makes a capture of some graphs of another one: each once with each of its argument sets, and what it names.\n"
      "`refrain bench` runs them from it as from the whole; to look at, to keep as a baseline, or to send with a "
      "report.",
      "refrain extract");
  set_usage(app, "refrain extract --graph N,... -o NEW FILE");
  app.footer(
      "The exit status is 0 if the new capture was written, 1 if the old one can't be read or the new one not be\n"
      "written, 2 for wrong usage. It holds the kernels' code, contents if they were captured (--portable), and the\n"
      "command line: look before you pass it on.");
  replay::ExtractOptions extract;
  std::string graphs;
  app.add_option("--graph", graphs, "These graphs, as numbered by `refrain dump`")->type_name("N,...");
  app.add_option("-o,--output", extract.output, "The new capture; one that is there is replaced")->type_name("NEW");
  app.add_flag("--trust", extract.trust,
               "Take what is in the file though it belongs to another user, or others may write to it");
  std::vector<std::string> files;
  app.add_option("FILE", files, "The capture file");
  if (const auto status = parse(app, arguments, nullptr)) return *status;
  if (files.size() != 1 || graphs.empty() || extract.output.empty()) {
    throw UsageError("extract needs a capture file, --graph and -o; usage: refrain extract --graph N,... -o NEW FILE");
  }
  extract.file = files.front();
  extract.graphs = number_list(graphs, "--graph");
  refuse_input(extract.output, "-o", files);
  const replay::Extracted told = replay::extract(extract);
  if (!told.cut_short.empty()) {
    std::cerr << "refrain: note: '" << escaped(extract.file) << "' is " << escaped(told.cut_short)
              << "; what comes before was looked at\n";
  }
  const auto counted = [](std::uint64_t number, const char* one, const char* several) {
    return fmt::format("{} {}", number, number == 1 ? one : several);
  };
  std::cerr << "refrain: wrote " << escaped(extract.output) << ": " << counted(told.graphs, "graph", "graphs")
            << " with " << counted(told.argument_sets, "argument set", "argument sets") << ", "
            << counted(told.kernels, "kernel", "kernels") << ", " << counted(told.buffers, "buffer", "buffers") << " ("
            << told.with_contents << " with contents), "
            << fmt::format("{:.1f} KiB", static_cast<double>(told.bytes) / 1024) << "\n";
  return kSuccess;
}

}  // namespace refrain::env
