// What is known of every repeating stretch of the process, found by its tokens, by what its graphs name, and by what
// its tokens stand for.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "env/mutex.h"
#include "env/settings.h"
#include "replay/graph/graph_entry.h"
#include "replay/graph/newcomers.h"

namespace refrain::replay {

/// Thread-safe. Calls no driver but to drop graphs.
class GraphCache {
 public:
  /// Both must outlive it.
  GraphCache(const env::Settings& settings, LayerHooks& hooks) noexcept;
  GraphCache(const GraphCache&) = delete;
  GraphCache& operator=(const GraphCache&) = delete;

  /// The entry for this sequence of tokens; made if there is none. Null if there are too many; asked for again and
  /// again, it gets the place of one that does not come any more (see sweep()).
  std::shared_ptr<GraphEntry> entry_for(std::vector<capture::Token> tokens, bool can_update);
  /// Which queues and kernels the entry's tokens stand for (see identity_gone()), and which device its work is of. Once
  /// for each entry.
  void name(const std::shared_ptr<GraphEntry>& entry, const Occurrence& occurrence);
  /// An executable of the entry was changed, and names these now.
  void objects_changed(const std::shared_ptr<GraphEntry>& entry, std::span<const capture::ObjectId> objects);

  /// Drops every executable that names the object, before it returns. Throws std::bad_alloc: then none may be used any
  /// more.
  void object_gone(capture::ObjectId object);
  /// No token will ever stand for this queue or kernel again: the entries that it names are of no use any more.
  void identity_gone(capture::ObjectId identity) noexcept;
  /// How many entries have gone so far. One relaxed load.
  [[nodiscard]] std::uint64_t entries_gone() const noexcept { return entries_gone_.load(std::memory_order_relaxed); }

  /// Whether entries should make room for others, told once: then somebody with time is to sweep(). Only what a program
  /// asks for makes it due.
  [[nodiscard]] bool take_sweep_due() noexcept {
    return sweep_due_.load(std::memory_order_relaxed) && sweep_due_.exchange(false, std::memory_order_relaxed);
  }
  void sweep();

  /// From its request to its publishing, a graph may name what goes meanwhile: object_gone() remembers it.
  void build_begins() noexcept;
  void build_ends() noexcept;
  /// Gives the entry its graph, unless something that it names has gone. Null: none was built, `why`.
  void publish(const std::shared_ptr<GraphEntry>& entry, std::unique_ptr<Executable> executable,
               const std::string& why);
  /// Drops the graphs that were not used for longest, until the others need no more memory than they may; never
  /// `keep`'s.
  void make_room(const GraphEntry* keep);

  /// What another run of the program has found out of its graphs, for entries that are made from now on. May throw
  /// std::bad_alloc.
  void learn(std::span<const GraphEntry::Known> known);
  /// What was found out here, for another run.
  [[nodiscard]] std::vector<GraphEntry::Known> known() const;

  /// Of those that are known, and of those that have gone and that stood for most submissions.
  [[nodiscard]] std::vector<GraphEntry::Summary> summaries() const;
  /// Names of the devices that entries have work of, in the order in which they came.
  [[nodiscard]] std::vector<std::string> devices() const;
  /// Of the others that have gone.
  struct Gone {
    std::uint64_t entries = 0, launched = 0, saved_ns = 0;
  };
  [[nodiscard]] Gone gone() const noexcept;
  /// Entries that are known.
  [[nodiscard]] std::size_t size() const noexcept;

 private:
  struct Kept {
    std::shared_ptr<GraphEntry> entry;
    std::uint64_t seen = 0;    ///< GraphEntry::Use::seen at the last sweep
    std::uint32_t unseen = 0;  ///< sweeps since it last came
  };
  [[nodiscard]] std::vector<std::shared_ptr<GraphEntry>> all() const REFRAIN_EXCLUDES(mutex_);
  [[nodiscard]] std::uint32_t device_number(const capture::QueueInfo& queue) REFRAIN_EXCLUDES(mutex_);
  void leave(const std::vector<std::shared_ptr<GraphEntry>>& entries) noexcept REFRAIN_EXCLUDES(mutex_);
  /// Whether remember() lists it.
  [[nodiscard]] bool would_list(const GraphEntry::Summary& summary) const noexcept;
  void remember(GraphEntry::Summary summary) noexcept REFRAIN_REQUIRES(mutex_);
  void note_objects(const std::shared_ptr<GraphEntry>& entry, std::span<const capture::ObjectId> objects)
      REFRAIN_REQUIRES(mutex_);

  static constexpr std::size_t kMostListed = 256;  // limit: of graphs that are gone

  const env::Settings& settings_;
  LayerHooks& hooks_;
  std::atomic<std::size_t> requests_{0};  ///< builds that ever began; 0: object_gone() is free
  std::atomic<std::uint64_t> entries_gone_{0};
  std::atomic<bool> sweep_due_{false};

  using ByObject = std::unordered_map<capture::ObjectId, std::vector<std::shared_ptr<GraphEntry>>>;
  mutable env::Mutex mutex_;
  std::unordered_map<capture::Fingerprint, Kept> entries_ REFRAIN_GUARDED_BY(mutex_);
  ByObject by_object_ REFRAIN_GUARDED_BY(mutex_);                          ///< whose executables name it
  ByObject by_identity_ REFRAIN_GUARDED_BY(mutex_);                        ///< whose tokens stand for it
  std::size_t builds_ REFRAIN_GUARDED_BY(mutex_) = 0;                      ///< under way
  std::unordered_set<capture::ObjectId> gone_ REFRAIN_GUARDED_BY(mutex_);  ///< freed while builds were under way
  std::vector<LayerHooks::Device> devices_ REFRAIN_GUARDED_BY(mutex_);
  std::unordered_map<capture::ObjectId, std::uint32_t> device_numbers_
      REFRAIN_GUARDED_BY(mutex_);  ///< as queues name them
  std::unordered_map<capture::Fingerprint, GraphEntry::Known> learnt_ REFRAIN_GUARDED_BY(mutex_);
  Newcomers newcomers_ REFRAIN_GUARDED_BY(mutex_);
  std::uint64_t sweeps_ REFRAIN_GUARDED_BY(mutex_) = 0;  ///< so far
  /// Entries that have gone, in by_object_ and by_identity_ still.
  std::size_t gone_but_named_ REFRAIN_GUARDED_BY(mutex_) = 0;
  std::vector<GraphEntry::Summary> left_ REFRAIN_GUARDED_BY(mutex_);  ///< of entries that have gone
  Gone unlisted_ REFRAIN_GUARDED_BY(mutex_);                          ///< those of them that are not in it
};

}  // namespace refrain::replay
