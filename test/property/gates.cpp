// When the host opens the gates of a program. A program may close one and go on until it waits for something that is
// behind it; there at the latest it must be opened, or plain hangs. So each block is followed once, and what is behind
// closed gates is spread along every order that there may be: this is the most that a driver may wait for, where
// follow.cpp finds the least that it must.
#include <array>
#include <cstdint>
#include <map>

#include "test/property/program.h"

namespace property {
namespace {

using portable::QueueKind;

/// A set of gates by their places in the block: bits.
using Gates = std::uint64_t;
constexpr std::size_t kMostGates = 64;

class Placer {
 public:
  Placer(const Program& program, Block& block) : program_(program), block_(block), queues_(program.queues.size()) {}

  void place() {
    for (Step& step : block_.steps) {
      step.opens.clear();
      step.moot = step.gated = false;
      follow(step);
    }
    block_.opens.clear();
    open(closed_, &block_.opens);
  }

 private:
  /// What is behind gates, and what is so for certain.
  struct Behind {
    Gates perhaps = 0, surely = 0;
  };

  Gates bit_of(Word gate) {
    const auto [found, fresh] = places_.try_emplace(gate, places_.size());
    if (fresh) {
      numbers_[found->second % kMostGates] = static_cast<int>(gate);
    }
    return found->second < kMostGates ? Gates{1} << found->second : 0;
  }

  /// The host opens what is still closed of `gates`.
  void open(Gates gates, std::vector<int>* opens) {
    const Gates now = gates & closed_;
    for (std::size_t place = 0; place < kMostGates; ++place) {
      if ((now >> place & 1) != 0) {
        opens->push_back(numbers_[place]);
      }
    }
    closed_ &= ~now;
    replace(now, 0);
  }
  /// Whatever was behind `gates` is behind `others` now.
  void replace(Gates gates, Gates others) {
    const auto change = [&](Behind& behind) {
      if ((behind.perhaps & gates) != 0) {
        behind.perhaps = (behind.perhaps & ~gates) | others;
      }
      behind.surely &= ~gates;
    };
    for (Behind& each : queues_) {
      change(each);
    }
    for (auto& [number, each] : events_) {
      change(each);
    }
  }

  [[nodiscard]] Behind& queue_of(const Step& step) { return queues_[static_cast<std::size_t>(step.queue)]; }
  [[nodiscard]] QueueKind kind_of(const Step& step) const {
    return program_.queues[static_cast<std::size_t>(step.queue)];
  }
  [[nodiscard]] Gates behind_waits(const Step& step) {
    Gates gates = 0;
    for (const Wait& wait : step.waits) {
      gates |= events_[wait.event].perhaps;
    }
    return gates;
  }
  /// What the default queue and those that it orders wait for in each other.
  [[nodiscard]] Gates behind_others(const Step& step) const {
    Gates gates = 0;
    for (std::size_t other = 0; other < queues_.size(); ++other) {
      const QueueKind kind = program_.queues[other];
      if ((kind_of(step) == QueueKind::kDefault && blocks(kind)) ||
          (blocks(kind_of(step)) && kind == QueueKind::kDefault)) {
        gates |= queues_[other].perhaps;
      }
    }
    return gates;
  }

  void follow(Step& step) {
    if (submits(step.kind) || submits_some(step.kind)) {
      submit(step);
      return;
    }
    open(behind_waits(step), &step.opens);
    switch (step.kind) {
      case Kind::kOpen: open(bit_of(step.value), &step.opens); break;
      case Kind::kAskEvent: step.gated = events_[step.other_event].surely != 0; break;
      case Kind::kAskQueue: step.gated = queue_of(step).surely != 0; break;
      case Kind::kPoll:
      case Kind::kWaitEvent:
      case Kind::kReplaceEvent: open(events_[step.other_event].perhaps, &step.opens); break;
      case Kind::kWaitQueue: open(queue_of(step).perhaps | behind_others(step), &step.opens); break;
      case Kind::kReplaceQueue:
      case Kind::kWaitDevice:
      case Kind::kReplaceMemory: open(closed_, &step.opens); break;
      default: break;
    }
  }

  void submit(Step& step) {
    Behind& queue = queue_of(step);
    const bool writes = step.kind == Kind::kWrite || step.kind == Kind::kReplaceInOrder;
    const bool waits = step.kind == Kind::kRead || (writes && !program_.write_is_copied);
    if (step.kind == Kind::kGraph && !program_.graph_in_flight) {
      open(closed_, &step.opens);  // the host waits for its last launch
    }
    Gates gates = queue.perhaps | behind_waits(step) | behind_others(step);
    if (waits) {
      open(gates, &step.opens);
      gates &= closed_;
    }
    if (step.kind == Kind::kClose) {
      const Gates own = bit_of(step.value);
      step.moot = own == 0 || (closed_ & own) != 0;
      if (!step.moot) {
        closed_ |= own;
        gates |= own;
        queue.surely |= own;
      }
    } else if (step.kind == Kind::kPost) {
      post(step, gates);
      gates = queue.perhaps | behind_waits(step) | behind_others(step);
    }
    queue.perhaps |= gates;
    if (step.event >= 0) {
      events_[step.event] = kind_of(step) == QueueKind::kOutOfOrder ? Behind{gates, 0} : queue;
    }
  }

  /// A queue opens a gate. If it is itself behind that gate, the host must.
  void post(Step& step, Gates behind) {
    const Gates own = bit_of(step.value);
    step.moot = (closed_ & own) == 0;
    if (!step.moot && (behind & own) != 0) {
      open(own, &step.opens);
      step.moot = true;
    }
    if (!step.moot) {
      closed_ &= ~own;
      replace(own, behind);
    }
  }

  const Program& program_;
  Block& block_;
  std::vector<Behind> queues_;
  std::map<int, Behind> events_;
  std::map<Word, std::size_t> places_;
  std::array<int, kMostGates> numbers_{};
  Gates closed_ = 0;
};

}  // namespace

void place_gates(Program* program) {
  for (Phase& phase : program->phases) {
    for (auto& blocks : phase.threads) {
      for (Block& block : blocks) {
        Placer(*program, block).place();
      }
    }
  }
}

}  // namespace property
