#include "replay/bench/bench.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <optional>

#include "capture/reader.h"
#include "env/escape.h"
#include "replay/bench/bench_graph.h"
#include "replay/bench/bench_report.h"

namespace refrain::replay {
namespace {

using Clock = std::chrono::steady_clock;

// What is told names files, kernels and devices: nothing in it may reach a terminal as it is.
void say(std::FILE* err, const std::string& message) {
  fmt::print(err, "refrain bench: {}\n", env::escaped(message));
}

// One line that is written over on a terminal; elsewhere a line now and then once it takes long.
class Progress {
 public:
  Progress(std::FILE* err, bool quiet) : err_(err), quiet_(quiet), terminal_(isatty(fileno(err)) != 0) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const std::string& text) {
    if (quiet_) {
      return;
    }
    const auto now = Clock::now();
    if (terminal_) {
      if (now - last_ >= std::chrono::milliseconds(100)) {
        fmt::print(err_, "\r\033[K{}", text);
        std::fflush(err_);
        shown_ = true;
        last_ = now;
      }
    } else if (now - last_ >= std::chrono::seconds(10)) {
      fmt::print(err_, "refrain bench: {}\n", text);
      last_ = now;
    }
  }
  void clear() {
    if (shown_) {
      std::fputs("\r\033[K", err_);
      std::fflush(err_);
      shown_ = false;
    }
  }

 private:
  std::FILE* err_;
  bool quiet_;
  bool terminal_;
  bool shown_ = false;
  Clock::time_point last_ = Clock::now() - (terminal_ ? std::chrono::hours(1) : std::chrono::hours(0));
};

// What differs first; empty if nothing.
std::string first_difference(const BenchGraph& graph, const std::vector<std::vector<std::byte>>& a,
                             const std::vector<std::vector<std::byte>>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto place = std::ranges::mismatch(a[i], b[i]);
    if (place.in1 != a[i].end()) {
      return fmt::format("byte {} of {} is {:#04x} eagerly and {:#04x} natively", place.in1 - a[i].begin(),
                         graph.name_of_content(i), static_cast<unsigned>(*place.in1),
                         static_cast<unsigned>(*place.in2));
    }
  }
  return {};
}

class Bench {
 public:
  Bench(const BenchOptions& options, const capture::Capture& capture, backends::StandaloneDevice& device,
        std::FILE* err)
      : options_(options), capture_(capture), device_(device), progress_(err, options.quiet) {
    result_.file = options.file;
    result_.device = device.info();
    for (const capture::LaneHistory& lane : capture.lanes) {
      capture::for_each_leaf(lane, [&](const capture::HistoryItem& item) {
        if (item.graph < capture.graphs.size()) {
          occurrences_[capture.graphs[item.graph].id()] += item.total;
        }
      });
    }
  }

  BenchResult run(const std::vector<const capture::StoredGraph*>& graphs) {
    for (std::size_t i = 0; i < graphs.size(); ++i) {
      where_ = fmt::format("graph {} ({} of {})", graphs[i]->id(), i + 1, graphs.size());
      bench_graph(*graphs[i]);
      device_.release_memory();
    }
    progress_.clear();
    return std::move(result_);
  }

 private:
  void problem(std::uint32_t graph, std::string reason, bool failure) {
    result_.problems.push_back({graph, std::move(reason), failure});
  }

  void bench_graph(const capture::StoredGraph& stored) {
    progress_.show(where_ + ": building");
    std::string why;
    std::unique_ptr<BenchGraph> graph;
    try {
      graph = BenchGraph::rebuild(capture_, stored, device_, options_.max_memory_mb << 20U, &why);
    } catch (const capture::Refused& refused) {
      why = refused.what();
    }
    if (graph == nullptr) {
      problem(stored.id(), why, false);
      return;
    }
    progress_.show(where_ + ": running eagerly");
    std::vector<std::vector<std::byte>> eager, again, native;
    if (!graph->reset(&why) || !graph->run_eagerly(&why) || !graph->contents(&eager, &why)) {
      problem(stored.id(), why, false);
      return;
    }
    for (const std::uint32_t chunk : options_.chunk_sizes) {
      const auto mode = options_.fewest_parts ? PartitionMode::kFewestParts : PartitionMode::kNoFalseWait;
      progress_.show(where_ + ": recording");
      const std::optional<BenchPlan> plan = graph->plan(chunk, mode, &why);
      if (!plan) {
        problem(stored.id(), why, false);
        return;
      }
      if (!graph->reset(&why) || !graph->run_natively(*plan, &why) || !graph->contents(&native, &why)) {
        problem(stored.id(), why, true);
        return;
      }
      if (const std::string difference = first_difference(*graph, eager, native); !difference.empty()) {
        // Programs whose own result varies from run to run (atomics) are nobody's fault.
        if (!graph->reset(&why) || !graph->run_eagerly(&why) || !graph->contents(&again, &why)) {
          problem(stored.id(), why, true);
        } else if (again != eager) {
          problem(stored.id(), "two eager runs give different results, so nothing can be compared", false);
        } else {
          problem(stored.id(), "native replay gives other bytes: " + difference, true);
        }
        return;
      }
      measure(stored, *graph, *plan, chunk);
    }
  }

  void measure(const capture::StoredGraph& stored, BenchGraph& graph, const BenchPlan& plan, std::uint32_t chunk) {
    std::vector<std::uint64_t> eager_ns, native_ns;
    std::string why;
    if (!graph.reset(&why)) {
      problem(stored.id(), why, true);
      return;
    }
    const auto timed = [&](bool natively, std::vector<std::uint64_t>* samples) {
      const auto start = Clock::now();
      const bool ok = natively ? graph.run_natively(plan, &why) : graph.run_eagerly(&why);
      if (samples != nullptr) {
        samples->push_back(static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count()));
      }
      return ok;
    };
    const std::uint64_t pairs = std::uint64_t{options_.warm_up} + options_.repetitions;
    const auto enough = Clock::now() + std::chrono::seconds(options_.max_seconds);
    std::uint32_t timed_pairs = 0;
    for (std::uint64_t pair = 0; pair < pairs && (timed_pairs < 3 || Clock::now() < enough); ++pair) {
      const bool warm = pair < options_.warm_up;
      timed_pairs += warm ? 0 : 1;
      const bool native_first = pair % 2 != 0;  // neither always finds the caches the other left
      if (!timed(native_first, warm           ? nullptr
                               : native_first ? &native_ns
                                              : &eager_ns) ||
          !timed(!native_first, warm           ? nullptr
                                : native_first ? &eager_ns
                                               : &native_ns)) {
        problem(stored.id(), why, true);
        return;
      }
      progress_.show(fmt::format("{}: {} of {} pairs", where_, pair + 1, pairs));
    }
    BenchRow row;
    row.graph = stored.id();
    row.chunk = chunk;
    row.nodes = graph.graph().size();
    row.edges = graph.graph().edges().size();
    row.occurrences = occurrences_[stored.id()];
    row.pairs = timed_pairs;
    row.parts = plan.pieces.size();
    row.native_parts = plan.native_pieces;
    row.eager = summarize(eager_ns);
    row.native = summarize(native_ns);
    row.ratio = row.native.median > 0 ? row.eager.median / row.native.median : 0;
    row.made_up = graph.made_up();
    result_.rows.push_back(row);
  }

  const BenchOptions& options_;
  const capture::Capture& capture_;
  backends::StandaloneDevice& device_;
  Progress progress_;
  BenchResult result_;
  std::string where_;
  std::unordered_map<std::uint32_t, std::uint64_t> occurrences_;  // per graph id
};

int run(const BenchOptions& options, std::FILE* out, std::FILE* err) {
  const auto refuse = [&](const std::string& why) {
    say(err, why);
    return 2;
  };
  if (options.repetitions == 0 || options.chunk_sizes.empty()) {
    return refuse("at least one repetition and one chunk size are needed");
  }
  std::string why;
  const std::optional<capture::Capture> capture =
      capture::read_capture(options.file, &why, options.max_memory_mb << 20U);
  if (!capture) {
    return refuse(why);
  }
  if (why = capture->why_not_trusted(); !why.empty() && !options.trust) {
    return refuse(
        fmt::format("'{}' is not run: {}. A capture is code that is compiled and run with your rights. If you "
                    "know where it comes from: --trust",
                    options.file, why));
  }
  if (!capture->cut_short.empty() && !options.quiet) {
    say(err, fmt::format("{}: {}; what was read before is used", options.file, capture->cut_short));
  }
  std::vector<const capture::StoredGraph*> graphs;
  if (options.graphs.empty()) {
    for (const capture::StoredGraph& graph : capture->graphs) {
      graphs.push_back(&graph);
    }
  }
  for (const std::uint32_t wanted : options.graphs) {
    const auto found = std::ranges::find(capture->graphs, wanted, &capture::StoredGraph::id);
    if (found == capture->graphs.end()) {
      return refuse(
          fmt::format("{} has no graph {}; `refrain dump {}` lists them", options.file, wanted, options.file));
    }
    graphs.push_back(&*found);
  }

  // Refrain itself must not take part, should this program have been started under it.
  (void)setenv("REFRAIN_MODE", "off", 1);
  const std::string api = capture->devices.empty() ? "opencl" : capture->devices.front().api;
  const auto device =
      backends::open_standalone_device(api, {options.platform, options.device, options.device_name}, &why);
  if (device == nullptr) {
    say(err, why);
    return 3;
  }
  const BenchResult result = bench_graphs(options, *capture, graphs, *device, err);
  (options.json ? print_json : print_table)(result, options, out);
  if (std::ranges::any_of(result.problems, &BenchProblem::failure)) {
    return 1;
  }
  return result.rows.empty() ? 3 : 0;
}

}  // namespace

BenchResult bench_graphs(const BenchOptions& options, const capture::Capture& capture,
                         const std::vector<const capture::StoredGraph*>& graphs, backends::StandaloneDevice& device,
                         std::FILE* err) {
  return Bench(options, capture, device, err).run(graphs);
}

int run_bench(const BenchOptions& options, std::FILE* out, std::FILE* err) {
  try {
    return run(options, out, err);
  } catch (const std::exception& error) {
    say(err, options.file + ": " + error.what());
    return 1;
  }
}

}  // namespace refrain::replay
