// A random program as data: phases, in which each thread runs its blocks; a block repeats its steps. Which events
// order the steps is computed (order.cpp), so that a program from which steps were taken away is correct as well, and
// what it computes never depends on the schedule.
//
// Threads meet between phases; what a thread may use in a phase belongs to it alone then, but for memory that nobody
// writes in that phase, and for queues that all threads submit to whenever they like.
//
// Gates (portable::Gate) make a queue wait for the host, or for what another queue gets later. When they are opened is
// computed, too (gates.cpp): no later than the program itself would wait for what is behind them, so that plain never
// hangs. Under the layer nothing may make that later.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "test/portable/device.h"

namespace property {

using portable::Word;

/// Every memory has so many words; kernels and copies use some of them.
inline constexpr Word kWords = 64;

enum class Kind : std::uint8_t {
  // Submissions. `to` is changed, `from` is read.
  kScale,
  kMix,
  kOdd,
  kWide,
  kStore,
  kBusy,
  kCopy,
  kRectangle,
  kFill,
  kWrite,         ///< pageable memory, changed right after the call
  kRead,          ///< waits; what was read counts as a value returned
  kHostFunction,  ///< changes `to`, which is pinned
  kPrefetch,
  kWriteValue,  ///< changes `to`, which is pinned
  kGraph,       ///< one of the program's own, number `value`
  kSeen,        ///< a kernel that sees what was set; in every third one with much shared memory, which may be refused
  kClose,       ///< gate number `value`: the queue waits
  kPost,        ///< opens gate number `value` when the queue comes to it
  kMarker,      ///< records an event, nothing else
  kBarrier,
  // What the host does itself.
  kOpen,  ///< gate number `value`
  kFlush,
  kLook,      ///< reads `to`, which is pinned
  kScribble,  ///< changes `to`, which is pinned
  kAskEvent,  ///< of the step `other`
  kAskQueue,
  kPoll,       ///< asks until the step `other` is done
  kWaitEvent,  ///< of the step `other`
  kWaitQueue,
  kWaitDevice,
  kAskSomething,
  kSet,             ///< thing number `value`: what later kSeen see
  kRefused,         ///< call number `value` that the driver refuses; with `to`, which is not used
  kReplaceMemory,   ///< freed and made anew; `value`: what it is filled with
  kReplaceInOrder,  ///< the same in the order of the queue
  kTemporary,       ///< `to` gets what is computed of `from` in memory that is there for that only
  kReplaceQueue,
  kReplaceEvent,  ///< of the step `other`, after waiting for it
  kPause,
  kLast
};
inline constexpr int kKinds = static_cast<int>(Kind::kLast);
const char* name_of(Kind kind) noexcept;
inline bool submits(Kind kind) noexcept {
  return kind <= Kind::kBarrier;
}

/// Some calls that belong together.
inline bool submits_some(Kind kind) noexcept {
  return kind == Kind::kReplaceInOrder || kind == Kind::kTemporary;
}

/// An order that order.cpp found to be needed: the event of another step, of the iteration before if `carried`.
struct Wait {
  int event = 0;
  bool carried = false;
};

struct Step {
  Kind kind = Kind::kScale;
  int id = 0;  ///< never changes, whatever else is taken away
  int queue = 0, to = 0, from = 0;
  int other = -1;              ///< id of another step
  bool alternates = false;     ///< `to` and `from` change places with every iteration
  Word value = 0, change = 0;  ///< in iteration i: value + change * i
  Word offset = 0, words = kWords;
  bool grows = false;    ///< a copy, or how many threads a kernel has: see words_in(); of kSeen: version_in()
  unsigned pattern = 4;  ///< bytes of a fill's pattern
  bool by_list = false;  ///< waits and event in the call's own list, not as calls of their own
  int old = -1;          ///< id of a step of an earlier block, whose event it waits for, whether or not it needs to
  // Found by order.cpp:
  std::vector<Wait> waits;  ///< by the queue, or by the host for what the host does
  int event = -1;           ///< that it completes, or -1
  int other_event = -1;     ///< of `other`
  bool certain = false;     ///< what is asked has only one answer: done
  // Found by gates.cpp:
  std::vector<int> opens;  ///< gates that the host opens before it
  bool moot = false;       ///< of a gate that is closed, or open, already: nothing
  bool gated = false;      ///< what is asked has only one answer: not done
  /// After a wait, what else is known to be done then, whichever thread did it; a few of each, in half of the programs.
  /// They are asked, and there is only one answer.
  std::vector<int> done_queues, done_events;

  /// How many words an iteration is about.
  [[nodiscard]] Word words_in(unsigned iteration) const noexcept {
    return grows ? 1 + (words + kGrowth * iteration) % (kWords - offset) : words;
  }
  static constexpr Word kGrowth = 5;
  /// Which of several kernels an iteration launches; 0: the only one.
  [[nodiscard]] unsigned version_in(unsigned iteration) const noexcept { return grows ? 1 + iteration / 2 : 0; }
};

struct Block {
  unsigned iterations = 1;
  std::vector<Step> steps;
  std::vector<int> opens;  ///< gates that the host opens after each iteration; see gates.cpp
};

struct Phase {
  std::vector<std::vector<Block>> threads;
};

struct GraphStep {
  Kind kind = Kind::kScale;
  int to = 0, from = 0;
  Word value = 0;
};

struct Program {
  std::uint64_t seed = 0;
  int threads = 1;
  std::vector<portable::QueueKind> queues;  ///< kThreadsOwn: number i is thread i's, always
  std::vector<bool> shared;                 ///< queues of all threads at once
  std::vector<portable::Place> memory;
  std::vector<int> queue_devices, memory_devices;  ///< of each queue and memory
  bool peers = true;                               ///< kernels may use memory of the other device; else copies alone
  std::vector<bool> in_order;                      ///< memory that is allocated and freed in the order of a queue
  std::vector<std::vector<GraphStep>> graphs;      ///< of the program's own; memory they use is never replaced
  std::vector<bool> gates;                         ///< whether queues open it as well
  std::vector<Phase> phases;
  int events = 0;  ///< how many there are

  // What the API does; see portable::Feature.
  bool release_waits = true, release_queue = true, graph_in_flight = true, write_is_copied = true;

  /// What the step changes and reads, in this iteration. Graphs come after memory.
  struct Uses {
    std::vector<int> writes, reads;
  };
  [[nodiscard]] Uses uses_of(const Step& step, unsigned iteration) const;
};

/// What to leave out of a program, and how often its blocks may run at most.
struct Edits {
  std::set<int> dropped;
  unsigned most_iterations = ~0U;
};

/// A program that `device` can express. `all_kinds`: some of its queues wait for the host and for one another, and some
/// of its calls are refused.
Program generate(std::uint64_t seed, const portable::Device& device, bool all_kinds);
/// Takes away, then orders anew.
void apply(const Edits& edits, Program* program);
/// Finds `waits`, `event` and `events`; what was there is forgotten.
void order(Program* program);
/// Finds when gates are opened, of a program that is ordered; order() does that.
void place_gates(Program* program);

/// The C++ of the API's own calls. `api` as in Device::api().
std::string source_of(const Program& program, const std::string& api);

}  // namespace property
