// What repeated measurements say, and whether two of them differ.
//
// The interval of a median lies between two of the sorted samples, chosen by the binomial distribution: that holds
// whatever the times are distributed like, and times never are normally. Two medians are compared by the ratio, whose
// interval is made of theirs (MOVER: the method of variance estimates recovery, on logarithms). So a file needs to keep
// three numbers of a measurement and not its samples, and nothing is drawn at random.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace refrain::replay {

/// Of each interval. High, as many of them are looked at together, and chance alone puts one in a hundred beside its
/// value.
inline constexpr double kConfidence = 0.99;  // format: baselines are read with it

struct Interval {
  double low = 0, high = 0;
};

/// Microseconds.
struct BenchTime {
  double median = 0, p10 = 0, p90 = 0;
  std::optional<Interval> interval;  ///< of the median; none if there are too few samples to have one
};
/// `samples` in nanoseconds; empties it.
BenchTime summarize(std::vector<std::uint64_t>& samples);

struct TimeRatio {
  double value = 0;  ///< 0 if there is none
  std::optional<Interval> interval;
};
/// `time` / `reference`: above 1, `time` is the longer one.
TimeRatio ratio_of(const BenchTime& time, const BenchTime& reference);
TimeRatio ratio_of(const TimeRatio& ratio, const TimeRatio& reference);
/// "1.020 (1.010-1.030)"
std::string text_of(const TimeRatio& ratio);

enum class Verdict : std::uint8_t {
  kNoDifference,
  kFaster,
  kSlower,
  kAsEager,  ///< a difference, but none that can be told in relation to eager runs
};
/// What a ratio says of the time above the line: the whole interval is beyond 1. `tolerance`: as a share, what is too
/// little to be called a difference.
Verdict verdict_of(const TimeRatio& ratio, double tolerance = 0) noexcept;
/// The same of native runs now and before, where eager runs were made in turns with both. `relative`: the ratio in
/// relation to theirs.
Verdict verdict_of(const TimeRatio& native, const TimeRatio& relative, double tolerance) noexcept;
/// "slower"
const char* text_of(Verdict verdict) noexcept;

}  // namespace refrain::replay
