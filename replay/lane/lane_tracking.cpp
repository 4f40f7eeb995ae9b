// Stretches that may be worth a graph are recorded while they are issued eagerly; when one is complete, its
// graph is asked for.
#include <algorithm>

#include "replay/lane/lane.h"
#include "replay/lane/lane_state.h"

namespace refrain::replay {

using capture::OperationView;

void Lane::described(std::uint32_t host_ns) {
  State& state = *state_;
  reinterpret_cast<capture::OperationHeader*>(state.scratch.data())->host_ns = host_ns;
  stamp(state.scratch.data());
  const OperationView operation(state.scratch.data());
  if (state.stream != nullptr) {
    state.stream->operation(operation);
  }
  const Following& following = state.matcher.following();
  if (following.chunk == kNoChunk || following.mode != ChunkMode::kTrack || !env::replays(state_->context.settings)) {
    return;
  }
  if (state.occurrences.add(following, operation, state.queue->info, host_ns)) {
    occurrence_complete(following.chunk);
  }
}

void Lane::occurrence_complete(ChunkId chunk) {
  State& state = *state_;
  const Occurrence& occurrence = state.occurrences.occurrence();
  const auto entry = entry_of(chunk);
  if (entry == nullptr) {
    state.matcher.set_mode(chunk, ChunkMode::kPass);
    return;
  }
  if (!entry->named()) {
    state_->context.graphs.name(entry, occurrence);
  }
  TrialBudget& budget = state_->context.budget;
  state.trials.join();
  budget.spend(occurrence.size() * state.tuner.hold_cost_ns());  // what looking cost
  state.views.clear();
  for (std::size_t i = 0; i < occurrence.size(); ++i) {
    state.views.push_back(occurrence.operation(i));
  }
  if (entry->tracked(state.views, state.occurrences.took_ns(), budget.may_build()) != GraphEntry::Wish::kBuild) {
    return;
  }
  request_build(entry, occurrence);
}

/// The entry waits for built().
void Lane::request_build(const std::shared_ptr<GraphEntry>& entry, const Occurrence& occurrence) {
  if (!state_->context.prepare_to_hold()) {
    engine_.fail("there can be no thread for building graphs or for the hold limit, or no handler of exit()");
    entry->build_cancelled();
    return;
  }
  if (!state_->context.builder.request(entry, occurrence)) {
    static_cast<void>(entry->built(nullptr, "its buffers or kernels are freed before it comes back"));
  }
}

/// A further instance, for the arguments of what was just launched.
void Lane::request_variant(const std::shared_ptr<GraphEntry>& entry) {
  State& state = *state_;
  if (!state_->context.budget.may_build()) {
    entry->build_cancelled();
    return;
  }
  Occurrence occurrence;
  for (const OperationView& operation : state.views) {
    occurrence.add(operation);
  }
  for (const QueueSlot* queue : state.held_queues) {
    occurrence.queues.push_back(queue->info);
  }
  request_build(entry, occurrence);
}

const std::shared_ptr<GraphEntry>& Lane::entry_of(ChunkId chunk) {
  State& state = *state_;
  if (chunk >= state.entries.size()) {
    state.entries.resize(std::size_t{chunk} + 1);
  }
  auto& entry = state.entries[chunk];
  if (entry != nullptr && entry->gone()) {
    forget_entry(chunk);
  }
  if (entry == nullptr) {
    forget_entries();
    auto tokens = state.matcher.tokens_of(chunk);
    if (!tokens.empty()) {
      GraphCache& graphs = state_->context.graphs;
      entry = graphs.entry_for(std::move(tokens), state.queue->capabilities.update_arguments);
      if (graphs.take_sweep_due()) [[unlikely]] {
        state_->context.builder.request_sweep();
      }
      if (entry != nullptr) {
        entry->subscribe(state.matcher, chunk);
      }
    }
  }
  return entry;
}

void Lane::forget_entry(ChunkId chunk) noexcept {
  auto& entry = state_->entries[chunk];
  entry->unsubscribe(state_->matcher, chunk);
  entry = nullptr;
}

/// Of chunks that the matcher has forgotten, whose ids may be others' from now on; and those that have gone from the
/// cache, now and then.
void Lane::forget_entries() {
  State& state = *state_;
  for (const ChunkId evicted : state.matcher.take_evicted()) {
    if (evicted < state.entries.size() && state.entries[evicted] != nullptr) {
      forget_entry(evicted);
    }
    state.occurrences.forget(evicted);
  }
  const std::uint64_t gone = state_->context.graphs.entries_gone();
  if (gone - state.entries_gone > state.entries.size() / 8) {
    state.entries_gone = gone;
    for (ChunkId chunk = 0; chunk < state.entries.size(); ++chunk) {
      if (state.entries[chunk] != nullptr && state.entries[chunk]->gone()) {
        forget_entry(chunk);
      }
    }
  }
}

}  // namespace refrain::replay
