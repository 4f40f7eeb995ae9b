// A device of this machine on which the objects of a capture are made again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "capture/recorder.h"

namespace refrain::backends {

struct DeviceChoice {
  std::uint32_t platform = 0;
  std::uint32_t device = 0;
  std::string name;     ///< if not empty: the first device whose name contains it, on any platform
  std::string library;  ///< HIP: path of the runtime, as its name has a number; empty: none is here
};

/// Owns everything made through it. Used by one thread. Nothing throws but std::bad_alloc. Where a result
/// is missing, `why` says why in a sentence's end ("the program does not build here: …").
class StandaloneDevice {
 public:
  virtual ~StandaloneDevice() = default;
  [[nodiscard]] virtual Backend& backend() noexcept = 0;
  [[nodiscard]] virtual const capture::DeviceInfo& info() const noexcept = 0;

  /// A new queue with the properties of `wanted`; its id is kept, its handle is new.
  virtual bool make_queue(const capture::QueueInfo& wanted, capture::QueueInfo* made, std::string* why) = 0;
  /// A new buffer, part of a buffer, image or sampler. `parent` is the handle made for BufferInfo::parent,
  /// or 0. 0 if it cannot be made. For APIs with pointers the handle is the address.
  virtual capture::Handle make_memory(const capture::BufferInfo& wanted, capture::Handle parent, std::string* why) = 0;
  /// The function's handle, as OperationHeader::function_handle has it. Code is built once.
  virtual capture::Handle make_function(const capture::FunctionInfo& function, capture::CodeKind kind,
                                        std::span<const std::byte> code, std::string* why) = 0;
  /// Whether a record, with handles of this machine, is one that the backend can be given: captures come from
  /// anywhere.
  virtual bool fits(const capture::OperationView& /*operation*/, std::string* /*why*/) { return true; }
  /// Before that, of each operation of a graph in turn: changes a record that only the captured program can be given as
  /// it is.
  virtual void adapt(std::vector<std::byte>* /*record*/) {}
  /// Whether an operation is done here that means something in this API alone: its kind is OperationKind::kOther or
  /// kPointerMigrate, or it has arguments kOtherHandle, to which adapt() gives objects of this device.
  [[nodiscard]] virtual bool does(const capture::OperationView& /*operation*/) const noexcept { return false; }
  /// Before the operations run, or run again, and nothing of them is under way: brings back what is neither memory nor
  /// in a queue. False, and `why`, if the driver refuses.
  virtual bool prepare_run(std::string* /*why*/) { return true; }
  /// Releases all memory and queues; functions stay.
  virtual void release_memory() noexcept = 0;
};

/// Opens a device of an API ("opencl", "cuda", "hip", "level_zero"). Null, and `why` (a sentence), if this build does
/// not know the API or the machine has no such device.
std::unique_ptr<StandaloneDevice> open_standalone_device(std::string_view api, const DeviceChoice& choice,
                                                         std::string* why);

}  // namespace refrain::backends
