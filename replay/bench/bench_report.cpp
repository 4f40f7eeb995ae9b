#include "replay/bench/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "env/escape.h"
#include "replay/bench/bench_baseline.h"
#include "replay/bench/bench_sweep.h"

namespace refrain::replay {
namespace {

std::string spread(const BenchTime& time) {
  return fmt::format("{:.1f}-{:.1f}", time.p10, time.p90);
}

nlohmann::json json_of(const BenchTime& time) {
  nlohmann::json made = {{"median", time.median}, {"p10", time.p10}, {"p90", time.p90}};
  if (time.interval) {
    made["low"] = time.interval->low;
    made["high"] = time.interval->high;
  }
  return made;
}

nlohmann::json json_of(const BestChunk& best) {
  nlohmann::json others = nlohmann::json::array();
  for (const BestChunk::Other& other : best.others) {
    nlohmann::json& made = others.emplace_back(json_of(other.ratio));
    made["chunk"] = other.chunk;
    made["told_apart"] = verdict_of(other.ratio) != Verdict::kNoDifference;
  }
  return {{"graph", best.best.graph},
          {"fingerprint", fmt::format("{:016x}", best.best.fingerprint)},
          {"chunk", best.best.chunk},
          {"eager", json_of(best.eager)},
          {"others", others}};
}

}  // namespace

nlohmann::json json_of(const TimeRatio& ratio) {
  nlohmann::json made = {{"ratio", ratio.value}};
  if (ratio.interval) {
    made["low"] = ratio.interval->low;
    made["high"] = ratio.interval->high;
  }
  return made;
}

std::string text_of_chunk(std::uint32_t chunk) {
  return chunk == 0 ? "all" : std::to_string(chunk);
}

void print_table(const BenchResult& result, const BenchOptions& options, std::FILE* out) {
  fmt::print(out, "{}\n{}\n", env::escaped(result.file),
             env::escaped(fmt::format("{} on {} (driver {})", result.device.name, result.device.platform,
                                      result.device.driver)));
  fmt::print(out,
             "{} rounds of eager and native runs after {} for warm-up; medians in microseconds, spread p10-p90\n\n",
             options.repetitions, options.warm_up);
  if (!result.rows.empty()) {
    fmt::print(out, "{:>6} {:>6} {:>6} {:>6} {:>6} {:>7} {:>11} {:>17} {:>11} {:>17} {:>6}\n", "graph", "seen", "nodes",
               "edges", "chunk", "parts", "eager us", "spread", "native us", "spread", "ratio");
    for (const BenchRow& row : result.rows) {
      fmt::print(out, "{:>6} {:>6} {:>6} {:>6} {:>6} {:>7} {:>11.1f} {:>17} {:>11.1f} {:>17} {:>6.2f}{}\n", row.graph,
                 row.occurrences, row.nodes, row.edges, text_of_chunk(row.chunk), row.parts, row.eager.median,
                 spread(row.eager), row.native.median, spread(row.native), row.ratio, row.made_up != 0 ? " *" : "");
    }
    fmt::print(out, "\nratio: eager / native; above 1, native is faster. Both gave the same bytes.\n");
  }
  for (const BenchRow& row : result.rows) {
    const bool first = &row == &result.rows.front() || (&row - 1)->graph != row.graph;
    if (first && row.pairs < options.repetitions) {
      fmt::print(out, "graph {}: {} rounds only, as they take long.\n", row.graph, row.pairs);
    }
  }
  if (std::ranges::any_of(result.rows, [](const BenchRow& row) { return row.made_up != 0; })) {
    fmt::print(
        out,
        "*: the capture holds no contents for some buffers (made without --portable, or they were left out); they\n"
        "   were filled with small pseudo-random whole numbers, the same on every run.\n");
  }
  if (const std::vector<BestChunk> best = best_chunks(result.rows); !best.empty()) {
    fmt::print(out, "\nThe fastest chunk size of each graph, ratios with {:g} % confidence:\n", 100 * kConfidence);
    for (const BestChunk& chunk : best) {
      fmt::print(out, "  {}\n", text_of(chunk));
    }
  }
  for (const bool failure : {true, false}) {
    bool first = true;
    for (const BenchProblem& problem : result.problems) {
      if (problem.failure == failure) {
        if (first) {
          fmt::print(out, "\n{}:\n", failure ? "Failed" : "Not benched");
          first = false;
        }
        fmt::print(out, "  graph {}: {}\n", problem.graph, env::escaped(problem.reason));
      }
    }
  }
  if (result.comparison) {
    print_comparison(*result.comparison, out);
  }
}

void print_json(const BenchResult& result, const BenchOptions& options, std::FILE* out) {
  nlohmann::json rows = nlohmann::json::array();
  for (const BenchRow& row : result.rows) {
    rows.push_back({{"graph", row.graph},
                    {"fingerprint", fmt::format("{:016x}", row.fingerprint)},
                    {"occurrences", row.occurrences},
                    {"nodes", row.nodes},
                    {"edges", row.edges},
                    {"chunk", row.chunk},
                    {"parts", row.parts},
                    {"native_parts", row.native_parts},
                    {"pairs", row.pairs},
                    {"eager_us", json_of(row.eager)},
                    {"native_us", json_of(row.native)},
                    {"ratio", row.ratio},
                    {"buffers_without_contents", row.made_up},
                    {"equal", true}});
  }
  nlohmann::json failed = nlohmann::json::array();
  nlohmann::json skipped = nlohmann::json::array();
  for (const BenchProblem& problem : result.problems) {
    (problem.failure ? failed : skipped).push_back({{"graph", problem.graph}, {"reason", problem.reason}});
  }
  nlohmann::json all = {{"file", result.file},
                        {"device", result.device.name},
                        {"platform", result.device.platform},
                        {"driver", result.device.driver},
                        {"api", result.device.api},
                        {"repetitions", options.repetitions},
                        {"warm_up", options.warm_up},
                        {"fewest_parts", options.fewest_parts},
                        {"confidence", kConfidence},
                        {"results", rows},
                        {"failed", failed},
                        {"skipped", skipped}};
  for (const BestChunk& best : best_chunks(result.rows)) {
    all["best"].push_back(json_of(best));
  }
  if (result.comparison) {
    all["baseline"] = json_of(*result.comparison);
  }
  fmt::print(out, "{}\n", all.dump(2, ' ', true, nlohmann::json::error_handler_t::replace));
}

}  // namespace refrain::replay
