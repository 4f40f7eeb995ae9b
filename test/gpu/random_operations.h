// What random_program can do, and how loop bodies are drawn.
#pragma once

#include <array>
#include <vector>

#include "random_kernels.cuh"
#include "random_tracker.h"

namespace random_test {

enum class Kind {
  kMix,
  kTurn,
  kPacket,
  kLaunchEx,
  kCopyDevice,
  kCopy2D,
  kCopyIn,   ///< from pinned memory
  kCopyOut,  ///< to pinned memory
  kMemset8,
  kMemset16,
  kMemset32,
  kMemset2D,
  kHostFunction,
  kGraph,
  kAsyncTemporary,  ///< 14: see part_random.py
  kPageableIn,
  kPageableOut,
  kHostTouch,
  kWait,
  kSyncCopyIn,
  kSyncCopyOut,
  kSyncCopyDevice,
  kElapsed,
  kTemporary,
  kRecapture,
  kDeviceWait,
  kSpin,
  kHostGate,   ///< 27: a stream waits for the host
  kQueueGate,  ///< 28: a stream waits for a kernel that another one gets later
  kRefused,    ///< a launch with too many threads
  kRenewBuffer,
  kRenewStream,
  kCount
};

constexpr unsigned kBuffers = 8;      ///< per thread
constexpr unsigned kKeptBuffers = 4;  ///< of these, not freed in between: recorded graphs name them
constexpr unsigned kPinned = 3;
constexpr unsigned kGraphs = 3;
constexpr unsigned kAttributes = 5;

struct Operation {
  Kind kind;
  int stream, other_stream;
  unsigned to, from, third;  ///< buffers, all different
  unsigned pinned, graph;
  std::uint32_t value;
  bool value_changes;  ///< with every iteration
  bool swaps;          ///< `to` and `from` take turns
  unsigned offset, count;
  unsigned style;
};

/// Kinds that are left out (a plain kernel takes their place), to find out which one makes results differ.
inline std::array<bool, static_cast<std::size_t>(Kind::kCount)> left_out{};

/// Kinds before and after which the whole device is waited for, for the same purpose.
inline std::array<bool, static_cast<std::size_t>(Kind::kCount)> waited_around{};

/// One iteration of a loop.
struct Body {
  std::vector<Operation> operations;
  bool waits;
  int wait_stream;
  Wait how;
};

class Generator {
 public:
  Generator(Random& random, int streams) : random_(random), streams_(streams) {}

  Body body() {
    // Most loops of real programs are calm: they submit to few streams and wait at the end.
    const bool calm = random_.chance(60);
    choose_streams(calm);
    last_stream_ = -1;
    const unsigned length = random_.chance(25) ? 40 + random_.below(80) : 3 + random_.below(30);
    Body body{};
    for (unsigned i = 0; i < length; ++i) body.operations.push_back(operation(calm));
    body.waits = random_.chance(calm ? 80 : 50);
    body.wait_stream = stream();
    body.how = static_cast<Wait>(random_.below(static_cast<unsigned>(Wait::kCount)));
    return body;
  }

  /// Something that interrupts a loop now and then.
  Operation interruption() {
    Operation result = operation(false);
    if (random_.chance(30)) result.kind = random_.chance(70) ? Kind::kRenewBuffer : Kind::kRenewStream;
    if (left_out[static_cast<std::size_t>(result.kind)]) result.kind = Kind::kMix;
    return result;
  }

 private:
  struct Weight {
    Kind kind;
    unsigned weight;
  };
  static constexpr Weight kCalm[] = {
      {Kind::kMix, 40},         {Kind::kTurn, 12},    {Kind::kPacket, 8},    {Kind::kLaunchEx, 10},
      {Kind::kCopyDevice, 6},   {Kind::kCopy2D, 3},   {Kind::kCopyIn, 4},    {Kind::kCopyOut, 4},
      {Kind::kMemset8, 3},      {Kind::kMemset16, 2}, {Kind::kMemset32, 3},  {Kind::kMemset2D, 3},
      {Kind::kHostFunction, 1}, {Kind::kHostGate, 2}, {Kind::kQueueGate, 2}, {Kind::kRefused, 1}};
  static constexpr Weight kWild[] = {
      {Kind::kMix, 40},         {Kind::kTurn, 10},          {Kind::kPacket, 8},     {Kind::kLaunchEx, 10},
      {Kind::kCopyDevice, 6},   {Kind::kCopy2D, 3},         {Kind::kCopyIn, 5},     {Kind::kCopyOut, 5},
      {Kind::kMemset8, 3},      {Kind::kMemset16, 2},       {Kind::kMemset32, 3},   {Kind::kMemset2D, 3},
      {Kind::kHostFunction, 3}, {Kind::kGraph, 4},          {Kind::kPageableIn, 4}, {Kind::kPageableOut, 3},
      {Kind::kHostTouch, 3},    {Kind::kWait, 4},           {Kind::kSyncCopyIn, 2}, {Kind::kSyncCopyOut, 2},
      {Kind::kElapsed, 2},      {Kind::kAsyncTemporary, 5}, {Kind::kTemporary, 1},  {Kind::kSyncCopyDevice, 1},
      {Kind::kRecapture, 1},    {Kind::kDeviceWait, 1},     {Kind::kSpin, 1},       {Kind::kHostGate, 3},
      {Kind::kQueueGate, 3},    {Kind::kRefused, 2}};

  template <std::size_t N>
  Kind draw(const Weight (&weights)[N]) {
    unsigned total = 0;
    for (const Weight& weight : weights) total += weight.weight;
    unsigned at = random_.below(total);
    for (const Weight& weight : weights) {
      if (at < weight.weight) return weight.kind;
      at -= weight.weight;
    }
    return Kind::kMix;
  }

  void choose_streams(bool calm) {
    usable_.clear();
    const unsigned count = calm ? 1 + random_.below(3) : static_cast<unsigned>(streams_);
    for (unsigned i = 0; i < count; ++i) {
      usable_.push_back(static_cast<int>(calm ? random_.below(static_cast<unsigned>(streams_)) : i));
    }
  }
  int stream() { return usable_[random_.below(static_cast<unsigned>(usable_.size()))]; }

  Operation operation(bool calm) {
    if (usable_.empty()) choose_streams(false);
    Operation result{};
    result.kind = calm ? draw(kCalm) : draw(kWild);
    if (left_out[static_cast<std::size_t>(result.kind)]) result.kind = Kind::kMix;
    // Runs on one stream, as libraries submit them.
    if (last_stream_ < 0 || random_.chance(40)) last_stream_ = stream();
    result.stream = last_stream_;
    result.other_stream = stream();
    result.to = random_.below(kBuffers);
    result.from = (result.to + 1 + random_.below(kBuffers - 2)) % kBuffers;
    do {
      result.third = random_.below(kBuffers);
    } while (result.third == result.to || result.third == result.from);
    result.pinned = random_.below(kPinned);
    result.graph = random_.below(kGraphs);
    result.value = random_.next();
    result.value_changes = random_.chance(15);
    result.swaps = random_.chance(10);
    result.offset = random_.below(kWords / 2);
    result.count = 1 + random_.below(kWords - result.offset - 1);
    result.style = random_.next();
    return result;
  }

  Random& random_;
  int streams_;
  std::vector<int> usable_;
  int last_stream_ = -1;
};

}  // namespace random_test
