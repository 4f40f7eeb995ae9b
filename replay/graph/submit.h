// Gives held operations to the driver, one by one, with everything the application was promised.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "capture/operation.h"

namespace refrain::replay {

class LayerHooks;

/// Native events of operations that were held and are submitted by now, as long as later held
/// operations may still wait for them. Owns one reference of each.
class WindowEvents {
 public:
  /// Takes over one reference.
  void add(std::uint64_t sequence, backends::Event event) { events_.emplace_back(sequence, event); }
  [[nodiscard]] backends::Event find(std::uint64_t sequence) const noexcept;
  void clear(backends::Backend& backend) noexcept;

 private:
  std::vector<std::pair<std::uint64_t, backends::Event>> events_;
};

struct SubmitContext {
  backends::Backend& backend;
  LayerHooks& hooks;
  WindowEvents& window;
};

/// Events one submission has to wait for; releases them at the end of its life.
class WaitList {
 public:
  explicit WaitList(backends::Backend& backend) noexcept : backend_(backend) {}
  ~WaitList();
  WaitList(const WaitList&) = delete;
  WaitList& operator=(const WaitList&) = delete;

  /// Adds the waits of an operation, except those for operations of the same lane numbered
  /// `inside_from` or higher (they are ordered by the graph itself).
  void add(const SubmitContext& context, const capture::OperationView& operation, std::uint64_t inside_from);
  /// Adds an event that belongs to somebody else.
  void borrow(backends::Event event);
  [[nodiscard]] std::span<const backends::Event> events() const noexcept { return events_; }

 private:
  backends::Backend& backend_;
  std::vector<backends::Event> events_;
  std::vector<backends::Event> owned_;
  std::vector<capture::WaitRef> added_;  ///< many operations of a part may wait for the same event
};

/// Fulfils the operation's promise, if it made one, with `event` (borrowed; 0 if `status` is not 0).
void keep_promise(const SubmitContext& context, const capture::OperationView& operation, backends::Event event,
                  int status);

/// Issues a held operation eagerly. Returns the driver's error.
int issue_held(const SubmitContext& context, const capture::OperationView& operation, const capture::QueueInfo& queue);

}  // namespace refrain::replay
