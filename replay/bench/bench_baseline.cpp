#include "replay/bench/bench_baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "env/escape.h"
#include "env/regular_file.h"

namespace refrain::replay {
namespace {

using nlohmann::json;

constexpr std::size_t kLargestFile = std::size_t{1} << 28U;  // limit: of memory

/// A value of the file and where it stands, for messages.
class Value {
 public:
  Value(const json& value, std::string place) : value_(value), place_(std::move(place)) {}

  [[nodiscard]] Value operator[](const char* name) const {
    if (!has(name)) {
      throw std::runtime_error(place_ + " has no member " + name);
    }
    return {value_[name], place_ + "." + name};
  }
  [[nodiscard]] bool has(const char* name) const { return value_.is_object() && value_.contains(name); }
  [[nodiscard]] std::vector<Value> list() const {
    std::vector<Value> values;
    for (const json& value : value_.is_array() ? value_ : wrong("a list")) {
      values.emplace_back(value, fmt::format("{}[{}]", place_, values.size()));
    }
    return values;
  }
  [[nodiscard]] std::string text() const { return (value_.is_string() ? value_ : wrong("a text")).get<std::string>(); }
  [[nodiscard]] bool boolean() const { return (value_.is_boolean() ? value_ : wrong("true or false")).get<bool>(); }
  [[nodiscard]] std::uint32_t small_number() const {
    const bool fits =
        value_.is_number_unsigned() && value_.get<std::uint64_t>() <= std::numeric_limits<std::uint32_t>::max();
    return (fits ? value_ : wrong("a whole number of 32 bits")).get<std::uint32_t>();
  }
  [[nodiscard]] double time() const {
    const bool fits = value_.is_number() && value_.get<double>() >= 0;
    return (fits ? value_ : wrong("a time, 0 or more")).get<double>();
  }
  [[nodiscard]] capture::Fingerprint fingerprint() const {
    const std::string digits = text();
    capture::Fingerprint number = 0;
    const char* const end = digits.data() + digits.size();
    if (const auto read = std::from_chars(digits.data(), end, number, 16); read.ec != std::errc() || read.ptr != end) {
      (void)wrong("a fingerprint");
    }
    return number;
  }
  [[nodiscard]] BenchTime bench_time() const {
    BenchTime time{(*this)["median"].time(), (*this)["p10"].time(), (*this)["p90"].time(), {}};
    if (has("low")) {
      time.interval = Interval{(*this)["low"].time(), (*this)["high"].time()};
      if (time.interval->low > time.median || time.median > time.interval->high) {
        (void)wrong("a median between low and high");
      }
    }
    return time;
  }

 private:
  [[nodiscard]] const json& wrong(const char* wanted) const { throw std::runtime_error(place_ + " is not " + wanted); }

  const json& value_;
  std::string place_;
};

Baseline baseline_of(const json& content) {
  const Value all(content, "it");
  Baseline baseline;
  if (!all.has("results") || !all.has("api")) {
    throw std::runtime_error("it is not what `refrain bench --json` prints");
  }
  if (!all.has("confidence")) {
    throw std::runtime_error("an older Refrain printed it, without fingerprints and intervals; make it anew");
  }
  if (content["confidence"] != kConfidence) {
    throw std::runtime_error(
        fmt::format("its intervals are not of {:g} % confidence; make it anew", 100 * kConfidence));
  }
  baseline.api = all["api"].text();
  baseline.platform = all["platform"].text();
  baseline.device = all["device"].text();
  baseline.driver = all["driver"].text();
  baseline.fewest_parts = all["fewest_parts"].boolean();
  for (const Value& value : all["results"].list()) {
    BenchRow& row = baseline.rows.emplace_back();
    row.graph = value["graph"].small_number();
    row.fingerprint = value["fingerprint"].fingerprint();
    row.chunk = value["chunk"].small_number();
    row.eager = value["eager_us"].bench_time();
    row.native = value["native_us"].bench_time();
  }
  return baseline;
}

BenchDifference difference_of(const BenchTime& before, const BenchTime& after) {
  return {before.median, after.median, ratio_of(after, before)};
}

json json_of(const BenchDifference& difference) {
  json made = json_of(difference.ratio);
  made["old_us"] = difference.old_us;
  made["new_us"] = difference.new_us;
  return made;
}

json json_of(const MeasuredGraph& measured) {
  return {{"graph", measured.graph},
          {"fingerprint", fmt::format("{:016x}", measured.fingerprint)},
          {"chunk", measured.chunk}};
}

json json_of(const std::vector<MeasuredGraph>& list) {
  json rows = json::array();
  for (const MeasuredGraph& measured : list) {
    rows.push_back(json_of(measured));
  }
  return rows;
}

}  // namespace

Baseline read_baseline(const std::string& file) {
  std::string content, why;
  if (!env::read_regular_file(file, kLargestFile, &content, &why)) {
    throw std::runtime_error(fmt::format("can't read the baseline '{}': {}", file, why));
  }
  try {
    Baseline baseline = baseline_of(json::parse(content));
    baseline.file = file;
    return baseline;
  } catch (const json::exception&) {  // its text has parts of the file
    throw std::runtime_error(fmt::format("the baseline '{}' can't be used: it is no JSON, or cut short", file));
  } catch (const std::runtime_error& problem) {
    throw std::runtime_error(fmt::format("the baseline '{}' can't be used: {}", file, problem.what()));
  }
}

BenchComparison compare(const Baseline& baseline, const BenchResult& result, bool fewest_parts, double tolerance) {
  BenchComparison comparison;
  comparison.baseline = baseline.file;
  comparison.tolerance = tolerance;
  const auto note = [&](const char* what, const std::string& before, const std::string& now) {
    if (before != now) {
      comparison.notes.push_back(fmt::format("the baseline's {} is {}, this one's is {}", what, before, now));
    }
  };
  note("platform", baseline.platform, result.device.platform);
  note("device", baseline.device, result.device.name);
  note("driver", baseline.driver, result.device.driver);
  const auto option = [](bool given) { return std::string(given ? "fewest parts" : "no false wait"); };
  note("way to split graphs", option(baseline.fewest_parts), option(fewest_parts));

  std::vector<bool> used(baseline.rows.size());
  const auto name_of = [](const BenchRow& row) { return MeasuredGraph{row.graph, row.fingerprint, row.chunk}; };
  for (const BenchRow& row : result.rows) {
    std::size_t place = 0;
    while (place < used.size() && (used[place] || baseline.rows[place].fingerprint != row.fingerprint ||
                                   baseline.rows[place].chunk != row.chunk)) {
      ++place;
    }
    if (place == used.size()) {
      comparison.only_here.push_back(name_of(row));
      continue;
    }
    used[place] = true;
    const BenchRow& before = baseline.rows[place];
    BenchComparison::Row& compared = comparison.rows.emplace_back();
    compared.what = name_of(row);
    compared.eager = difference_of(before.eager, row.eager);
    compared.native = difference_of(before.native, row.native);
    compared.relative = ratio_of(compared.native.ratio, compared.eager.ratio);
    compared.verdict = verdict_of(compared.native.ratio, compared.relative, tolerance);
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) {
      comparison.only_in_baseline.push_back(name_of(baseline.rows[i]));
    }
  }
  return comparison;
}

void print_comparison(const BenchComparison& comparison, std::FILE* out) {
  fmt::print(out, "\nAgainst {}; medians of native runs in microseconds, ratios with {:g} % confidence\n",
             env::escaped(comparison.baseline), 100 * kConfidence);
  for (const std::string& note : comparison.notes) {
    fmt::print(out, "note: {}\n", env::escaped(note));
  }
  if (!comparison.rows.empty()) {
    fmt::print(out, "\n{:>6} {:>6} {:>11} {:>11} {:>21} {:>21} {:>21}  {}\n", "graph", "chunk", "old us", "new us",
               "new / old", "the same of eager", "in relation to eager", "native is");
    for (const BenchComparison::Row& row : comparison.rows) {
      fmt::print(out, "{:>6} {:>6} {:>11.1f} {:>11.1f} {:>21} {:>21} {:>21}  {}\n", row.what.graph,
                 text_of_chunk(row.what.chunk), row.native.old_us, row.native.new_us, text_of(row.native.ratio),
                 text_of(row.eager.ratio), text_of(row.relative), text_of(row.verdict));
    }
    std::string counts;
    for (const Verdict verdict : {Verdict::kSlower, Verdict::kFaster, Verdict::kAsEager, Verdict::kNoDifference}) {
      counts +=
          fmt::format("{}{} {}", counts.empty() ? "" : "; ",
                      std::ranges::count(comparison.rows, verdict, &BenchComparison::Row::verdict), text_of(verdict));
    }
    fmt::print(out, "\n{}\n", counts);
    if (comparison.tolerance > 0) {
      fmt::print(out, "Differences that may be smaller than {:g} % are none.\n", 100 * comparison.tolerance);
    }
  }
  const auto list = [&](const char* title, const std::vector<MeasuredGraph>& rows) {
    if (!rows.empty()) {
      fmt::print(out, "\n{}:\n", title);
    }
    for (const MeasuredGraph& row : rows) {
      fmt::print(out, "  graph {}, {:016x}, chunk {}\n", row.graph, row.fingerprint, text_of_chunk(row.chunk));
    }
  };
  list("Only in the baseline, numbered as there", comparison.only_in_baseline);
  list("Only here", comparison.only_here);
}

json json_of(const BenchComparison& comparison) {
  json rows = json::array();
  for (const BenchComparison::Row& row : comparison.rows) {
    json& made = rows.emplace_back(json_of(row.what));
    made["eager"] = json_of(row.eager);
    made["native"] = json_of(row.native);
    made["relative"] = json_of(row.relative);
    made["verdict"] = text_of(row.verdict);
  }
  return {{"file", comparison.baseline},
          {"tolerance", comparison.tolerance},
          {"notes", comparison.notes},
          {"compared", rows},
          {"only_in_baseline", json_of(comparison.only_in_baseline)},
          {"only_here", json_of(comparison.only_here)}};
}

}  // namespace refrain::replay
