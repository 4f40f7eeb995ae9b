#include "replay/lane/chunk_graphs.h"

#include <utility>

namespace refrain::replay {

ChunkGraphs::~ChunkGraphs() {
  for (const auto& entry : entries_) {
    if (entry != nullptr) {
      entry->unsubscribe(matcher_);
    }
  }
}

void ChunkGraphs::issued(const Following& place, const capture::OperationView& operation, const QueueSlot& queue,
                         std::uint32_t host_ns, std::uint64_t hold_cost_ns) {
  if (occurrences_.add(place, operation, queue.info, host_ns)) {
    complete(place.chunk, queue, hold_cost_ns);
  }
}

void ChunkGraphs::complete(ChunkId chunk, const QueueSlot& queue, std::uint64_t hold_cost_ns) {
  const Occurrence& occurrence = occurrences_.occurrence();
  const auto its_entry = entry(chunk, queue);
  if (its_entry == nullptr) {
    matcher_.set_mode(chunk, ChunkMode::kBypass);
    return;
  }
  if (!its_entry->named()) {
    context_.graphs.name(its_entry, occurrence);
  }
  trials_.join();
  context_.budget.spend(occurrence.size() * hold_cost_ns);  // what looking cost
  views_.clear();
  for (std::size_t i = 0; i < occurrence.size(); ++i) {
    views_.push_back(occurrence.operation(i));
  }
  if (its_entry->recorded(views_, occurrences_.took_ns(), context_.budget.may_build()) == GraphEntry::Wish::kBuild) {
    request(its_entry, occurrence);
  }
}

/// The entry waits for built().
void ChunkGraphs::request(const std::shared_ptr<GraphEntry>& entry, const Occurrence& occurrence) {
  if (!context_.prepare_to_hold()) {
    context_.state.fail("there can be no thread for building graphs or for the hold limit, or no handler of exit()");
    entry->build_cancelled();
    return;
  }
  if (!context_.builder.request(entry, occurrence)) {
    static_cast<void>(entry->built(nullptr, "its buffers or kernels are freed before it comes back"));
  }
}

void ChunkGraphs::request_variant(const std::shared_ptr<GraphEntry>& entry,
                                  std::span<const capture::OperationView> operations,
                                  std::span<QueueSlot* const> queues) {
  if (!context_.budget.may_build()) {
    entry->build_cancelled();
    return;
  }
  Occurrence occurrence;
  for (const capture::OperationView& operation : operations) {
    occurrence.add(operation);
  }
  for (const QueueSlot* queue : queues) {
    occurrence.queues.push_back(queue->info);
  }
  request(entry, occurrence);
}

const std::shared_ptr<GraphEntry>& ChunkGraphs::entry(ChunkId chunk, const QueueSlot& queue) {
  if (chunk >= entries_.size()) {
    entries_.resize(std::size_t{chunk} + 1);
  }
  auto& entry = entries_[chunk];
  if (entry != nullptr && entry->gone()) {
    forget(chunk);
  }
  if (entry == nullptr) {
    forget_gone();
    auto tokens = matcher_.tokens_of(chunk);
    if (!tokens.empty()) {
      const backends::Capabilities& can = queue.capabilities;
      entry = context_.graphs.entry_for(std::move(tokens), can.update_arguments || can.update_sizes);
      if (context_.graphs.take_sweep_due()) [[unlikely]] {
        context_.builder.request_sweep();
      }
      if (entry != nullptr) {
        entry->subscribe(matcher_, chunk);
      }
    }
  }
  return entry;
}

void ChunkGraphs::forget(ChunkId chunk) noexcept {
  auto& entry = entries_[chunk];
  entry->unsubscribe(matcher_, chunk);
  entry = nullptr;
}

void ChunkGraphs::forget_gone() {
  for (const ChunkId evicted : matcher_.take_evicted()) {
    if (known(evicted) != nullptr) {
      forget(evicted);
    }
    occurrences_.forget(evicted);
  }
  const std::uint64_t gone = context_.graphs.entries_gone();
  if (gone - entries_gone_ > entries_.size() / 8) {
    entries_gone_ = gone;
    for (ChunkId chunk = 0; chunk < entries_.size(); ++chunk) {
      if (entries_[chunk] != nullptr && entries_[chunk]->gone()) {
        forget(chunk);
      }
    }
  }
}

void ChunkGraphs::suspend(bool suspended) {
  for (ChunkId chunk = 0; chunk < entries_.size(); ++chunk) {
    if (entries_[chunk] != nullptr && entries_[chunk]->state() == GraphEntry::State::kReady) {
      matcher_.set_mode(chunk, suspended ? ChunkMode::kBypass : ChunkMode::kHold);
    }
  }
}

}  // namespace refrain::replay
