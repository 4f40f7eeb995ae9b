#include "capture/graph_deduplicator.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace refrain::capture {
namespace {

constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};
// Besides kMaxArgumentSets: changed words stored per graph, so that large graphs whose every argument is
// different each time do not fill the file. Words that change like their neighbour cost nothing.
constexpr std::size_t kMaxSetWords = 16384;
constexpr std::uint32_t kAlwaysStored = 4;

std::int64_t number_in(std::uint64_t word, std::uint32_t width) {
  switch (width) {
    case 1: return static_cast<std::int8_t>(word);
    case 2: return static_cast<std::int16_t>(word);
    case 4: return static_cast<std::int32_t>(word);
    default: return static_cast<std::int64_t>(word);
  }
}

std::int64_t difference(std::uint64_t now, std::uint64_t before, std::uint32_t width) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(number_in(now, width)) -
                                   static_cast<std::uint64_t>(number_in(before, width)));
}

}  // namespace

/// Few waits of a stretch lead out, and most of these for the same event.
std::uint32_t GraphDeduplicator::number_of_outside(WaitRef wait) {
  const WaitRef event = wait & ~(kOrderedWait | kRepeatedWait);
  const auto [known, is_new] = outside_events_.try_emplace(event, 0);
  if (is_new) {
    known->second = static_cast<std::uint32_t>(std::ranges::count_if(
        outside_events_, [event](const auto& other) { return is_internal(other.first) == is_internal(event); }));
    --known->second;
  }
  return known->second * 4 + ((wait & kOrderedWait) != 0 ? format::kOrderedOutside : 0) +
         ((wait & kRepeatedWait) != 0 ? format::kRepeatedOutside : 0);
}

void GraphDeduplicator::describe(std::span<const OperationView> operations) {
  nodes_.clear();
  waits_.clear();
  outside_.clear();
  outside_events_.clear();
  stretch_queues_.clear();
  arguments_.clear();
  std::size_t words = 0;
  for (const OperationView& operation : operations) {
    const OperationHeader& header = operation.header();
    NodeShape& node = nodes_.emplace_back();
    node.token = header.token;
    node.function = header.function;
    node.kind = static_cast<std::uint16_t>(header.kind);
    node.flags = header.flags;
    node.words = header.word_count;
    node.argument_count = header.argument_count;
    node.waits = header.wait_count;
    node.value_bytes = header.value_bytes;
    node.reason = header.reason;
    words += operation.comparable().size() / 8;
    // Few queues per stretch, mostly the one of the operation before.
    auto queue = stretch_queues_.end();
    if (!stretch_queues_.empty() && stretch_queues_.back() == header.queue) {
      queue = stretch_queues_.end() - 1;
    } else {
      queue = std::find(stretch_queues_.begin(), stretch_queues_.end(), header.queue);
      if (queue == stretch_queues_.end()) {
        queue = stretch_queues_.insert(queue, header.queue);
      }
    }
    node.queue = static_cast<std::uint32_t>(queue - stretch_queues_.begin());
    for (const WaitRef wait : operation.waits()) {
      std::int32_t stored = format::kWaitsForForeign;
      if (is_internal(wait)) {
        stored = format::kWaitsForEarlier;
        const std::uint64_t sequence = target_of(wait);
        const auto end = operations.begin() + static_cast<std::ptrdiff_t>(nodes_.size() - 1);
        const auto found = std::lower_bound(
            operations.begin(), end, sequence,
            [](const OperationView& view, std::uint64_t value) { return view.header().sequence < value; });
        if (found != end && found->header().sequence == sequence) {
          stored = static_cast<std::int32_t>(found - operations.begin());
        }
      }
      waits_.push_back(stored);
      if (stored < 0) {
        outside_.push_back(number_of_outside(wait));
      }
    }
  }
  std::vector<std::uint16_t> in_order;
  for (const ObjectId id : stretch_queues_) {
    const auto known = queues_.find(id);
    const QueueInfo info = known == queues_.end() ? QueueInfo{} : known->second;
    in_order.push_back(
        static_cast<std::uint16_t>((info.in_order ? 1U : 0U) | static_cast<unsigned>(info.default_order) << 1U));
  }
  for (NodeShape& node : nodes_) {
    node.in_order = in_order[node.queue];
  }
  arguments_.resize(stretch_queues_.size() + words);
  std::copy(stretch_queues_.begin(), stretch_queues_.end(), arguments_.begin());
  std::uint64_t* place = arguments_.data() + stretch_queues_.size();
  for (const OperationView& operation : operations) {
    const auto bytes = operation.comparable();
    std::memcpy(place, bytes.data(), bytes.size());
    place += bytes.size() / 8;
  }
}

void GraphDeduplicator::charge(State& state, std::size_t bytes) {
  state.bytes += bytes;
  bytes_ += bytes;
}

GraphDeduplicator::State& GraphDeduplicator::find(std::span<const OperationView> operations) {
  const std::uint64_t key =
      XXH3_64bits_withSeed(nodes_.data(), nodes_.size() * sizeof(NodeShape),
                           XXH3_64bits(waits_.data(), waits_.size() * sizeof(waits_[0])) ^
                               XXH3_64bits(outside_.data(), outside_.size() * sizeof(outside_[0])));
  const auto [from, to] = states_.equal_range(key);
  for (auto found = from; found != to; ++found) {
    State& state = *found->second;
    if (state.nodes.size() == nodes_.size() && state.waits == waits_ && state.outside == outside_ &&
        state.first.size() == arguments_.size() &&
        std::memcmp(state.nodes.data(), nodes_.data(), nodes_.size() * sizeof(NodeShape)) == 0) {
      used_.splice(used_.begin(), used_, state.used);
      return state;
    }
  }
  auto fresh = std::make_unique<State>();
  State& state = *fresh;
  state.id = next_id_++;
  state.key = key;
  state.nodes = nodes_;
  state.waits = waits_;
  state.outside = outside_;
  state.first = state.last = arguments_;
  state.queue_count = static_cast<std::uint32_t>(stretch_queues_.size());
  used_.push_front(&state);
  state.used = used_.begin();
  states_.emplace(key, std::move(fresh));

  GraphBuilder builder;
  for (const ObjectId id : stretch_queues_) {
    if (const auto known = queues_.find(id); known != queues_.end()) {
      builder.declare_queue(known->second);
    }
  }
  for (const OperationView& operation : operations) {
    builder.add(operation);
  }
  NewGraph& added = new_graphs_.emplace_back();
  added.id = state.id;
  added.fingerprint = builder.finish().fingerprint();
  added.queue_count = state.queue_count;
  added.nodes = nodes_;
  added.waits = waits_;
  added.outside = outside_;
  added.arguments = arguments_;
  const std::size_t bytes =
      nodes_.size() * sizeof(NodeShape) + (waits_.size() + outside_.size()) * 4 + arguments_.size() * 8;
  news_bytes_ += bytes;
  charge(state, sizeof(State) + bytes + arguments_.size() * 8);
  return state;
}

GraphDeduplicator::Place GraphDeduplicator::add(std::span<const OperationView> operations, bool provisional) {
  describe(operations);
  State& state = find(operations);
  const XXH128_hash_t digest = XXH3_128bits(arguments_.data(), arguments_.size() * 8);
  const Hash128 hash{digest.low64, digest.high64};
  if (state.sets.empty()) {
    state.sets.emplace(hash, 0);
    state.last_hash = hash;
  }
  if (!provisional) {
    ++state.occurrences;
    if (!(state.last_hash == hash)) {
      ++state.changed;
      count_changes(state);
      state.last = arguments_;
      state.last_hash = hash;
    }
  }
  const auto known = state.sets.find(hash);
  const std::uint32_t set = known != state.sets.end() ? known->second : store_set(state, hash);
  if (set == format::kSetNotStored && !provisional) {
    ++state.not_stored;
  }
  const Place place{state.id, set};
  if (bytes_ > max_bytes_) {
    forget_old(state);
  }
  return place;
}

std::uint32_t GraphDeduplicator::store_set(State& state, const Hash128& hash) {
  if (state.set_count >= format::kMaxArgumentSets ||
      (state.set_count >= kAlwaysStored && state.set_words >= kMaxSetWords)) {
    return format::kSetNotStored;
  }
  const std::uint32_t set = state.set_count++;
  NewArgumentSet& added = new_sets_.emplace_back();
  added.graph = state.id;
  added.set = set;
  std::size_t before = 0;
  std::uint64_t neighbour = 0;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (arguments_[i] != state.first[i]) {
      const std::uint64_t change = arguments_[i] - state.first[i];
      added.places.push_back(static_cast<std::uint32_t>(i - before));
      added.differences.push_back(change);
      state.set_words += change != neighbour ? 1 : 0;
      neighbour = change;
      before = i;
    }
  }
  news_bytes_ += added.places.size() * 12 + sizeof(added);
  state.sets.emplace(hash, set);
  charge(state, 64);
  return set;
}

void GraphDeduplicator::make_slots(State& state) const {
  state.slot_of.assign(state.first.size(), kNoSlot);
  const auto claim = [&](std::size_t place, std::size_t slot) {
    state.slot_of[place] = static_cast<std::uint32_t>(slot);
  };
  for (std::uint32_t i = 0; i < state.queue_count; ++i) {
    Slot& slot = state.slots.emplace_back();
    slot.figures.kind = format::SlotKind::kQueue;
    slot.figures.index = i;
    slot.place = i;
    claim(i, state.slots.size() - 1);
  }
  std::size_t place = state.queue_count;
  for (std::size_t n = 0; n < state.nodes.size(); ++n) {
    const NodeShape& node = state.nodes[n];
    for (std::uint32_t i = 0; i < node.words; ++i, ++place) {
      Slot& slot = state.slots.emplace_back();
      slot.figures.node = static_cast<NodeIndex>(n);
      slot.figures.kind = format::SlotKind::kWord;
      slot.figures.index = i;
      slot.figures.numeric = true;
      slot.place = slot.value = static_cast<std::uint32_t>(place);
      slot.width = 8;
      claim(place, state.slots.size() - 1);
    }
    std::size_t value = place + std::size_t{node.argument_count} * 2;
    for (std::uint32_t i = 0; i < node.argument_count; ++i, place += 2) {
      ArgumentDescriptor descriptor;
      std::memcpy(static_cast<void*>(&descriptor), &state.first[place], sizeof(descriptor));
      Slot& slot = state.slots.emplace_back();
      slot.figures.node = static_cast<NodeIndex>(n);
      slot.figures.index = i;
      slot.place = static_cast<std::uint32_t>(place);
      slot.value = static_cast<std::uint32_t>(value);
      slot.count = static_cast<std::uint32_t>(descriptor.stored_bytes() / 8);
      switch (descriptor.kind) {
        case ArgumentKind::kValue:
          slot.figures.numeric =
              descriptor.size == 1 || descriptor.size == 2 || descriptor.size == 4 || descriptor.size == 8;
          slot.width = descriptor.size;
          break;
        case ArgumentKind::kPointer:
        case ArgumentKind::kHostPointer:
          slot.figures.numeric = slot.count == 1;
          slot.width = 8;
          break;
        case ArgumentKind::kLocalMemory:  // the size in the descriptor's first word is the value
          slot.figures.numeric = true;
          slot.value = slot.place;
          slot.width = 4;
          break;
        default: break;
      }
      claim(place, state.slots.size() - 1);
      claim(place + 1, state.slots.size() - 1);
      for (std::uint32_t w = 0; w < slot.count; ++w) {
        claim(value + w, state.slots.size() - 1);
      }
      value += slot.count;
    }
    place = value;
  }
}

void GraphDeduplicator::count_changes(State& state) {
  if (state.slots.empty()) {
    make_slots(state);
    charge(state, state.slots.size() * sizeof(Slot) + state.slot_of.size() * 4);
  }
  const auto content = [](const Slot& slot, const std::vector<std::uint64_t>& words) {
    std::uint64_t hash = words[slot.place];
    if (slot.figures.kind == format::SlotKind::kArgument) {
      hash = mix(hash, words[slot.place + 1]);
      for (std::uint32_t i = 0; i < slot.count; ++i) {
        hash = mix(hash, words[slot.value + i]);
      }
    }
    return hash;
  };
  const auto remember = [](Slot& slot, std::uint64_t hash) {
    const auto end = slot.seen.begin() + std::min<std::ptrdiff_t>(slot.seen_count, std::ssize(slot.seen));
    if (slot.seen_count <= slot.seen.size() && std::find(slot.seen.begin(), end, hash) == end) {
      if (slot.seen_count < slot.seen.size()) {
        slot.seen[slot.seen_count] = hash;
      }
      ++slot.seen_count;  // one more than fits: too many to count
    }
  };
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (arguments_[i] == state.last[i] || state.slot_of[i] == kNoSlot) {
      continue;
    }
    Slot& slot = state.slots[state.slot_of[i]];
    if (slot.stamp == state.occurrences) {
      continue;
    }
    slot.stamp = state.occurrences;
    SlotStatistic& figures = slot.figures;
    if (figures.changes == 0) {
      remember(slot, content(slot, state.last));
    }
    remember(slot, content(slot, arguments_));
    if (figures.kind == format::SlotKind::kArgument && slot.value != slot.place &&
        arguments_[slot.place] != state.last[slot.place]) {
      figures.numeric = false;  // another kind or size of argument
    }
    if (figures.numeric) {
      const std::int64_t delta = difference(arguments_[slot.value], state.last[slot.value], slot.width);
      figures.min_delta = figures.changes == 0 ? delta : std::min(figures.min_delta, delta);
      figures.max_delta = figures.changes == 0 ? delta : std::max(figures.max_delta, delta);
    }
    ++figures.changes;
  }
}

GraphFigures GraphDeduplicator::figures_of(const State& state) {
  GraphFigures figures;
  figures.graph = state.id;
  figures.occurrences = state.occurrences;
  figures.changed = state.changed;
  figures.not_stored = state.not_stored;
  for (const Slot& slot : state.slots) {
    if (slot.figures.changes != 0 && figures.slots.size() < format::kMaxStatistics) {
      SlotStatistic& copy = figures.slots.emplace_back(slot.figures);
      copy.distinct = slot.seen_count <= slot.seen.size() ? slot.seen_count : 0;
      if (!copy.numeric) {
        copy.min_delta = copy.max_delta = 0;
      }
    }
  }
  return figures;
}

std::vector<GraphFigures> GraphDeduplicator::take_figures(bool all) {
  std::vector<GraphFigures> result = std::exchange(orphaned_, {});
  for (const auto& [key, state] : states_) {
    if (state->occurrences >= 2 * state->figures_at + (state->figures_at == 0 ? 2 : 0) ||
        (all && state->occurrences > 1 && state->occurrences != state->figures_at)) {
      state->figures_at = state->occurrences;
      result.push_back(figures_of(*state));
    }
  }
  return result;
}

void GraphDeduplicator::forget_old(const State& keep) {
  while (bytes_ > max_bytes_ / 4 * 3 && used_.back() != &keep) {
    State& state = *used_.back();
    used_.pop_back();
    if (state.occurrences > 1 && state.occurrences != state.figures_at) {
      orphaned_.push_back(figures_of(state));
    }
    bytes_ -= state.bytes;
    const auto [from, to] = states_.equal_range(state.key);
    states_.erase(std::find_if(from, to, [&](const auto& entry) { return entry.second.get() == &state; }));
  }
}

}  // namespace refrain::capture
