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
#include "replay/bench/bench_baseline.h"
#include "replay/bench/bench_graph.h"
#include "replay/bench/bench_plot.h"
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
    std::vector<std::vector<std::byte>> eager;
    if (!graph->reset(&why) || !graph->run_eagerly(&why) || !graph->contents(&eager, &why)) {
      problem(stored.id(), why, false);
      return;
    }
    std::vector<Native> sizes;
    const std::vector<std::uint32_t> wanted = chunk_sizes(*graph);
    for (const std::uint32_t chunk : wanted) {
      progress_.show(where_ + ": recording");
      bool failure = false;
      std::optional<BenchPlan> plan = checked_plan(*graph, chunk, eager, &why, &failure);
      if (!plan) {
        problem(stored.id(), wanted.size() == 1 ? why : fmt::format("chunk {}: {}", text_of_chunk(chunk), why),
                failure);
        break;
      }
      sizes.push_back({chunk, std::move(*plan), {}});
    }
    if (!sizes.empty()) {
      measure(stored, *graph, sizes);
    }
  }

  /// A chunk size that gave the same bytes.
  struct Native {
    std::uint32_t chunk;
    BenchPlan plan;
    std::vector<std::uint64_t> ns;  ///< of each timed round
  };

  [[nodiscard]] PartitionMode mode() const noexcept {
    return options_.fewest_parts ? PartitionMode::kFewestParts : PartitionMode::kNoFalseWait;
  }

  /// A sweep ends where the longest part ends: larger chunks are the same command buffers as those of size 0.
  std::vector<std::uint32_t> chunk_sizes(const BenchGraph& graph) const {
    std::vector<std::uint32_t> sizes;
    if (!options_.sweep) {
      for (const std::uint32_t size : options_.chunk_sizes) {
        if (std::ranges::find(sizes, size) == sizes.end()) {
          sizes.push_back(size);
        }
      }
      return sizes;
    }
    const std::size_t longest = graph.longest_part(mode());
    for (std::size_t size = 1; size < longest; size *= 2) {
      sizes.push_back(static_cast<std::uint32_t>(size));
    }
    sizes.push_back(0);
    return sizes;
  }

  /// The graph's command buffers, once they gave what `eager` has. Nothing, and `why`, if they did not; `failure` is
  /// set if something is wrong with them.
  std::optional<BenchPlan> checked_plan(BenchGraph& graph, std::uint32_t chunk,
                                        const std::vector<std::vector<std::byte>>& eager, std::string* why,
                                        bool* failure) const {
    std::optional<BenchPlan> plan = graph.plan(chunk, mode(), why);
    if (!plan) {
      return std::nullopt;
    }
    *failure = true;
    std::vector<std::vector<std::byte>> native, again;
    if (!graph.reset(why) || !graph.run_natively(*plan, why) || !graph.contents(&native, why)) {
      return std::nullopt;
    }
    const std::string difference = first_difference(graph, eager, native);
    if (difference.empty()) {
      return plan;
    }
    // Programs whose own result varies from run to run (atomics) are nobody's fault.
    if (!graph.reset(why) || !graph.run_eagerly(why) || !graph.contents(&again, why)) {
      return std::nullopt;
    }
    *failure = again == eager;
    *why = *failure ? "native replay gives other bytes: " + difference
                    : "two eager runs give different results, so nothing can be compared";
    return std::nullopt;
  }

  /// Eagerly and with each size in turns; each other round in reverse, so that none always finds the caches that the
  /// same other one left.
  void measure(const capture::StoredGraph& stored, BenchGraph& graph, std::vector<Native>& sizes) {
    std::vector<std::uint64_t> eager_ns;
    std::string why;
    if (!graph.reset(&why)) {
      problem(stored.id(), why, true);
      return;
    }
    const auto run = [&](std::size_t place, bool warm) {  // 0: eagerly
      Native* const native = place == 0 ? nullptr : &sizes[place - 1];
      if (!graph.prepare(&why)) {
        return false;
      }
      const auto start = Clock::now();
      const bool ok = native != nullptr ? graph.run_natively(native->plan, &why) : graph.run_eagerly(&why);
      if (!warm) {
        (native != nullptr ? native->ns : eager_ns)
            .push_back(static_cast<std::uint64_t>(
                std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count()));
      }
      return ok;
    };
    const std::uint64_t rounds = std::uint64_t{options_.warm_up} + options_.repetitions;
    const auto enough = Clock::now() + sizes.size() * std::chrono::seconds(options_.max_seconds);
    std::uint32_t timed_rounds = 0;
    for (std::uint64_t round = 0; round < rounds && (timed_rounds < 3 || Clock::now() < enough); ++round) {
      const bool warm = round < options_.warm_up;
      timed_rounds += warm ? 0 : 1;
      for (std::size_t i = 0; i <= sizes.size(); ++i) {
        if (!run(round % 2 == 0 ? i : sizes.size() - i, warm)) {
          problem(stored.id(), why, true);
          return;
        }
      }
      progress_.show(fmt::format("{}: {} of {} rounds", where_, round + 1, rounds));
    }
    const BenchTime eager = summarize(eager_ns);
    const capture::Fingerprint fingerprint = stored.graph().fingerprint();
    for (Native& size : sizes) {
      BenchRow row;
      row.graph = stored.id();
      row.fingerprint = fingerprint;
      row.chunk = size.chunk;
      row.nodes = graph.graph().size();
      row.edges = graph.graph().edges().size();
      row.occurrences = occurrences_[stored.id()];
      row.pairs = timed_rounds;
      row.parts = size.plan.pieces.size();
      row.native_parts = size.plan.native_pieces;
      row.eager = eager;
      row.native = summarize(size.ns);
      row.ratio = ratio_of(row.eager, row.native).value;
      row.made_up = graph.made_up();
      result_.rows.push_back(row);
    }
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
  std::optional<Baseline> baseline;
  if (!options.baseline.empty()) {
    try {
      baseline = read_baseline(options.baseline);
    } catch (const std::runtime_error& problem) {
      return refuse(problem.what());
    }
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
  const std::string api = capture->devices.empty() ? "opencl" : capture->devices.front().api;
  if (baseline && baseline->api != api) {
    return refuse(fmt::format("the baseline '{}' is of {}, the capture of {}: no graph of one is a graph of the other",
                              options.baseline, baseline->api, api));
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
    if (std::ranges::find(graphs, &*found) == graphs.end()) {
      graphs.push_back(&*found);
    }
  }

  // Refrain itself must not take part, should this program have been started under it.
  (void)setenv("REFRAIN_MODE", "off", 1);
  const auto device = backends::open_standalone_device(
      api, {options.platform, options.device, options.device_name, options.library}, &why);
  if (device == nullptr) {
    say(err, why);
    return 3;
  }
  BenchResult result = bench_graphs(options, *capture, graphs, *device, err);
  if (baseline) {
    result.comparison = compare(*baseline, result, options.fewest_parts, options.tolerance);
  }
  if (options.print) {
    (options.json ? print_json : print_table)(result, options, out);
  } else {
    for (const BenchProblem& problem : result.problems) {
      say(err, fmt::format("graph {}: {}", problem.graph, problem.reason));
    }
  }
  if (options.plot && !result.rows.empty()) {
    options.plot(plot(result));
  }
  if (std::ranges::any_of(result.problems, &BenchProblem::failure)) {
    return 1;
  }
  if (result.rows.empty() || (result.comparison && result.comparison->rows.empty())) {
    return 3;
  }
  const auto slower = [](const BenchComparison::Row& row) { return row.verdict == Verdict::kSlower; };
  return result.comparison && std::ranges::any_of(result.comparison->rows, slower) ? 4 : 0;
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
