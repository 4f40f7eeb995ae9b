// What a running program tells about itself to be captured. Implemented by the capture file writer
// (capture/file_recorder.h); the layer and the lanes only know this interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "capture/definitions.h"
#include "capture/operation.h"
#include "env/region.h"

namespace refrain::capture {

enum class CodeKind : std::uint8_t { kSource = 0, kBinary = 1, kIntermediate = 2, kBuiltin = 3 };

struct CodeInfo {
  CodeId id = 0;
  CodeKind kind = CodeKind::kSource;
  std::span<const std::byte> bytes;  ///< valid during the call only
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
  /// The stretch ends, without a call that ends one: what comes is another one. `why` has static lifetime.
  virtual void cut(const char* /*why*/, std::uint64_t /*time_ns*/) noexcept {}
  /// The host call that was told last has returned.
  virtual void host_call_done(std::uint64_t /*time_ns*/) noexcept {}
  /// What comes is in this region of the program's; null: in none.
  virtual void region(const env::Region* region) noexcept = 0;
};

/// Thread-safe. Definitions may come in any order and more than once (the first one counts).
class Recorder {
 public:
  virtual ~Recorder() = default;
  /// Tells a structure of capture/definitions.h.
  template <typename Info>
  void define(const Info& info) noexcept {
    define_all(std::span<const Info>(&info, 1));
  }
  virtual void define_all(const Definitions& definitions) noexcept = 0;
  /// Why operations are not held or recorded: its number, for OperationHeader::reason, which is the same whenever the
  /// text is; 0 if there are too many. Who asks for it tells no ReasonInfo.
  virtual std::uint16_t reason(const char* /*why*/) noexcept { return 0; }
  virtual void code(const CodeInfo& info) noexcept = 0;
  /// Contents of a buffer before its first recorded use (only asked for if wants_contents()).
  virtual void contents(ObjectId buffer, std::span<const std::byte> bytes) noexcept = 0;
  /// Instead of contents() where a buffer has more than format::kMaxContents, which nobody need read.
  virtual void leave_out_contents(std::uint64_t /*bytes*/) noexcept {}
  [[nodiscard]] virtual bool wants_contents() const noexcept = 0;
  /// Opens a stream; the recorder owns it and it lives as long as the recorder.
  virtual Stream& open_stream(std::uint64_t lane) = 0;
  /// The name of the file; empty where nothing is in it yet, or it cannot be written any more.
  [[nodiscard]] virtual std::string file() const { return {}; }
  /// Writes everything that is complete to the file. Safe to call at exit and from any thread.
  virtual void flush() noexcept = 0;
  /// The program ends: writes everything, including stretches that no host call has ended, and says in the log what
  /// became of it: where there is no submission there is no file. Once, from any thread.
  virtual void finish() noexcept {}
};

}  // namespace refrain::capture
