#include "replay/bench/bench.h"

#include <iostream>

#include "env/cli/commands.h"
#include "env/cli/marked_file.h"
#include "env/cli/options.h"
#include "env/cli/output_files.h"
#include "env/escape.h"
#include "replay/bench/bench_plot.h"

namespace refrain::env {

int bench_command(const CommandArguments& arguments) {
  CLI::App app(
      "Replays the graphs of a capture without the application, eagerly and as command buffers, checks that\n"
      "both give the same bytes, and times them: captures of CUDA, HIP, Level Zero and OpenCL, on this machine's\n"
      "driver. The programs in the file are compiled and run with your rights: bench only captures that you trust as\n"
      "you would a program.",
      "refrain bench");
  set_usage(app, "refrain bench [OPTIONS] FILE");
  app.footer(
      "A graph is slower, or faster, than in the baseline if the 99 % confidence interval of the ratio of its native\n"
      "medians is above, or below, 1, and is so in relation to eager runs as well: these are made in turns with\n"
      "native ones, so load and clock of the machine meet both.\n"
      "The exit status is 0 if all graphs were equal, 1 if not or after an error, 2 for a file that can't be read or\n"
      "wrong usage, 3 if there was nothing to bench or to compare, and 4 if all were equal, but some are slower\n"
      "than in the baseline, so that continuous integration needs to read nothing.");
  replay::BenchOptions bench;
  std::string graphs;
  std::string chunks;
  std::string picture;
  double tolerance = 0;
  app.add_option("--graph", graphs, "Only these graphs, as numbered by `refrain dump`")->type_name("N,...");
  app.add_option("--repetitions", bench.repetitions,
                 "Timed rounds for each graph: a run eagerly, and one with each chunk size")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(1U, 1000000U));
  app.add_option("--warm-up", bench.warm_up, "Untimed rounds before")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(0U, 1000000U));
  app.add_option("--chunks", chunks, "Nodes in a command buffer, one row each; 0: as many as possible (default)")
      ->type_name("N,...");
  app.add_flag("--sweep", bench.sweep,
               "Chunk sizes from 1, doubled, to as many as possible; says of each graph which one is the fastest");
  app.add_option("--baseline", bench.baseline,
                 "Compare with what an earlier `refrain bench --json` printed, by fingerprint and chunk size")
      ->type_name("FILE");
  app.add_option("--tolerance", tolerance,
                 "With --baseline: differences that may be smaller than this many percent are none")
      ->capture_default_str()
      ->type_name("PERCENT")
      ->check(CLI::Range(0.0, 1000.0));
  app.add_option("--plot", picture,
                 "Draw what was measured, as SVG; '-': on standard output, in place of the table. A picture that is\n"
                 "there is replaced")
      ->type_name("FILE");
  app.add_flag("--fewest-parts", bench.fewest_parts, "Split graphs into as few command buffers as possible");
  app.add_option("--platform", bench.platform, "Platform, as numbered by `refrain doctor`")
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--device", bench.device, "Device of the platform")->capture_default_str()->type_name("N");
  app.add_option("--device-name", bench.device_name, "The first device whose name contains this")->type_name("TEXT");
  app.add_option("--max-memory-mb", bench.max_memory_mb, "Graphs that need more are skipped")
      ->capture_default_str()
      ->type_name("MiB")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 24));
  app.add_flag("--trust", bench.trust,
               "Run what is in the file though it belongs to another user, or others may write to it");
  app.add_flag("--json", bench.json, "Print one JSON object");
  app.add_flag("--quiet", bench.quiet, "No progress on standard error");
  std::vector<std::string> files;
  app.add_option("FILE", files, "The capture file");
  if (const auto status = parse(app, arguments, nullptr)) return *status;
  if (files.size() != 1) throw UsageError("bench needs one capture file; usage: refrain bench [OPTIONS] FILE");
  bench.file = files.front();
  if (!graphs.empty()) bench.graphs = number_list(graphs, "--graph");
  if (!chunks.empty()) bench.chunk_sizes = number_list(chunks, "--chunks");
  if (bench.sweep && !chunks.empty()) throw UsageError("--sweep and --chunks exclude each other");
  if (tolerance != 0 && bench.baseline.empty()) throw UsageError("--tolerance goes with --baseline");
  if (picture == "-" && bench.json) throw UsageError("--plot - and --json both go to standard output");
  bench.tolerance = tolerance / 100;
  bench.library = find_hip_runtime();
  if (picture == "-") {
    bench.print = false;
    bench.plot = [](const std::string& svg) { std::fputs(svg.c_str(), stdout); };
  } else if (!picture.empty()) {
    const MarkedFile file{picture, replay::kPlotMark, "picture"};
    refuse_input(picture, "--plot", {bench.file, bench.baseline});
    file.check();
    bench.plot = [file](const std::string& svg) {
      file.write(svg);
      std::cerr << "refrain: wrote " << escaped(file.name) << "\n";
    };
  }
  return replay::run_bench(bench, stdout, stderr);
}

}  // namespace refrain::env
