#include "replay/bench/bench_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace refrain::replay {
namespace {

/// How many of the smallest samples, and of the largest ones, lie outside the interval of the median: as many as leave
/// kConfidence. Nothing if there are too few samples.
std::optional<std::size_t> outside_interval(std::size_t samples) {
  const auto count = static_cast<double>(samples);
  double log_of_term = -count * std::log(2.0);  // the probability that none is below the median
  double tail = std::exp(log_of_term);
  std::size_t outside = 0;
  while (tail <= (1 - kConfidence) / 2) {
    log_of_term += std::log((count - static_cast<double>(outside)) / static_cast<double>(outside + 1));
    tail += std::exp(log_of_term);
    ++outside;
  }
  return outside == 0 ? std::nullopt : std::optional(outside - 1);
}

}  // namespace

BenchTime summarize(std::vector<std::uint64_t>& samples) {
  if (samples.empty()) {
    return {};
  }
  std::ranges::sort(samples);
  const auto microseconds = [&](std::size_t rank) { return static_cast<double>(samples[rank]) / 1000.0; };
  const auto at = [&](double part) {
    const double place = part * static_cast<double>(samples.size() - 1);
    const auto low = static_cast<std::size_t>(place);
    const std::size_t high = std::min(low + 1, samples.size() - 1);
    const double share = place - static_cast<double>(low);
    return microseconds(low) * (1 - share) + microseconds(high) * share;
  };
  BenchTime time{at(0.5), at(0.1), at(0.9), {}};
  if (const auto outside = outside_interval(samples.size())) {
    time.interval = Interval{microseconds(*outside), microseconds(samples.size() - 1 - *outside)};
  }
  samples.clear();
  return time;
}

TimeRatio ratio_of(const BenchTime& time, const BenchTime& reference) {
  return ratio_of(TimeRatio{time.median, time.interval}, TimeRatio{reference.median, reference.interval});
}

TimeRatio ratio_of(const TimeRatio& ratio, const TimeRatio& reference) {
  if (!(ratio.value > 0) || !(reference.value > 0)) {
    return {};
  }
  const double value = ratio.value / reference.value;
  if (!ratio.interval || !reference.interval || !(ratio.interval->low > 0) || !(reference.interval->low > 0)) {
    return {value, {}};
  }
  const double down =
      std::hypot(std::log(ratio.value / ratio.interval->low), std::log(reference.interval->high / reference.value));
  const double up =
      std::hypot(std::log(ratio.interval->high / ratio.value), std::log(reference.value / reference.interval->low));
  return {value, Interval{value * std::exp(-down), value * std::exp(up)}};
}

std::string text_of(const TimeRatio& ratio) {
  return ratio.interval ? fmt::format("{:.3f} ({:.3f}-{:.3f})", ratio.value, ratio.interval->low, ratio.interval->high)
                        : fmt::format("{:.3f} (no interval)", ratio.value);
}

Verdict verdict_of(const TimeRatio& ratio, double tolerance) noexcept {
  if (!ratio.interval) {
    return Verdict::kNoDifference;
  }
  return ratio.interval->low > 1 + tolerance          ? Verdict::kSlower
         : ratio.interval->high < 1 / (1 + tolerance) ? Verdict::kFaster
                                                      : Verdict::kNoDifference;
}

Verdict verdict_of(const TimeRatio& native, const TimeRatio& relative, double tolerance) noexcept {
  const Verdict verdict = verdict_of(native, tolerance);
  return verdict == Verdict::kNoDifference || verdict == verdict_of(relative, tolerance) ? verdict : Verdict::kAsEager;
}

const char* text_of(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::kAsEager: return "different, as eager may be";
    case Verdict::kFaster: return "faster";
    case Verdict::kSlower: return "slower";
    case Verdict::kNoDifference: break;
  }
  return "no difference that can be told";
}

}  // namespace refrain::replay
