// Which events a program needs so that its result is determined: it is followed (follow.h) until nothing that conflicts
// is without an order.
#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "test/property/follow.h"
#include "test/property/program.h"

namespace property {
namespace {

using portable::QueueKind;

template <class Do>
void for_each_step(Program& program, Do&& act) {
  for (Phase& phase : program.phases) {
    for (auto& blocks : phase.threads) {
      for (Block& block : blocks) {
        for (Step& step : block.steps) {
          act(step, block);
        }
      }
    }
  }
}

}  // namespace

Program::Uses Program::uses_of(const Step& step, unsigned iteration) const {
  int to = step.to;
  int from = step.from;
  if (step.alternates && iteration % 2 != 0) {
    std::swap(to, from);
  }
  switch (step.kind) {
    case Kind::kScale:
    case Kind::kOdd:
    case Kind::kWide:
    case Kind::kStore:
    case Kind::kBusy:
    case Kind::kSeen:
    case Kind::kFill:
    case Kind::kWrite:
    case Kind::kHostFunction:
    case Kind::kWriteValue:
    case Kind::kScribble:
    case Kind::kReplaceMemory:
    case Kind::kReplaceInOrder: return {{to}, {}};
    case Kind::kMix:
    case Kind::kCopy:
    case Kind::kTemporary:
    case Kind::kRectangle: return {{to}, {from}};
    case Kind::kRead: return {{}, {from}};
    case Kind::kLook:
    case Kind::kPrefetch: return {{}, {to}};
    case Kind::kGraph: {
      Uses uses;
      uses.writes.push_back(static_cast<int>(memory.size() + step.value));
      for (const GraphStep& each : graphs[step.value]) {
        uses.writes.push_back(each.to);
        uses.reads.push_back(each.from);
      }
      return uses;
    }
    default: return {};
  }
}

void order(Program* program) {
  // The first events are those that a queue's steps share.
  program->events = static_cast<int>(program->queues.size());
  std::map<int, Step*> by_id;
  for_each_step(*program, [&](Step& step, Block&) {
    step.waits.clear();
    step.event = step.other_event = -1;
    step.done_queues.clear();
    step.done_events.clear();
    by_id[step.id] = &step;
  });
  /// The step of this number, which completes an event.
  const auto with_event = [&](int id) -> const Step* {
    const auto found = by_id.find(id);
    if (id < 0 || found == by_id.end()) {
      return nullptr;
    }
    Step& step = *found->second;
    if (step.event < 0) {
      step.event = program->events++;
      if (program->queues[static_cast<std::size_t>(step.queue)] == QueueKind::kOutOfOrder) {
        step.waits.push_back({step.event, true});
      }
    }
    return &step;
  };
  for_each_step(*program, [&](Step& step, Block&) {
    with_event(step.other);
    if (const Step* old = with_event(step.old); old != nullptr) {
      step.waits.push_back({old->event, false});
    }
  });
  std::set<int> own_events;
  constexpr int kMostRounds = 200;  // a handful, in fact
  bool again = true;
  for (int round = 0; again; ++round) {
    if (round == kMostRounds) {
      throw std::logic_error("no order was found");
    }
    for_each_step(*program, [&](Step& step, Block&) {
      const auto other = by_id.find(step.other);
      step.other_event = step.other >= 0 && other != by_id.end() ? other->second->event : -1;
      step.certain = true;
    });
    again = follow(*program, own_events);
  }
  place_gates(program);
  for_each_step(*program, [&](Step& step, Block&) {
    constexpr std::size_t kMost = 4;
    for (std::vector<int>* all : {&step.done_queues, &step.done_events}) {
      if (program->seed % 2 == 0) {
        all->clear();
      } else if (all->size() > kMost) {
        // std::ranges::rotate with GCC 12's library does not compile with clang 14, which clang-tidy is made of.
        std::rotate(all->begin(), all->begin() + step.id % static_cast<int>(all->size()), all->end());
        all->resize(kMost);
      }
    }
  });
}

void apply(const Edits& edits, Program* program) {
  for (Phase& phase : program->phases) {
    for (auto& blocks : phase.threads) {
      for (Block& block : blocks) {
        block.iterations = std::min(block.iterations, edits.most_iterations);
        std::erase_if(block.steps, [&](const Step& step) { return edits.dropped.contains(step.id); });
      }
      std::erase_if(blocks, [](const Block& block) { return block.steps.empty(); });
    }
  }
  std::erase_if(program->phases, [](const Phase& phase) {
    return std::ranges::all_of(phase.threads, [](const auto& blocks) { return blocks.empty(); });
  });
  order(program);
}

}  // namespace property
