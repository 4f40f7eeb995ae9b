#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string_view>
#include <utility>

#include "test/property/program.h"

namespace property {
namespace {

using portable::Feature;
using portable::Place;
using portable::QueueKind;

/// Step kinds and how often they come; host calls end what is held, so that most blocks have few of them.
struct Weight {
  Kind kind;
  unsigned weight;
};
constexpr Weight kWeights[] = {
    {Kind::kScale, 30},     {Kind::kMix, 60},         {Kind::kOdd, 14},           {Kind::kWide, 8},
    {Kind::kStore, 8},      {Kind::kBusy, 3},         {Kind::kCopy, 24},          {Kind::kRectangle, 5},
    {Kind::kFill, 20},      {Kind::kWrite, 6},        {Kind::kRead, 3},           {Kind::kHostFunction, 6},
    {Kind::kPrefetch, 2},   {Kind::kGraph, 5},        {Kind::kMarker, 5},         {Kind::kBarrier, 3},
    {Kind::kFlush, 3},      {Kind::kLook, 3},         {Kind::kScribble, 3},       {Kind::kAskEvent, 3},
    {Kind::kAskQueue, 3},   {Kind::kPoll, 2},         {Kind::kWaitEvent, 3},      {Kind::kWaitQueue, 3},
    {Kind::kWaitDevice, 1}, {Kind::kAskSomething, 6}, {Kind::kReplaceInOrder, 2},
};
/// For blocks that run once.
constexpr Weight kRare[] = {
    {Kind::kReplaceMemory, 4},
    {Kind::kReplaceQueue, 3},
    {Kind::kReplaceEvent, 2},
    {Kind::kPause, 1},
};

class Generator {
 public:
  Generator(std::uint64_t seed, const portable::Device& device, bool all_kinds)
      : random_(seed * 0x9E3779B97F4A7C15ULL), device_(device), all_kinds_(all_kinds) {
    program_.seed = seed;
  }

  Program make() {
    const unsigned dice = below(10);
    program_.threads = dice < 5 ? 1 : dice < 8 ? 2 : 3;
    program_.release_waits = can(Feature::kReleaseWaits);
    program_.release_queue = can(Feature::kReleaseQueue);
    program_.graph_in_flight = can(Feature::kGraphInFlight);
    program_.write_is_copied = can(Feature::kWriteIsCopied);
    make_queues();
    make_memory();
    make_graphs();
    const unsigned phases = 1 + below(3);
    for (unsigned i = 0; i < phases; ++i) {
      make_phase();
    }
    order(&program_);
    return std::move(program_);
  }

 private:
  unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }
  bool chance(unsigned percent) { return below(100) < percent; }
  [[nodiscard]] bool can(Feature feature) const { return device_.cannot(feature) == nullptr; }
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[below(static_cast<unsigned>(list.size()))];
  }

  void make_queues() {
    // Threads that close gates must not wait for one another: nothing that all of them use.
    const bool apart = all_kinds_ && program_.threads > 1;
    const unsigned count = static_cast<unsigned>(program_.threads) * (all_kinds_ ? 2 : 1) + below(4);
    for (unsigned i = 0; i < count; ++i) {
      QueueKind kind = QueueKind::kInOrder;
      if (can(Feature::kBlockingQueue) && chance(all_kinds_ ? 20 : 40)) {
        kind = i == 0 && !apart && chance(50) ? QueueKind::kDefault : QueueKind::kBlocking;
        if (static_cast<int>(i) < program_.threads && kind == QueueKind::kBlocking && chance(50)) {
          kind = QueueKind::kThreadsOwn;
        }
      } else if (can(Feature::kOutOfOrder) && chance(30)) {
        kind = QueueKind::kOutOfOrder;
      }
      program_.queues.push_back(kind);
    }
    program_.shared.assign(count, false);
    // A command list takes commands of one thread at a time.
    if (program_.threads > 1 && !apart && std::string_view(device_.api()) != "level_zero" && chance(50)) {
      const unsigned chosen = below(count);
      program_.shared[chosen] =
          program_.queues[chosen] != QueueKind::kOutOfOrder && program_.queues[chosen] != QueueKind::kThreadsOwn;
    }
  }
  void make_memory() {
    const unsigned count = (all_kinds_ ? 5 : 3) * static_cast<unsigned>(program_.threads) + below(3);
    for (unsigned i = 0; i < count; ++i) {
      program_.memory.push_back(chance(30) ? Place::kPinned : Place::kDevice);
      program_.in_order.push_back(program_.memory.back() == Place::kDevice && can(Feature::kFreeInOrder) && chance(15));
    }
  }
  [[nodiscard]] bool plain(int memory) const {
    const auto index = static_cast<std::size_t>(memory);
    return program_.memory[index] == Place::kDevice && !program_.in_order[index];
  }
  void make_graphs() {
    std::vector<int> usable;
    for (int i = 0; i < static_cast<int>(program_.memory.size()); ++i) {
      if (plain(i)) {
        usable.push_back(i);
      }
    }
    // PoCL 3.1: programs that enqueue command buffers of their own while other threads submit do not compute the same
    // in two plain runs (fresh seed 95286669, program 642888118590: three results in three runs).
    const bool reliable = std::string_view(device_.api()) != "opencl" || program_.threads == 1;
    if (!can(Feature::kOwnGraph) || !reliable || usable.empty() || chance(50)) {
      return;
    }
    // PoCL 3.1: work of an out-of-order queue that waits for a command buffer of another queue may begin too soon.
    if (!program_.graph_in_flight &&
        std::ranges::find(program_.queues, QueueKind::kOutOfOrder) != program_.queues.end()) {
      return;
    }
    const unsigned count = 1 + below(2);
    for (unsigned i = 0; i < count; ++i) {
      const int first = one_of(usable);
      const int second = one_of(usable);
      std::vector<GraphStep> steps(1 + below(5));
      for (GraphStep& step : steps) {
        const unsigned dice = below(can(Feature::kGraphFill) ? 4 : 3);
        step = {dice == 0   ? Kind::kScale
                : dice == 1 ? Kind::kMix
                : dice == 2 ? Kind::kCopy
                            : Kind::kFill,
                chance(50) ? first : second, chance(50) ? first : second, below(100)};
        if (step.kind == Kind::kCopy && step.to == step.from) {
          step.kind = Kind::kScale;
        }
      }
      program_.graphs.push_back(std::move(steps));
    }
  }
  /// Used by a graph.
  [[nodiscard]] bool fixed(int memory) const {
    return std::ranges::any_of(program_.graphs, [memory](const auto& graph) {
      return std::ranges::any_of(graph,
                                 [memory](const GraphStep& each) { return each.to == memory || each.from == memory; });
    });
  }

  struct Owned {
    std::vector<int> queues, memory, readable;
    std::vector<Word> graphs;
  };
  static bool owns(const Owned& owned, const std::vector<GraphStep>& graph) {
    return std::ranges::all_of(graph, [&](const GraphStep& step) {
      return std::ranges::find(owned.memory, step.to) != owned.memory.end() &&
             std::ranges::find(owned.memory, step.from) != owned.memory.end();
    });
  }

  void make_phase() {
    const auto threads = static_cast<unsigned>(program_.threads);
    std::vector<Owned> owned(threads);
    // Each thread has one of each, the rest is dealt.
    const auto deal = [&](std::vector<int> numbers, const std::vector<unsigned>& lacking, auto&& give) {
      std::shuffle(numbers.begin(), numbers.end(), random_);
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const bool spare = i >= lacking.size();
        give(spare ? below(threads) : lacking[i], numbers[i], spare);
      }
    };
    std::vector<unsigned> all;
    std::vector<unsigned> without_queue;
    std::vector<int> queues;
    for (unsigned i = 0; i < program_.queues.size(); ++i) {
      const bool own = program_.queues[i] == QueueKind::kThreadsOwn;
      if (own) {
        owned[i].queues.push_back(static_cast<int>(i));
      } else {
        queues.push_back(static_cast<int>(i));
      }
      if (i < threads) {
        all.push_back(i);
        if (!own) {
          without_queue.push_back(i);
        }
      }
    }
    deal(queues, without_queue, [&](unsigned thread, int queue, bool) {
      for (unsigned each = 0; each < threads; ++each) {
        if (each == thread || program_.shared[static_cast<std::size_t>(queue)]) {
          owned[each].queues.push_back(queue);
        }
      }
    });
    std::vector<int> memories(program_.memory.size());
    std::iota(memories.begin(), memories.end(), 0);
    deal(memories, all, [&](unsigned thread, int memory, bool spare) {
      if (spare && chance(15)) {
        for (Owned& each : owned) {
          each.readable.push_back(memory);
        }
      } else {
        owned[thread].memory.push_back(memory);
        owned[thread].readable.push_back(memory);
      }
    });
    for (Word graph = 0; graph < program_.graphs.size(); ++graph) {
      for (Owned& each : owned) {
        if (owns(each, program_.graphs[graph])) {
          each.graphs.push_back(graph);
        }
      }
    }
    Phase phase;
    for (const Owned& each : owned) {
      std::vector<Block> blocks;
      const unsigned count = 1 + below(4);
      for (unsigned i = 0; i < count; ++i) {
        blocks.push_back(!blocks.empty() && chance(35)
                             ? again(blocks[below(static_cast<unsigned>(blocks.size()))], each)
                         : all_kinds_ && chance(70) ? make_all_kinds_block(each)
                                                    : make_block(each));
      }
      phase.threads.push_back(std::move(blocks));
    }
    program_.phases.push_back(std::move(phase));
  }

  unsigned make_iterations() {
    const unsigned dice = below(20);
    return dice < 2 ? 1 : dice < 5 ? 2 + below(5) : dice < 17 ? 8 + below(40) : 60 + below(200);
  }

  Block make_block(const Owned& owned) {
    Block block;
    block.iterations = make_iterations();
    const unsigned count = 1 + below(block.iterations > 50 ? 8 : 14);
    const bool changing = chance(40);
    if (chance(15)) {
      block.iterations = 1;
    }
    for (unsigned i = 0; i < count; ++i) {
      add_step(owned, changing, &block);
    }
    const unsigned dice = below(10);
    if (dice < 6) {
      Step wait;
      wait.kind = dice < 3 ? Kind::kWaitQueue : dice < 5 ? Kind::kWaitDevice : Kind::kRead;
      wait.queue = one_of(owned.queues);
      wait.from = one_of(owned.readable);
      wait.to = owned.memory.front();  // not used, but looked up
      wait.id = next_id_++;
      block.steps.push_back(wait);
    }
    // What is known of a queue by another one is asked right behind the wait, before anything else gets it done.
    const unsigned questions = chance(40) ? 1 + below(5) : 0;
    for (unsigned i = 0; i < questions; ++i) {
      Step ask;
      ask.kind = chance(50) ? Kind::kAskQueue : Kind::kAskEvent;
      ask.queue = one_of(owned.queues);
      ask.id = next_id_++;
      if (fit(owned, block, &ask)) {
        block.steps.push_back(ask);
      }
    }
    return block;
  }

  /// What a thread has, in two: what comes behind its gates, and what does not.
  std::pair<Owned, Owned> divide(const Owned& owned) {
    std::pair<Owned, Owned> parts;
    const auto deal = [&](const auto& all, auto list) {
      const std::size_t first = below(static_cast<unsigned>(all.size()));
      for (std::size_t i = 0; i < all.size(); ++i) {
        const bool behind = i < 2 ? i == 0 : chance(50);
        ((behind ? parts.first : parts.second).*list).push_back(all[(first + i) % all.size()]);
      }
    };
    deal(owned.queues, &Owned::queues);
    deal(owned.memory, &Owned::memory);
    for (Owned* part : {&parts.first, &parts.second}) {
      part->readable = part->memory;
      for (const Word graph : owned.graphs) {
        if (owns(*part, program_.graphs[graph])) {
          part->graphs.push_back(graph);
        }
      }
    }
    for (const int memory : owned.readable) {
      if (std::ranges::find(owned.memory, memory) == owned.memory.end()) {
        parts.first.readable.push_back(memory);
        parts.second.readable.push_back(memory);
      }
    }
    return parts;
  }

  /// A queue waits while others go on, are waited for and asked, and then it is told to go on: by the host, or by
  /// another queue. What is behind the gate and what is not have nothing in common meanwhile.
  Block make_all_kinds_block(const Owned& owned) {
    if (owned.queues.size() < 2 || owned.memory.size() < 2) {
      return make_block(owned);
    }
    Block block;
    block.iterations = make_iterations();
    const bool changing = chance(40);
    const auto add = [&](const Owned& from, unsigned most) {
      for (unsigned left = below(most + 1); left != 0; --left) {
        add_step(from, changing, &block);
      }
    };
    add(owned, 3);
    const unsigned rounds = chance(25) ? 2 : 1;
    for (unsigned round = 0; round < rounds; ++round) {
      const auto [behind, free] = divide(owned);
      add(behind, 3);
      const bool by_queue = can(Feature::kGateByQueue) && chance(60);
      const bool posted = by_queue && chance(70);
      const Step close = gate_step(Kind::kClose, behind, static_cast<Word>(program_.gates.size()));
      program_.gates.push_back(by_queue);
      if (program_.queues[static_cast<std::size_t>(close.queue)] != QueueKind::kOutOfOrder) {
        block.steps.push_back(close);
      }
      const std::size_t closed_at = block.steps.size();
      for (unsigned left = 1 + below(6); left != 0; --left) {
        if (chance(40)) {
          ask_or_wait(chance(80) ? free : behind, closed_at, &block);
        } else {
          add_step(chance(60) ? free : behind, changing, &block);
        }
      }
      block.steps.push_back(gate_step(posted ? Kind::kPost : Kind::kOpen, free, close.value));
    }
    add(owned, 3);
    if (chance(40)) {
      ask_or_wait(owned, block.steps.size(), &block);
    }
    return block;
  }
  Step gate_step(Kind kind, const Owned& owned, Word gate) {
    Step step;
    step.kind = kind;
    step.queue = one_of(owned.queues);
    step.to = owned.memory.front();  // not used, but looked up
    step.value = gate;
    step.id = next_id_++;
    return step;
  }
  /// `before`: what was submitted until then counts as well, in whatever queue.
  void ask_or_wait(const Owned& owned, std::size_t before, Block* block) {
    static constexpr Kind kKinds[] = {Kind::kWaitQueue, Kind::kWaitEvent, Kind::kPoll,
                                      Kind::kAskEvent,  Kind::kAskQueue,  Kind::kRead};
    Step step;
    step.kind = kKinds[below(std::size(kKinds))];
    step.queue = one_of(owned.queues);
    step.to = owned.memory.front();
    step.from = one_of(owned.readable);
    step.id = next_id_++;
    if (!fit(owned, *block, &step)) {
      return;
    }
    if (step.kind == Kind::kWaitEvent || step.kind == Kind::kPoll) {
      std::vector<int> others;
      for (std::size_t i = 0; i < block->steps.size(); ++i) {
        const Step& each = block->steps[i];
        if (submits(each.kind) && each.kind != Kind::kRead &&
            (i < before || std::ranges::find(owned.queues, each.queue) != owned.queues.end())) {
          others.push_back(each.id);
        }
      }
      if (others.empty()) {
        return;
      }
      step.other = one_of(others);
    }
    block->steps.push_back(step);
  }

  /// The same steps as steps of their own, perhaps with one that differs.
  Block again(const Block& old, const Owned& owned) {
    Block block = old;
    const int first = next_id_;
    std::map<Word, Word> gates;  // each block has its own
    for (Step& step : block.steps) {
      step.id = next_id_++;
      if (step.kind == Kind::kClose || step.kind == Kind::kPost || step.kind == Kind::kOpen) {
        const auto [gate, fresh] = gates.try_emplace(step.value, static_cast<Word>(program_.gates.size()));
        if (fresh) {
          program_.gates.push_back(program_.gates[step.value]);
        }
        step.value = gate->second;
      }
      if (step.other >= 0) {  // as far back as it was
        const auto found = std::ranges::find_if(old.steps, [&](const Step& each) { return each.id == step.other; });
        step.other = found == old.steps.end() ? -1 : first + static_cast<int>(found - old.steps.begin());
      }
    }
    if (chance(30)) {
      add_step(owned, false, &block);
    }
    block.iterations = block.iterations == 1 ? 1 : make_iterations();
    return block;
  }

  Kind any_kind(const Block& block) {
    const auto choose = [&](const auto& list) {
      unsigned sum = 0;
      for (const Weight& each : list) {
        sum += each.weight;
      }
      unsigned dice = below(sum);
      for (const Weight& each : list) {
        if (dice < each.weight) {
          return each.kind;
        }
        dice -= each.weight;
      }
      return Kind::kScale;
    };
    return block.iterations == 1 && chance(30) ? choose(kRare) : choose(kWeights);
  }

  void add_step(const Owned& owned, bool changing, Block* block) {
    Step step;
    if (all_kinds_ && chance(14)) {
      static constexpr Kind kMore[] = {Kind::kRefused, Kind::kSeen, Kind::kSeen, Kind::kSet};
      step.kind = kMore[below(std::size(kMore))];
    } else {
      step.kind = any_kind(*block);
    }
    step.queue = one_of(owned.queues);
    step.to = one_of(owned.memory);
    step.from = one_of(owned.readable);
    step.value = below(100);
    step.change = changing && chance(50) ? 1 + below(5) : 0;
    step.by_list = chance(50);
    if (!fit(owned, *block, &step)) {
      step.kind = Kind::kScale;
      step.pattern = 4;
      step.other = -1;
    }
    const bool may_alternate = step.kind == Kind::kMix || step.kind == Kind::kCopy || step.kind == Kind::kScale;
    const bool both = std::ranges::find(owned.memory, step.from) != owned.memory.end();
    step.alternates = may_alternate && both && chance(15);
    step.id = next_id_++;
    block->steps.push_back(step);
  }

  /// Makes a step of this kind possible; false if it is not.
  bool fit(const Owned& owned, const Block& block, Step* step) {
    const auto place = [this](int memory) { return program_.memory[static_cast<std::size_t>(memory)]; };
    switch (step->kind) {
      case Kind::kCopy:
        step->offset = below(3) * 8;
        step->words = 1 + below(kWords - step->offset);
        return step->to != step->from;
      case Kind::kRectangle:
        return can(Feature::kRectangle) && step->to != step->from && plain(step->to) && plain(step->from);
      case Kind::kFill: {
        static constexpr unsigned kPatterns[] = {1, 2, 4, 8, 16, 3, 12};
        const bool odd = can(Feature::kOddPattern);
        const bool wide = can(Feature::kWidePattern);
        step->pattern = kPatterns[below(odd ? 7 : wide ? 5 : 3)];
        step->offset = below(3) * 4;
        step->words = 4 + below(40);
        return true;
      }
      case Kind::kHostFunction: return can(Feature::kHostFunction) && place(step->to) == Place::kPinned;
      case Kind::kLook:
      case Kind::kScribble: return place(step->to) == Place::kPinned;
      case Kind::kPrefetch: return can(Feature::kPrefetch) && plain(step->to);
      case Kind::kGraph:
        // A command buffer is for queues of one kind.
        if (owned.graphs.empty() || program_.queues[static_cast<std::size_t>(step->queue)] == QueueKind::kOutOfOrder) {
          return false;
        }
        step->value = one_of(owned.graphs);
        return true;
      case Kind::kAskEvent:
      case Kind::kPoll:
      case Kind::kWaitEvent:
      case Kind::kReplaceEvent: {
        std::vector<int> others;
        for (const Step& each : block.steps) {
          if (submits(each.kind) && each.kind != Kind::kRead) {  // whose event may come after its wait
            others.push_back(each.id);
          }
        }
        if (others.empty()) {
          return false;
        }
        step->other = one_of(others);
        return true;
      }
      case Kind::kAskQueue: return can(Feature::kQueryQueue);
      case Kind::kSeen: return can(Feature::kSetter);
      case Kind::kSet: return can(Feature::kSetter);
      case Kind::kReplaceMemory: return plain(step->to) && !fixed(step->to);
      case Kind::kReplaceInOrder:
        return program_.in_order[static_cast<std::size_t>(step->to)] &&
               program_.queues[static_cast<std::size_t>(step->queue)] != QueueKind::kOutOfOrder;
      case Kind::kReplaceQueue:
        return program_.queues[static_cast<std::size_t>(step->queue)] != QueueKind::kDefault &&
               program_.queues[static_cast<std::size_t>(step->queue)] != QueueKind::kThreadsOwn &&
               !program_.shared[static_cast<std::size_t>(step->queue)];
      default: return true;
    }
  }

  std::mt19937_64 random_;
  const portable::Device& device_;
  bool all_kinds_;
  Program program_;
  int next_id_ = 0;
};

}  // namespace

const char* name_of(Kind kind) noexcept {
  static constexpr const char* kNames[kKinds] = {"scale",
                                                 "mix_in",
                                                 "odd",
                                                 "wide",
                                                 "store",
                                                 "busy",
                                                 "copy",
                                                 "rectangle",
                                                 "fill",
                                                 "write",
                                                 "read",
                                                 "host function",
                                                 "prefetch",
                                                 "graph",
                                                 "seen",
                                                 "close",
                                                 "post",
                                                 "marker",
                                                 "barrier",
                                                 "open",
                                                 "flush",
                                                 "look",
                                                 "scribble",
                                                 "ask event",
                                                 "ask queue",
                                                 "poll",
                                                 "wait for event",
                                                 "wait for queue",
                                                 "wait for all",
                                                 "ask something",
                                                 "set",
                                                 "refused",
                                                 "replace memory",
                                                 "replace in order",
                                                 "replace queue",
                                                 "replace event",
                                                 "pause"};
  return kNames[static_cast<int>(kind)];
}

Program generate(std::uint64_t seed, const portable::Device& device, bool all_kinds) {
  return Generator(seed, device, all_kinds).make();
}

}  // namespace property
