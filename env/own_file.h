// A file that Refrain writes inside a process that is not its own: log, capture, report. The program knows nothing of
// the descriptor, so it may close it and get the same number for a file of its own. Nothing may ever be written there.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace refrain::env {

/// Which file a descriptor stands for.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileIdentity&) const = default;

  /// Nothing if the descriptor is closed.
  static std::optional<FileIdentity> of(int descriptor) noexcept;
  /// "device:inode", and back; nothing if that is not what the text says.
  [[nodiscard]] std::string text() const;
  static std::optional<FileIdentity> from(std::string_view text) noexcept;
};

/// Each write looks first whether the descriptor still is what was opened. A regular file is opened again where its
/// name still leads to it. Signals that a write may cause (a reader that went away, the limit of a file's size) do not
/// reach the program. After open() thread-safe without a lock, so that a fork copies none.
class OwnFile {
 public:
  OwnFile() noexcept = default;
  ~OwnFile();
  OwnFile(const OwnFile&) = delete;
  OwnFile& operator=(const OwnFile&) = delete;

  /// Opens a file to write at its end, and makes it if it is not there. Returns 0 or an error number.
  int append_to(const std::string& name);
  /// Makes a file. One that is there already, and not empty, is left alone: name.PID.ending, name.PID.2.ending … are
  /// tried then. Returns 0 or an error number.
  int create(const std::string& name);
  /// Uses a descriptor of the program's or of a parent's, while it stands for `file`. Does not close it.
  void borrow(int descriptor, FileIdentity file) noexcept;

  /// Absolute: the program may change its folder. Empty if borrowed.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] bool regular() const noexcept { return regular_; }
  /// Writes everything. Returns 0 or an error number, EBADF if it is not ours any more. `written`, if given, gets the
  /// bytes that were written in any case.
  int write(std::span<const std::byte> bytes, std::size_t* written = nullptr) noexcept;
  int write(std::string_view text) noexcept { return write(std::as_bytes(std::span(text))); }
  /// Makes the file shorter.
  void cut(std::size_t size) noexcept;

 private:
  int take(int descriptor, const std::string& name);
  /// The descriptor, looked at and opened again if need be; negative: it is not ours any more.
  int checked() noexcept;

  std::atomic<int> descriptor_{-1};
  FileIdentity file_;
  bool borrowed_ = false;
  bool regular_ = false;
  std::string name_;
};

}  // namespace refrain::env
