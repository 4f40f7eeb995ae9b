// Events of a captured graph, made again: records name the captured program's.
//
// Before each run an event is what it was when the captured graph began: set if the graph waits for it first. An event
// that is signalled again without having been reset is a counter-based one, which means the newest command that was
// submitted with it: each such signal gets an event of its own.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "backends/level_zero/driver_api.h"
#include "capture/operation.h"

namespace refrain::backends::level_zero {

/// Owns the events. Used by one thread.
class StandaloneEvents {
 public:
  /// `driver`, context and device must outlive this.
  StandaloneEvents(const LevelZeroDriver& driver, ze_context_handle_t context, ze_device_handle_t device) noexcept
      : driver_(driver), context_(context), device_(device) {}
  ~StandaloneEvents() { clear(); }
  StandaloneEvents(const StandaloneEvents&) = delete;
  StandaloneEvents& operator=(const StandaloneEvents&) = delete;

  /// Gives a record events of this machine; the graph's records one after the other, in the order of the calls. False,
  /// and `why`: its events make no sense, would be waited for for ever, or cannot be made. May throw std::bad_alloc.
  [[nodiscard]] bool replace(std::vector<std::byte>* record, std::string* why);
  /// Whether replace() made all that the record names.
  [[nodiscard]] bool made_all_of(const capture::OperationView& operation) const;
  /// Makes all what they were when the graph began. Nothing that uses them is under way.
  [[nodiscard]] ze_result_t put_back() const noexcept;
  /// Gives all back to the driver, and begins with another graph. Nothing uses them any more.
  void clear() noexcept;

 private:
  struct Event {
    ze_event_handle_t handle = nullptr;
    bool set_at_begin = false;
    bool set = false;  ///< behind the operations so far
  };
  Event* make(bool set_at_begin, std::string* why);
  /// The one that stands for the program's; made if it is named for the first time.
  Event* event_of(capture::ObjectId object, bool set_at_begin, std::string* why);

  const LevelZeroDriver& driver_;
  const ze_context_handle_t context_;
  const ze_device_handle_t device_;
  std::vector<ze_event_pool_handle_t> pools_;
  std::vector<std::unique_ptr<Event>> all_;
  std::unordered_map<capture::ObjectId, Event*> current_;
  std::unordered_set<capture::Handle> handles_;
};

}  // namespace refrain::backends::level_zero
