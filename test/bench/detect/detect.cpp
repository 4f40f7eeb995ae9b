// refrain-bench-detect: what the detector and matcher would make of a stream of submissions, and what
// that costs. No device and no application: new chunks are ready at once.
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <deque>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "replay/detect/matcher.h"
#include "test/bench/detect/stream.h"

namespace refrain::bench {
namespace {

using replay::Action;
using replay::ChunkMode;
using replay::Matcher;
using replay::MatcherOptions;

using Clock = std::chrono::steady_clock;

std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  unsigned core = 0;
  const std::uint64_t now = __rdtscp(&core);  // waits until what is timed has run
  _mm_lfence();                               // and what comes next waits for it
  return now;
#else
  return static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
#endif
}

double nanoseconds_per_tick() {
  const auto start = Clock::now();
  const std::uint64_t first = ticks();
  while (Clock::now() - start < std::chrono::milliseconds(20)) {
  }
  const std::uint64_t last = ticks();
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / static_cast<double>(last - first);
}

/// What a pair of ticks() measures with nothing in between.
std::uint64_t empty_ticks() {
  std::vector<std::uint64_t> samples(10001);
  for (auto& sample : samples) {
    const std::uint64_t start = ticks();
    sample = ticks() - start;
  }
  std::nth_element(samples.begin(), samples.begin() + 5000, samples.end());
  return samples[5000];
}

std::vector<std::unique_ptr<Matcher>> matchers(const Stream& stream, const MatcherOptions& options) {
  std::vector<std::unique_ptr<Matcher>> result;
  for (std::size_t i = 0; i < stream.threads.size(); ++i) {
    result.push_back(std::make_unique<Matcher>(options));
    result.back()->set_initial_mode(ChunkMode::kHold);
  }
  return result;
}

std::span<const Action> feed(Matcher& matcher, const Entry& entry) {
  return entry.token == capture::kHostCallToken ? matcher.cut() : matcher.feed(entry.token, true);
}

struct Result {
  std::uint64_t operations = 0, host_calls = 0, threads = 0;
  std::uint64_t launched = 0, launched_second_half = 0, launches = 0;
  std::uint64_t first_hit = 0;  ///< number of the operation, from 1; 0: none
  std::uint64_t largest_hold = 0, side_exits = 0, chunks = 0, nodes = 0;
  std::size_t memory_bytes = 0;
  double mean_ns = 0, p50_ns = 0, p99_ns = 0, longest_ns = 0;
};

/// Applies every action to a queue per thread and counts.
void count(const Stream& stream, const MatcherOptions& options, Result& result) {
  auto lanes = matchers(stream, options);
  std::vector<std::deque<std::uint64_t>> queues(lanes.size());
  const std::uint64_t half = stream.operations / 2;
  std::uint64_t number = 0;
  const auto apply = [&](std::deque<std::uint64_t>& queue, std::span<const Action> actions) {
    for (const Action& action : actions) {
      if (action.count > queue.size()) {
        throw std::logic_error("the matcher let go of more operations than there are");
      }
      for (std::uint32_t i = 0; i < action.count; ++i) {
        if (action.kind == Action::Kind::kLaunch) {
          ++result.launched;
          result.launched_second_half += queue.front() > half ? 1 : 0;
        }
        queue.pop_front();
      }
      if (action.kind == Action::Kind::kLaunch) {
        result.first_hit = result.launches++ == 0 ? number : result.first_hit;
      }
    }
  };
  for (const Entry& entry : stream.entries) {
    auto& queue = queues[entry.thread];
    if (entry.token != capture::kHostCallToken) {
      queue.push_back(++number);
    }
    result.largest_hold = std::max<std::uint64_t>(result.largest_hold, lanes[entry.thread]->held());
    apply(queue, feed(*lanes[entry.thread], entry));
    if (queue.size() != lanes[entry.thread]->held()) {
      throw std::logic_error("the matcher miscounts what is held");
    }
  }
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const auto stats = lanes[i]->stats();
    result.largest_hold = std::max<std::uint64_t>(result.largest_hold, stats.largest_hold);
    result.side_exits += stats.side_exits;
    result.chunks += stats.chunks;
    result.nodes += stats.nodes;
    result.memory_bytes += stats.memory_bytes;
    apply(queues[i], lanes[i]->cut());
  }
  result.operations = stream.operations;
  result.host_calls = stream.entries.size() - stream.operations;
  result.threads = lanes.size();
}

/// Per call, host calls included. The matcher does the same work in each repetition, so what differs is
/// other processes and the kernel: of each call the fastest repetition counts. For the mean, batches of
/// calls are timed, so that the time stamps do not count; for the quantiles, single calls, less what two
/// time stamps measure alone.
void time(const Stream& stream, const MatcherOptions& options, int repetitions, Result& result) {
  if (stream.entries.empty()) {
    return;
  }
  constexpr std::size_t kBatch = 2000;
  const double tick_ns = nanoseconds_per_tick();
  const std::uint64_t empty = empty_ticks();
  std::vector<std::uint32_t> samples(stream.entries.size(), ~0U);
  std::vector<std::uint64_t> batches((stream.entries.size() + kBatch - 1) / kBatch, ~std::uint64_t{0});
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    {
      auto lanes = matchers(stream, options);
      std::uint64_t used = 0;  // so that the calls cannot be left out
      for (std::size_t batch = 0; batch < batches.size(); ++batch) {
        const std::size_t last = std::min((batch + 1) * kBatch, stream.entries.size());
        const std::uint64_t start = ticks();
        for (std::size_t i = batch * kBatch; i < last; ++i) {
          used += feed(*lanes[stream.entries[i].thread], stream.entries[i]).size();
        }
        batches[batch] = std::min(batches[batch], ticks() - start);
      }
      if (used > stream.entries.size() * std::uint64_t{64}) {
        throw std::logic_error("more actions than there can be");
      }
    }
    auto lanes = matchers(stream, options);
    for (std::size_t i = 0; i < stream.entries.size(); ++i) {
      const Entry& entry = stream.entries[i];
      const std::uint64_t start = ticks();
      feed(*lanes[entry.thread], entry);
      const std::uint64_t taken = ticks() - start;
      samples[i] = static_cast<std::uint32_t>(std::min<std::uint64_t>(taken > empty ? taken - empty : 0, ~0U));
    }
  }
  const auto quantile = [&](double share) {
    const auto place = samples.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(samples.size() - 1));
    std::nth_element(samples.begin(), place, samples.end());
    return *place * tick_ns;
  };
  result.p50_ns = quantile(0.5);
  result.p99_ns = quantile(0.99);
  result.longest_ns = quantile(1.0);
  const auto total = std::accumulate(batches.begin(), batches.end(), std::uint64_t{0});
  result.mean_ns = static_cast<double>(total) * tick_ns / static_cast<double>(stream.entries.size());
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

void print(const Result& result, bool json) {
  const std::uint64_t second_half = result.operations - result.operations / 2;
  const double per_launch = share(result.launched, result.launches);
  if (json) {
    std::cout << nlohmann::ordered_json{{"operations", result.operations},
                                        {"host_calls", result.host_calls},
                                        {"threads", result.threads},
                                        {"coverage", share(result.launched, result.operations)},
                                        {"coverage_second_half", share(result.launched_second_half, second_half)},
                                        {"launched", result.launched},
                                        {"launched_second_half", result.launched_second_half},
                                        {"launches", result.launches},
                                        {"operations_per_launch", per_launch},
                                        {"first_hit", result.first_hit},
                                        {"largest_hold", result.largest_hold},
                                        {"mean_ns", result.mean_ns},
                                        {"p50_ns", result.p50_ns},
                                        {"p99_ns", result.p99_ns},
                                        {"longest_ns", result.longest_ns},
                                        {"memory_bytes", result.memory_bytes},
                                        {"chunks", result.chunks},
                                        {"nodes", result.nodes},
                                        {"side_exits", result.side_exits}}
                     .dump(2)
              << '\n';
    return;
  }
  std::cout << fmt::format("operations            {} (host calls: {}, threads: {})\n", result.operations,
                           result.host_calls, result.threads)
            << fmt::format("coverage of all       {:.2f} %\n", 100 * share(result.launched, result.operations))
            << fmt::format("coverage, 2nd half    {:.2f} %\n", 100 * share(result.launched_second_half, second_half))
            << fmt::format("operations per launch {:.1f}\n", per_launch)
            << (result.first_hit != 0 ? fmt::format("first hit             operation {}\n", result.first_hit)
                                      : "first hit             none\n")
            << fmt::format("largest hold          {} operations\n", result.largest_hold)
            << fmt::format("ns per call           mean {:.1f}, p50 {:.1f}, p99 {:.1f}, longest {:.0f}\n",
                           result.mean_ns, result.p50_ns, result.p99_ns, result.longest_ns)
            << fmt::format("memory                {} KiB ({} chunks, {} nodes)\n", result.memory_bytes / 1024,
                           result.chunks, result.nodes);
}

}  // namespace
}  // namespace refrain::bench

int main(int argc, char** argv) {
  using namespace refrain::bench;
  try {
    CLI::App app("What the detector makes of a stream of submissions, and what it costs per call.",
                 "refrain-bench-detect");
    std::string file;
    bool json = false;
    int repetitions = 5;
    refrain::replay::MatcherOptions options;
    app.add_option("file", file,
                   "One token per line (0: host call), optionally a thread number behind it; - for standard input")
        ->required();
    app.add_flag("--json", json, "Print JSON");
    app.add_option("--repetitions", repetitions, "Timed runs; the fastest counts, 0 for none")
        ->check(CLI::Range(0, 1000));
    app.add_option("--chunk-first", options.chunk_first, "Length of the first chunk after a host call")
        ->check(CLI::Range(1, 4096));
    app.add_option("--chunk-growth", options.chunk_growth, "How much longer each following chunk is")
        ->check(CLI::Range(1, 64));
    app.add_option("--chunk-max", options.chunk_cap, "Longest chunk")->check(CLI::Range(1, 16384));
    app.add_option("--history", options.history, "Operations remembered")->check(CLI::Range(1024, 1048576));
    app.add_option("--max-nodes", options.max_nodes, "Bound on what is known at once")->check(CLI::Range(64, 1 << 24));
    app.add_option("--min-graph", options.min_chunk, "Shortest chunk")->check(CLI::Range(1, 1024));
    CLI11_PARSE(app, argc, argv);
    std::ifstream opened;
    if (file != "-") {
      opened.open(file);
      if (!opened) {
        throw std::runtime_error(
            fmt::format("{}: cannot be opened; give an existing file, or - for standard input", file));
      }
    }
    const Stream stream = read_stream(file == "-" ? std::cin : opened, file);
    Result result;
    count(stream, options, result);
    if (repetitions > 0) {
      time(stream, options, repetitions, result);
    }
    print(result, json);
  } catch (const std::exception& error) {
    std::cerr << "refrain-bench-detect: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
