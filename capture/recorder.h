// What a running program tells about itself to be captured. Implemented by the capture file writer
// (capture/file_recorder.h); the layer and the lanes only know this interface.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capture/operation.h"

namespace refrain::capture {

/// Content hash of a program (source, binary or intermediate language together with nothing else).
using CodeId = std::uint64_t;

enum class CodeKind : std::uint8_t { kSource = 0, kBinary = 1, kIntermediate = 2, kBuiltin = 3 };

struct CodeInfo {
  CodeId id = 0;
  CodeKind kind = CodeKind::kSource;
  std::span<const std::byte> bytes;  ///< valid during the call only
};

struct FunctionInfo {
  FunctionId id = 0;
  CodeId code = 0;
  std::string name;
  std::string build_options;
};

/// Where memory with an address is. Stable numbers: they are written to capture files.
enum class MemoryPlace : std::uint64_t { kDevice = 0, kHost = 1, kManaged = 2 };

struct BufferInfo {
  ObjectId id = 0;
  ObjectId context = 0;
  ObjectId parent = 0;       ///< sub-buffers: the buffer they are a part of
  std::uint64_t offset = 0;  ///< within the parent
  std::uint64_t size = 0;    ///< bytes
  std::uint64_t flags = 0;   ///< as given to the API
  bool is_image = false;
  bool is_sampler = false;
  /// Images and samplers: the API's description in words (format, sizes …), opaque to capture/. Memory with an
  /// address: MemoryPlace, number of the device.
  std::vector<std::uint64_t> description;
  std::uint64_t address = 0;  ///< of its first byte, if the API has pointers: what arguments may point into
};

struct DeviceInfo {
  ObjectId id = 0;
  std::string api;  ///< "opencl", "cuda", …
  std::string platform;
  std::string name;
  std::string driver;
  std::string native;  ///< how command buffers are supported, "" if they are not
};

/// One lane's way into the capture. Called by that lane's thread only; never throws. Copies what it
/// is given. May wait when the writer is far behind (nothing is ever dropped).
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void operation(const OperationView& operation) noexcept = 0;
  /// `entry_point` is a name with static lifetime, e.g. "clFinish". Calls that cut nothing (no
  /// operation since the last one) are counted, not stored one by one.
  virtual void host_call(const char* entry_point, std::uint64_t time_ns) noexcept = 0;
};

/// Thread-safe. Definitions may come in any order and more than once (the first one counts).
class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual void device(const DeviceInfo& info) noexcept = 0;
  virtual void queue(const QueueInfo& info) noexcept = 0;
  virtual void code(const CodeInfo& info) noexcept = 0;
  virtual void function(const FunctionInfo& info) noexcept = 0;
  virtual void buffer(const BufferInfo& info) noexcept = 0;
  /// Contents of a buffer before its first recorded use (only asked for if wants_contents()).
  virtual void contents(ObjectId buffer, std::span<const std::byte> bytes) noexcept = 0;
  [[nodiscard]] virtual bool wants_contents() const noexcept = 0;
  /// Opens a stream; the recorder owns it and it lives as long as the recorder.
  virtual Stream& open_stream(std::uint64_t lane) = 0;
  /// Writes everything that is complete to the file. Safe to call at exit and from any thread.
  virtual void flush() noexcept = 0;
};

}  // namespace refrain::capture
