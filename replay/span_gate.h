// Second half of the cost gate: compares whole spans, from the first submission after a wait to the
// end of the next wait. A graph can be cheaper to submit and still make the program slower (on an
// H200, memset + kernel + 8-byte copy + sync: 12.3 us eagerly, 17.8 us as a graph); only the span shows it.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "capture/operation.h"
#include "replay/cost_gate.h"

namespace refrain::replay {

class GraphEntry;

/// One per lane; not thread-safe. A span is known by the sequence of its tokens. When the graphs of a
/// span have passed the first half of the gate, spans are run with and without them in turn, until there
/// are enough samples of both.
class SpanGate {
 public:
  /// `margin_percent`: a span with graphs may be at most this much slower than without.
  void configure(bool enabled) noexcept { enabled_ = enabled; }

  void submitted(capture::Token token, std::uint64_t now) noexcept {
    if (!open_) {
      open_ = true;
      start_ns_ = now;
      hash_ = 0;
      launched_.clear();
      disturbed_ = false;
      submissions_ = looked_at_ = 0;
    }
    ++submissions_;
    hash_ = capture::mix(hash_, token);
  }
  [[nodiscard]] bool open() const noexcept { return open_; }
  void launched(const std::shared_ptr<GraphEntry>& entry);
  /// Something made this span no fair sample (an expired hold).
  void disturbed() noexcept { disturbed_ = true; }
  /// A submission was looked at for a graph to come. A few of them do no harm: some program has one in nearly
  /// every span.
  void looked_at() noexcept { ++looked_at_; }
  /// The rest of this span will not be seen.
  void abandon() noexcept { open_ = false; }
  /// The wait that ends the span is over.
  void waited(std::uint64_t now);

  /// True while the current span is to run without graphs, to be compared.
  [[nodiscard]] bool eager_turn() const noexcept { return eager_turn_; }

 private:
  struct Known {
    RecentCosts eager;
    RecentCosts replay;
    std::uint64_t replays = 0;
    std::uint64_t next_check = 64;
    bool settled = false;
    std::uint64_t successor = 0;  ///< hash of the span that followed last time
  };
  bool enabled_ = false;
  bool open_ = false;
  bool disturbed_ = false;
  std::uint64_t submissions_ = 0, looked_at_ = 0;  ///< of the open span
  bool eager_turn_ = false;
  std::uint64_t start_ns_ = 0;
  std::uint64_t hash_ = 0;
  std::uint64_t previous_ = 0;
  std::vector<std::shared_ptr<GraphEntry>> launched_;
  std::unordered_map<std::uint64_t, Known> known_;
};

}  // namespace refrain::replay
