// What the layer knows of command lists, events, kernels and memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "backends/level_zero/list.h"
#include "capture/operation.h"
#include "layer/common/object_id.h"
#include "layer/common/wait_role.h"
#include "layer/level_zero/event_meaning.h"
#include "layer/level_zero/runtime.h"
#include "layer/registry.h"
#include "replay/lane/lane.h"

namespace refrain::layer::level_zero {

/// What a command of a regular list does to an event, in the order of its commands.
struct EventUse {
  enum class What : std::uint8_t { kWait, kSignal, kReset };
  ze_event_handle_t event = nullptr;
  What what = What::kWait;
};

struct ListState {
  std::atomic<std::uint64_t> handle{0};
  ListState* next_free = nullptr;
  bool immediate = false;
  bool synchronous = false;          ///< each call returns when the work is done
  const char* unholdable = nullptr;  ///< immediate lists: nothing of it is ever held, and why
  replay::QueueSlot slot;            ///< immediate lists
  backends::ImmediateList list;      ///< immediate lists
  Token token_seed = 0;
  std::vector<EventUse> uses;  ///< regular lists; changed by one thread at a time, as the API demands
  /// Records of immediate lists are never used again: graphs and threads may still name them.
  void reset() noexcept {
    handle.store(0, std::memory_order_relaxed);
    uses.clear();
  }
};

struct EventState {
  std::atomic<std::uint64_t> handle{0};
  EventState* next_free = nullptr;
  ObjectId id = 0;
  ze_context_handle_t context = nullptr;
  /// Counter-based: no state, but the newest command that was told to signal it, which is never held.
  bool counter = false;
  bool host_visible = false;
  /// Lane and number of the newest submission that signals it. 0: none, or the host.
  std::atomic<std::uint64_t> lane{0};
  std::atomic<std::uint64_t> sequence{0};
  /// Whether what signals it is submitted, or held: who waits for it waits for nothing that is still to be called.
  std::atomic<bool> promised{false};
  common::NewestWait newest_wait;  ///< since it was last signalled or reset
  EventMeaning meaning;

  void reset() noexcept {
    handle.store(0, std::memory_order_relaxed);
    id = 0;
    context = nullptr;
    counter = host_visible = false;
    for (auto* number : {&lane, &sequence}) {
      number->store(0, std::memory_order_relaxed);
    }
    promised.store(false, std::memory_order_relaxed);
    newest_wait.forget();
    meaning.renew();
  }
};

struct ModuleState {
  std::atomic<std::uint64_t> handle{0};
  ModuleState* next_free = nullptr;
  ObjectId id = 0;
  std::uint64_t number = 0;                    ///< for tokens: never given again, and the same in every run
  std::uint64_t content = 0;                   ///< hash of its image
  std::vector<capture::FunctionId> functions;  ///< of kernels made from it
  capture::CodeId code = 0;                    ///< captures: its image; 0: not known, or not to be built again
  std::string options;                         ///< captures: how it is built
  void reset() noexcept {
    handle.store(0, std::memory_order_relaxed);
    id = 0;
    number = 0;
    content = 0;
    functions.clear();
    code = 0;
    options.clear();
  }
};

struct KernelState {
  std::atomic<std::uint64_t> handle{0};
  KernelState* next_free = nullptr;
  capture::FunctionId function = 0;
  std::uint64_t identity = 0;  ///< in tokens: as `function`, but not in captures
  /// Arguments as they are set now: what the next launch gets.
  std::vector<capture::ArgumentDescriptor> descriptors;
  std::vector<std::uint32_t> offsets;  ///< of each argument among the values
  std::vector<std::byte> values;
  std::uint32_t unset_count = 0;
  std::uint64_t memory_epoch = 0;  ///< of the objects that the descriptors name
  std::uint32_t group[3] = {0, 0, 0};
  std::uint32_t offset[3] = {0, 0, 0};
  backends::KernelSettings settings;
  const char* unholdable = nullptr;
  /// Arguments and group size are something else, of which nothing is known.
  void forget_what_is_set() noexcept {
    descriptors.assign(descriptors.size(), {});
    offsets.assign(offsets.size(), 0);
    values.clear();
    unset_count = static_cast<std::uint32_t>(descriptors.size());
    group[0] = group[1] = group[2] = 0;
  }
  void reset() noexcept {
    handle.store(0, std::memory_order_relaxed);
    function = 0;
    descriptors.clear();
    offsets.clear();
    values.clear();
    unset_count = 0;
    memory_epoch = 0;
    for (int i = 0; i < 3; ++i) {
      group[i] = offset[i] = 0;
    }
    settings = {};
    unholdable = nullptr;
  }
};

struct Objects {
  Registry<ListState> lists;
  Registry<EventState> events;
  Registry<ModuleState> modules;
  Registry<KernelState> kernels;
};
extern Objects& objects;

/// Whether an argument of a record still names what it named: see LevelZeroBackend::Alive.
[[nodiscard]] bool is_alive(capture::ArgumentKind kind, Handle handle, ObjectId object) noexcept;

/// An execution of regular lists: what their commands do to events, one after the other.
void note_execution(std::uint32_t count, ze_command_list_handle_t* lists) noexcept;

/// Something that nobody saw may have appended to any list.
void forget_quiet_lists() noexcept;

/// Changes whenever a setter that concerns all submissions was called (setters.cpp): part of their tokens.
[[nodiscard]] std::uint64_t set_around() noexcept;

// Memory (memory.cpp).
struct Place {
  ObjectId id = 0;  ///< 0: nothing that the driver allocated
  std::uint64_t start = 0, bytes = 0;
  int device = 0;  ///< captures: its number; 0: of none
  capture::MemoryPlace kind = capture::MemoryPlace::kDevice;
  bool whole = true;  ///< there is memory at all of it: not addresses alone
};
[[nodiscard]] Place memory_at(std::uint64_t address) noexcept;
/// Changes whenever memory comes or goes.
[[nodiscard]] std::uint64_t memory_epoch() noexcept;

// Events (events.cpp).
[[nodiscard]] EventState* find_event(ze_event_handle_t event) noexcept;
/// True while somebody waits for an event that nothing submitted, held or already set signals: then nothing may be held
/// or launched as one, for what would wait falsely might wait for ever.
[[nodiscard]] bool open_waits() noexcept;
/// A wait, a signal, a reset was submitted (or is held): keeps the book on open waits.
void note(const EventUse& use) noexcept;
/// The same, and nobody knows behind what.
void note_of_unknown_place(const EventUse& use) noexcept;

// Kernels (kernels.cpp).
[[nodiscard]] KernelState* find_kernel(ze_kernel_handle_t kernel) noexcept;
[[nodiscard]] std::string name_of_function(capture::FunctionId function) noexcept;
/// Brings the objects that the arguments name up to date; false: unholdable, and why.
[[nodiscard]] const char* reason_not_to_hold(KernelState* kernel) noexcept;

// Capture mode (capture.cpp).
[[nodiscard]] ObjectId record_device(ze_device_handle_t device) noexcept;
/// The memory that the operation names, before it reaches the driver, so that contents are those of before its first
/// use.
void record_memory(const capture::OperationView& operation, ListState& list) noexcept;
/// A module that was made of this.
void record_module(ModuleState& module, const ze_module_desc_t& description) noexcept;
/// A kernel of it: its id in the capture. May throw std::bad_alloc.
[[nodiscard]] capture::FunctionId record_kernel(const ModuleState& module, const char* name,
                                                capture::FunctionId otherwise);

}  // namespace refrain::layer::level_zero
