// The programs of the evaluation, and how long they take: as they are, with Refrain, and with a plan made by hand.
// A program is one interval (some calls, then a wait for the device) again and again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "env/settings.h"
#include "test/policy/costs.h"
#include "test/policy/virtual_device.h"

namespace refrain::policy {

enum class Kind : std::uint8_t {
  kConstant,  ///< one queue, equal arguments
  kScalar,    ///< one scalar changes in every launch
  kForkJoin,  ///< four queues: an event in the first, waits in the others; launches in turn; and back
  kGap,       ///< as kConstant, but all of the host's own time comes between the last launch and the wait
  kInner,     ///< as kConstant, but only 20 different launches: a loop inside the loop
  /// A framework in an interpreted language: all that the host does takes another time at each call, whole phases are
  /// slower, every fifth launch has other arguments in turn, and after every 11 another thread had the queue.
  kFramework,
  /// As kFramework, but eight equal layers of a model whose input has another length each time: most of the kernels are
  /// chosen by the length, and all arguments change.
  kLengths,
};
inline constexpr std::string_view kKindNames[] = {"constant", "scalar",    "forkjoin", "gap",
                                                  "inner",    "framework", "lengths"};

struct Call {
  enum class Type : std::uint8_t { kKernel, kRecord, kWait, kHandover };
  Type type = Type::kKernel;
  std::uint8_t queue = 0;
  std::uint8_t event = 0;
  std::uint32_t function = 0;
};

struct Program {
  Kind kind = Kind::kConstant;
  Ns host = 0;               ///< the program's own time per launch
  Ns device = 0;             ///< time of a launch on the device
  std::size_t launches = 0;  ///< between two waits
  std::vector<Call> calls;   ///< of one interval, events included
  Ns before_call = 0;        ///< own time before each call …
  Ns before_wait = 0;        ///< … and before the wait
  Ns pause = 0;              ///< own time besides, before every eighth call
  /// A busy machine: so long the program does not run, once in each of the first three of kBetweenStolen intervals.
  Ns stolen = 0;

  /// Own time before the call with this index of the interval with this number. The same mean over all kNoisyIntervals.
  [[nodiscard]] Ns own_time(std::uint64_t interval, std::size_t call) const noexcept;
  /// True if the host's own times differ from call to call.
  [[nodiscard]] bool is_noisy() const noexcept { return kind == Kind::kFramework || kind == Kind::kLengths; }
  /// The kernel that a call launches.
  [[nodiscard]] std::uint32_t function(std::uint64_t interval, const Call& call) const noexcept;
  /// The scalar argument of a launch.
  [[nodiscard]] std::uint64_t argument(std::uint64_t interval, const Call& call) const noexcept;
};
inline constexpr std::uint64_t kBetweenStolen = 512;
/// Intervals in which a program is new: what learning costs it is judged there.
inline constexpr std::uint64_t kLearning = 30;
/// After so many intervals the noise comes again.
inline constexpr std::uint64_t kNoisyIntervals = 256;
Program make_program(Kind kind, Ns host, Ns device, std::size_t launches);

/// One interval as the program would run by itself; the mean over all kinds of intervals.
Ns eager_interval(const Program& program, const Costs& costs);
/// The first kLearning intervals as the program would run by itself, without the very first.
Ns eager_beginning(const Program& program, const Costs& costs);

/// Lengths of the pieces of an interval that are submitted at once; 1: issued as it comes.
using Plan = std::vector<std::uint32_t>;
/// One interval with every call held and every piece launched as a graph; nothing is detected, nothing is tried.
Ns planned_interval(const Program& program, const Costs& costs, const Plan& plan);

struct BestPlan {
  Ns interval = 0;
  std::string name;
};
/// The best of: eager, the whole interval, pieces of equal length, growing pieces, and growing pieces that shrink again
/// towards the wait.
BestPlan best_plan(const Program& program, const Costs& costs);

struct RunResult {
  std::uint64_t calls = 0;
  std::uint64_t intervals = 0;
  Ns beginning = 0;           ///< the first kLearning intervals, without the very first
  Ns total = 0;               ///< virtual time of the whole run, warm-up included
  double steady = 0;          ///< mean interval of the second half
  std::uint64_t warm_up = 0;  ///< calls before the first ten intervals that are on average within 2 % of `steady`
  double replayed = 0;        ///< share of the calls
  Ns worst_interval = 0;
  std::string report;
  std::string why;  ///< why what is not replayed is not, for the largest graph
};
/// Intervals until there were at least `calls` calls and `time` has passed, through the real engine; but no more than
/// five times as many calls.
inline constexpr std::uint64_t kMostCalls = 5;
RunResult run_engine(const Program& program, const Costs& costs, const env::Settings& settings, std::uint64_t calls,
                     Ns time);

}  // namespace refrain::policy
