#include "test/property/blocks.h"

#include <algorithm>
#include <map>

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
    {Kind::kScale, 30},    {Kind::kMix, 60},       {Kind::kOdd, 14},         {Kind::kWide, 8},
    {Kind::kStore, 8},     {Kind::kBusy, 3},       {Kind::kCopy, 24},        {Kind::kRectangle, 5},
    {Kind::kFill, 20},     {Kind::kWrite, 6},      {Kind::kRead, 3},         {Kind::kHostFunction, 6},
    {Kind::kPrefetch, 2},  {Kind::kWriteValue, 4}, {Kind::kGraph, 5},        {Kind::kMarker, 5},
    {Kind::kBarrier, 3},   {Kind::kFlush, 3},      {Kind::kLook, 3},         {Kind::kScribble, 3},
    {Kind::kAskEvent, 3},  {Kind::kAskQueue, 3},   {Kind::kPoll, 2},         {Kind::kWaitEvent, 3},
    {Kind::kWaitQueue, 3}, {Kind::kWaitDevice, 1}, {Kind::kAskSomething, 6}, {Kind::kReplaceInOrder, 3},
    {Kind::kTemporary, 6},
};
/// For blocks that run once.
constexpr Weight kRare[] = {
    {Kind::kReplaceMemory, 4},
    {Kind::kReplaceQueue, 3},
    {Kind::kReplaceEvent, 2},
    {Kind::kPause, 1},
};

}  // namespace

bool Owned::has(const std::vector<GraphStep>& graph) const {
  return std::ranges::all_of(graph, [&](const GraphStep& step) {
    return std::ranges::find(memory, step.to) != memory.end() && std::ranges::find(memory, step.from) != memory.end();
  });
}

bool BlockMaker::plain(int memory) const {
  const auto index = static_cast<std::size_t>(memory);
  return program_.memory[index] == Place::kDevice && !program_.in_order[index];
}

/// Used by a graph.
bool BlockMaker::fixed(int memory) const {
  return std::ranges::any_of(program_.graphs, [memory](const auto& graph) {
    return std::ranges::any_of(graph,
                               [memory](const GraphStep& each) { return each.to == memory || each.from == memory; });
  });
}

unsigned BlockMaker::make_iterations() {
  const unsigned dice = below(20);
  return dice < 2 ? 1 : dice < 5 ? 2 + below(5) : dice < 17 ? 8 + below(40) : 60 + below(200);
}

/// Whether work of the step's queue may use the memory.
bool BlockMaker::near(const Step& step, int memory) const {
  const auto index = static_cast<std::size_t>(memory);
  return program_.peers || program_.memory[index] == Place::kPinned ||
         program_.memory_devices[index] == program_.queue_devices[static_cast<std::size_t>(step.queue)];
}

/// If it may not use its memory, it uses other memory, or none. Copies may.
void BlockMaker::keep_near(const Owned& owned, Step* step) {
  const Program::Uses uses =
      step->kind == Kind::kCopy || step->kind == Kind::kGraph ? Program::Uses{} : program_.uses_of(*step, 0);
  const auto replace = [&](const std::vector<int>& list, int* memory) {
    const bool used = std::ranges::find(uses.writes, *memory) != uses.writes.end() ||
                      std::ranges::find(uses.reads, *memory) != uses.reads.end();
    if (used && !near(*step, *memory)) {
      const auto other = std::ranges::find_if(list, [&](int each) { return near(*step, each); });
      if (other == list.end()) {
        step->kind = Kind::kMarker;
      } else {
        *memory = *other;
      }
    }
  };
  replace(owned.memory, &step->to);
  replace(owned.readable, &step->from);
}

Block BlockMaker::make(const Owned& owned) {
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
    keep_near(owned, &wait);
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

Block BlockMaker::make_seeing(const Owned& owned) {
  Block block;
  block.iterations = 20 + below(60);
  const bool versions = chance(40);
  for (unsigned left = 2 + below(6); left != 0; --left) {
    Step step = queue_step(chance(60) ? Kind::kSeen : chance(50) ? Kind::kScale : Kind::kMix, owned, below(100));
    step.to = one_of(owned.memory);
    step.from = one_of(owned.readable);
    keep_near(owned, &step);
    step.grows = step.kind == Kind::kSeen && versions;
    block.steps.push_back(step);
  }
  if (chance(70)) {
    block.steps.push_back(queue_step(Kind::kWaitQueue, owned, 0));
  }
  return block;
}

Block BlockMaker::make_setting(const Owned& owned) {
  Block block;
  for (unsigned left = 1 + below(3); left != 0; --left) {
    block.steps.push_back(queue_step(Kind::kSet, owned, below(100)));
  }
  return block;
}

/// What a thread has, in two: what comes behind its gates, and what does not.
std::pair<Owned, Owned> BlockMaker::divide(const Owned& owned) {
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
      if (part->has(program_.graphs[graph])) {
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

Block BlockMaker::make_gated(const Owned& owned) {
  if (owned.queues.size() < 2 || owned.memory.size() < 2) {
    return make(owned);
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
    const Step close = queue_step(Kind::kClose, behind, static_cast<Word>(program_.gates.size()));
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
    block.steps.push_back(queue_step(posted ? Kind::kPost : Kind::kOpen, free, close.value));
  }
  add(owned, 3);
  if (chance(40)) {
    ask_or_wait(owned, block.steps.size(), &block);
  }
  return block;
}
Step BlockMaker::queue_step(Kind kind, const Owned& owned, Word value) {
  Step step;
  step.kind = kind;
  step.queue = one_of(owned.queues);
  step.to = step.from = owned.memory.front();  // not used, but looked up
  step.value = value;
  step.id = next_id_++;
  return step;
}
/// `before`: what was submitted until then counts as well, in whatever queue.
void BlockMaker::ask_or_wait(const Owned& owned, std::size_t before, Block* block) {
  static constexpr Kind kChoice[] = {Kind::kWaitQueue, Kind::kWaitEvent, Kind::kPoll,
                                     Kind::kAskEvent,  Kind::kAskQueue,  Kind::kRead};
  Step step;
  step.kind = kChoice[below(std::size(kChoice))];
  step.queue = one_of(owned.queues);
  step.to = owned.memory.front();
  step.from = one_of(owned.readable);
  step.id = next_id_++;
  keep_near(owned, &step);
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

Block BlockMaker::again(const Block& old, const Owned& owned) {
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

Kind BlockMaker::any_kind(const Block& block) {
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

void BlockMaker::add_step(const Owned& owned, bool changing, Block* block) {
  Step step;
  if (all_kinds_ && chance(14)) {
    static constexpr Kind kMore[] = {Kind::kRefused, Kind::kRefused, Kind::kSeen, Kind::kSeen, Kind::kSeen, Kind::kSet};
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
  keep_near(owned, &step);
  if (!fit(owned, *block, &step)) {
    step.kind = Kind::kScale;
    step.pattern = 4;
    step.other = -1;
    keep_near(owned, &step);
  }
  step.grows =
      changing && (step.kind == Kind::kCopy || step.kind == Kind::kOdd || step.kind == Kind::kSeen) && chance(60);
  const bool may_alternate = step.kind == Kind::kMix || step.kind == Kind::kCopy || step.kind == Kind::kScale;
  const bool both = std::ranges::find(owned.memory, step.from) != owned.memory.end() &&
                    (step.kind == Kind::kCopy || near(step, step.from));
  step.alternates = may_alternate && both && chance(15);
  step.id = next_id_++;
  block->steps.push_back(step);
}

/// In most programs all memory that is allocated in order is of one queue. True.
bool BlockMaker::first_queue(const Owned& owned, Step* step) const {
  step->queue = program_.seed % 4 != 0 ? owned.queues.front() : step->queue;
  return true;
}

/// Makes a step of this kind possible; false if it is not.
bool BlockMaker::fit(const Owned& owned, const Block& block, Step* step) {
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
    case Kind::kWriteValue: return can(Feature::kWriteValue) && place(step->to) == Place::kPinned;
    case Kind::kLook:
    case Kind::kScribble: return place(step->to) == Place::kPinned;
    case Kind::kPrefetch: return can(Feature::kPrefetch) && !program_.in_order[static_cast<std::size_t>(step->to)];
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
    case Kind::kSeen:
    case Kind::kSet: return can(Feature::kSetter);
    case Kind::kReplaceMemory: return plain(step->to) && !fixed(step->to);
    case Kind::kReplaceInOrder:
      return program_.in_order[static_cast<std::size_t>(step->to)] && first_queue(owned, step) &&
             program_.queues[static_cast<std::size_t>(step->queue)] != QueueKind::kOutOfOrder;
    case Kind::kTemporary:
      return has_pools() && step->to != step->from && place(step->to) == Place::kDevice &&
             place(step->from) == Place::kDevice && first_queue(owned, step);
    case Kind::kReplaceQueue:
      return program_.queues[static_cast<std::size_t>(step->queue)] != QueueKind::kDefault &&
             program_.queues[static_cast<std::size_t>(step->queue)] != QueueKind::kThreadsOwn &&
             !program_.shared[static_cast<std::size_t>(step->queue)];
    default: return true;
  }
}

}  // namespace property
