// What each step of a program comes after: a set for each thing that is done. Whatever conflicts without an order gets
// one. Nothing more, so that programs are as free as they can be. Loops are followed for a few iterations: what a step
// comes after is the same in all later ones.
#include "test/property/follow.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace property {
namespace {

using portable::QueueKind;

/// Set of instances, by number.
class Set {
 public:
  void add(std::size_t number) {
    if (number / 64 >= words_.size()) {
      words_.resize(number / 64 + 1);
    }
    words_[number / 64] |= std::uint64_t{1} << (number % 64);
  }
  void add(const Set& other) {
    if (other.words_.size() > words_.size()) {
      words_.resize(other.words_.size());
    }
    for (std::size_t i = 0; i < other.words_.size(); ++i) {
      words_[i] |= other.words_[i];
    }
  }
  [[nodiscard]] bool has(std::size_t number) const {
    return number / 64 < words_.size() && (words_[number / 64] >> (number % 64) & 1U) != 0;
  }
  [[nodiscard]] bool empty() const {
    return std::ranges::all_of(words_, [](std::uint64_t word) { return word == 0; });
  }
  [[nodiscard]] bool holds(const Set& other) const {
    for (std::size_t i = 0; i < other.words_.size(); ++i) {
      if ((other.words_[i] & ~(i < words_.size() ? words_[i] : 0)) != 0) {
        return false;
      }
    }
    return true;
  }

 private:
  std::vector<std::uint64_t> words_;
};

/// A step in one iteration; what it comes after, itself included.
struct Instance {
  Step* step = nullptr;
  std::size_t place = 0;  ///< of the step in the program
  int phase = 0;
  const Block* block = nullptr;
  Set after;
};

struct QueueState {
  Set tail;  ///< what the next one comes after
  Set all;   ///< everything in it
  bool touched = false;
};
struct MemoryState {
  std::optional<std::size_t> writer;
  std::vector<std::size_t> readers;
  bool written = false;
  std::size_t old_readers = 0;  ///< of earlier phases
};
struct EventState {
  std::optional<std::size_t> recorded;
  bool touched = false;
};
/// As one thread sees it.
struct State {
  std::vector<QueueState> queues;
  std::vector<MemoryState> memory;
  std::map<int, EventState> events;
  Set host;  ///< what the host knows to be done
  Set left;  ///< what destroyed queues left unfinished: the default queue waits for it, others do not
};

class Follower {
 public:
  Follower(Program& program, std::set<int>& own_events) : program_(program), own_events_(own_events) {}

  /// True if something was changed: follow again.
  bool follow() {
    State now;
    now.queues.resize(program_.queues.size());
    now.memory.resize(program_.memory.size() + program_.graphs.size());
    std::size_t place = 0;
    for (std::size_t phase = 0; phase < program_.phases.size(); ++phase) {
      phase_ = static_cast<int>(phase);
      std::vector<State> states;
      thread_ = 0;
      for (auto& blocks : program_.phases[phase].threads) {
        for (MemoryState& memory : now.memory) {
          memory.written = false;
          memory.old_readers = memory.readers.size();
        }
        state_ = now;
        for (Block& block : blocks) {
          follow(block, place);
          place += block.steps.size();
        }
        states.push_back(std::move(state_));
        ++thread_;
      }
      merge(states, &now);
    }
    return changed_;
  }

 private:
  void merge(std::vector<State>& states, State* now) const {
    for (State& state : states) {
      now->host.add(state.host);
      now->left.add(state.left);
    }
    for (State& state : states) {
      for (std::size_t i = 0; i < now->queues.size(); ++i) {
        if (!std::exchange(state.queues[i].touched, false)) {
          continue;
        }
        if (program_.shared[i]) {
          now->queues[i].tail.add(state.queues[i].tail);
          now->queues[i].all.add(state.queues[i].all);
        } else {
          now->queues[i] = std::move(state.queues[i]);
        }
      }
      for (std::size_t i = 0; i < now->memory.size(); ++i) {
        MemoryState& memory = state.memory[i];
        if (memory.written) {
          now->memory[i] = memory;
        } else {
          now->memory[i].readers.insert(now->memory[i].readers.end(),
                                        memory.readers.begin() + static_cast<std::ptrdiff_t>(memory.old_readers),
                                        memory.readers.end());
        }
      }
      for (auto& [number, event] : state.events) {
        if (std::exchange(event.touched, false)) {
          now->events[number] = event;
        }
      }
    }
  }

  void follow(Block& block, std::size_t place) {
    // Steps alternate, so that an odd number of iterations ends differently from an even one.
    const unsigned rounds = block.iterations <= 4 ? block.iterations : 4 + block.iterations % 2;
    for (unsigned i = 0; i < rounds; ++i) {
      for (std::size_t at = 0; at < block.steps.size(); ++at) {
        follow(block.steps[at], i, block, place + at);
      }
    }
  }

  /// What a submission to the queue comes after in any case. `told`: only what was said, not what the default queue and
  /// others wait for in each other.
  Set before(const Step& step, bool told) {
    const auto index = static_cast<std::size_t>(step.queue);
    Set set = state_.queues[index].tail;
    set.add(state_.host);
    if (told) {
      return set;
    }
    const QueueKind kind = program_.queues[index];
    if (kind == QueueKind::kDefault) {
      set.add(state_.left);
    }
    for (std::size_t other = 0; other < program_.queues.size(); ++other) {
      if ((kind == QueueKind::kDefault && blocks(program_.queues[other])) ||
          (blocks(kind) && program_.queues[other] == QueueKind::kDefault)) {
        set.add(state_.queues[other].all);
      }
    }
    if (step.kind == Kind::kMarker || step.kind == Kind::kBarrier) {
      set.add(state_.queues[index].all);
    }
    return set;
  }

  /// Small copies from pinned memory are read during the call, where the driver knows of nothing that their queue waits
  /// for (test/gpu/order_rules.cu).
  [[nodiscard]] bool read_at_once(const Step& step, const Program::Uses& uses) const {
    return step.kind == Kind::kCopy && std::ranges::any_of(uses.reads, [&](int index) {
             return static_cast<std::size_t>(index) < program_.memory.size() &&
                    program_.memory[static_cast<std::size_t>(index)] == portable::Place::kPinned;
           });
  }

  void follow(Step& step, unsigned iteration, const Block& block, std::size_t place) {
    const std::size_t number = instances_.size();
    instances_.push_back({&step, place, phase_, &block, {}});
    const bool submission = submits(step.kind) || submits_some(step.kind);
    const Program::Uses uses = program_.uses_of(step, iteration);
    const bool perhaps_nothing = step.kind == Kind::kClose || step.kind == Kind::kPost;  // moot, see gates.cpp
    Set after = submission ? before(step, perhaps_nothing || read_at_once(step, uses)) : state_.host;
    for (const Wait& wait : step.waits) {
      if (const auto& recorded = state_.events[wait.event].recorded) {
        after.add(instances_[*recorded].after);
      }
    }
    const bool new_object = step.kind == Kind::kReplaceMemory && program_.release_waits;
    if (!new_object) {
      for (const int index : uses.writes) {
        MemoryState& memory = state_.memory[static_cast<std::size_t>(index)];
        need(step, number, memory.writer, &after);
        for (const std::size_t reader : memory.readers) {
          need(step, number, reader, &after);
        }
      }
      for (const int index : uses.reads) {
        need(step, number, state_.memory[static_cast<std::size_t>(index)].writer, &after);
      }
    }
    for (const int index : uses.writes) {
      MemoryState& memory = state_.memory[static_cast<std::size_t>(index)];
      memory.writer = number;
      memory.readers.clear();
      memory.written = true;
      memory.old_readers = 0;
    }
    for (const int index : uses.reads) {
      state_.memory[static_cast<std::size_t>(index)].readers.push_back(number);
    }
    after.add(number);
    instances_[number].after = after;
    if (submission) {
      submitted(step, number, after);
    } else {
      done_by_host(step, after);
    }
  }

  void submitted(Step& step, std::size_t number, const Set& after) {
    QueueState& queue = state_.queues[static_cast<std::size_t>(step.queue)];
    const bool in_order = program_.queues[static_cast<std::size_t>(step.queue)] != QueueKind::kOutOfOrder;
    if (in_order && step.event < 0 && (step.kind == Kind::kBarrier || step.kind == Kind::kMarker)) {
      return;  // nothing at all, with some APIs
    }
    queue.touched = true;
    queue.all.add(after);
    if (program_.queues[static_cast<std::size_t>(step.queue)] != QueueKind::kOutOfOrder ||
        step.kind == Kind::kBarrier) {
      queue.tail.add(after);
    }
    if (step.event >= 0) {
      state_.events[step.event] = {number, true};
    }
    if (step.kind == Kind::kRead) {
      know(after);
      note_done(step);
      if (step.event >= 0) {  // recorded after the wait: the queue is not done
        const std::size_t record = instances_.size();
        instances_.push_back(instances_[number]);
        instances_[record].after.add(record);
        queue.all.add(record);
      }
    }
  }

  void done_by_host(Step& step, const Set& after) {
    know(after);
    const auto index = static_cast<std::size_t>(step.queue);
    const auto& recorded = state_.events[step.other_event].recorded;
    const Set& asked =
        step.kind == Kind::kAskQueue || !recorded ? state_.queues[index].all : instances_[*recorded].after;
    switch (step.kind) {
      case Kind::kAskQueue: step.certain = step.certain && is_done(index); break;
      case Kind::kAskEvent: step.certain = step.certain && state_.host.holds(asked); break;
      case Kind::kPoll:
      case Kind::kWaitEvent:
        if (recorded) {
          know(asked);
        }
        break;
      case Kind::kReplaceEvent:
        if (recorded) {
          know(asked);
          state_.events[step.other_event] = {std::nullopt, true};
        }
        break;
      case Kind::kWaitQueue: know(state_.queues[index].all); break;
      case Kind::kWaitDevice:
        for (const QueueState& each : state_.queues) {
          know(each.all);
        }
        break;
      case Kind::kReplaceQueue:
        if (!program_.release_queue) {
          know(state_.queues[index].all);
        } else if (program_.queues[index] == QueueKind::kBlocking) {
          state_.left.add(state_.queues[index].all);
        }
        state_.queues[index] = {};
        state_.queues[index].touched = true;
        break;
      default: break;
    }
    if (step.kind == Kind::kPoll || step.kind == Kind::kWaitEvent || step.kind == Kind::kWaitQueue ||
        step.kind == Kind::kWaitDevice) {
      note_done(step);
    }
  }

  /// Whether the host knows that nothing of the queue is left.
  [[nodiscard]] bool is_done(std::size_t queue) const {
    if (program_.shared[queue] || !state_.host.holds(state_.queues[queue].all)) {
      return false;
    }
    if (program_.queues[queue] != QueueKind::kDefault) {
      return true;
    }
    // The default queue is done when those that wait for it are, other threads' included.
    if (program_.threads != 1 || !state_.host.holds(state_.left)) {
      return false;
    }
    for (std::size_t each = 0; each < program_.queues.size(); ++each) {
      if (blocks(program_.queues[each]) && !state_.host.holds(state_.queues[each].all)) {
        return false;
      }
    }
    return true;
  }

  /// What can be asked behind a wait.
  void note_done(Step& step) {
    std::vector<int> queues;
    for (int queue = 0; queue < static_cast<int>(program_.queues.size()); ++queue) {
      const auto index = static_cast<std::size_t>(queue);
      const bool other_threads = program_.queues[index] == QueueKind::kThreadsOwn && queue != thread_;
      if (!other_threads && !state_.queues[index].all.empty() && is_done(index) &&
          !others_use([queue](const Step& each) { return each.queue == queue; })) {
        queues.push_back(queue);
      }
    }
    std::vector<int> events;
    for (const auto& [number, event] : state_.events) {
      const auto used = [number = number](const Step& each) {
        return each.event == number || each.other_event == number;
      };
      if (event.recorded && state_.host.holds(instances_[*event.recorded].after) && !others_use(used)) {
        events.push_back(number);
      }
    }
    const bool first = noted_.insert(&step).second;
    const auto keep = [first](std::vector<int>* all, const std::vector<int>& now) {
      if (first) {
        *all = now;
      } else {
        std::erase_if(*all, [&now](int each) { return !std::ranges::binary_search(now, each); });
      }
    };
    keep(&step.done_queues, queues);
    keep(&step.done_events, events);
  }

  /// Whether another thread has such a step in this phase.
  template <class Test>
  [[nodiscard]] bool others_use(Test&& test) const {
    const auto& threads = program_.phases[static_cast<std::size_t>(phase_)].threads;
    for (std::size_t thread = 0; thread < threads.size(); ++thread) {
      for (const Block& block : threads[thread]) {
        if (static_cast<int>(thread) != thread_ && std::ranges::any_of(block.steps, test)) {
          return true;
        }
      }
    }
    return false;
  }

  /// The host has waited for `done`.
  void know(const Set& done) { state_.host.add(done); }

  /// `step` comes after what instance `other` does.
  void need(Step& step, std::size_t number, std::optional<std::size_t> other, Set* after) {
    if (!other || *other == number) {
      return;
    }
    const Instance& first = instances_[*other];
    if (after->has(*other)) {
      return;
    }
    changed_ = true;
    Step& before = *first.step;
    const bool shared_again =
        std::ranges::any_of(step.waits, [&](const Wait& wait) { return wait.event == before.event; });
    if (first.phase != phase_ || (before.event >= 0 && shared_again)) {
      if (own_events_.insert(before.id).second) {
        before.event = -1;
      }
    }
    if (before.event < 0) {
      before.event = new_event(before);
      // Without an order the event would mean the last iteration, and not those before.
      if (program_.queues[static_cast<std::size_t>(before.queue)] == QueueKind::kOutOfOrder) {
        before.waits.push_back({before.event, true});
      }
    }
    const bool carried = first.block == instances_[number].block && first.place >= instances_[number].place;
    if (!std::ranges::any_of(step.waits, [&](const Wait& wait) { return wait.event == before.event; })) {
      step.waits.push_back({before.event, carried});
    }
    after->add(first.after);
  }

  /// One of its own, or the one of its queue.
  int new_event(const Step& step) {
    const auto index = static_cast<std::size_t>(step.queue);
    const bool in_order = program_.queues[index] != QueueKind::kOutOfOrder;
    if (in_order && !program_.shared[index] && !own_events_.contains(step.id) &&
        (program_.seed + static_cast<std::uint64_t>(step.queue)) % 3 == 0) {
      return step.queue;
    }
    return program_.events++;
  }

  Program& program_;
  std::set<int>& own_events_;
  State state_;
  std::vector<Instance> instances_;
  std::set<const Step*> noted_;
  int phase_ = 0, thread_ = 0;
  bool changed_ = false;
};

}  // namespace

bool follow(Program& program, std::set<int>& own_events) {
  return Follower(program, own_events).follow();
}

}  // namespace property
