// A file that Refrain writes inside a process that is not its own: log, capture, report. The program knows nothing of
// the descriptor, so it may close it and get the same number for a file of its own. Nothing may ever be written there.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace refrain::env {

class FileName;
class OlderFiles;

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

/// The same file at a high number, with close-on-exec; closes `descriptor`, which ends locks. Negative, with errno, if
/// there is no room.
[[nodiscard]] int lifted(int descriptor) noexcept;

/// Why a name is not written to, where the system would have done it. The texts say what to do instead.
enum class FileRefusal {
  kLink = 1,  ///< a symbolic link: whoever made it chose what is written to
  kSpecial,   ///< a FIFO, socket or device
  kForeign,   ///< another user's file, or one with further names, in a folder that others may write to
};
std::error_code make_error_code(FileRefusal refusal) noexcept;

/// Each write looks first whether the descriptor still is what was opened. A regular file is opened again where its
/// name still leads to it. Signals that a write may cause (a reader that went away, the limit of a file's size) do not
/// reach the program. Once it is opened thread-safe without a lock, so that a fork copies none.
///
/// Opening never waits, follows no symbolic link in the last part of a name, and passes through no FIFO, socket or
/// device, unless the name is /dev/stdout, /dev/stderr, /dev/null or that of a descriptor (/dev/fd/N, /proc/self/fd/N).
/// Files that are made get exactly the permissions `mode`, whatever the program's umask. Names are made absolute when
/// they are opened.
class OwnFile {
 public:
  OwnFile() noexcept = default;
  ~OwnFile();
  OwnFile(const OwnFile&) = delete;
  OwnFile& operator=(const OwnFile&) = delete;

  /// Opens a file to write at its end, and makes it if it is not there.
  std::error_code append_to(const std::string& name, mode_t mode);
  /// Makes a file. One that is there already, and not empty, or another user's, is left alone: name.PID.ending,
  /// name.PID.2.ending … are tried then. One of `older` is taken as it is, for nobody else then, and to be replaced.
  std::error_code create(const std::string& name, mode_t mode, const OlderFiles* older = nullptr);
  /// The same for a pattern. With a counter in it the file is always a new one: of the first number that nobody has.
  std::error_code append_to(const FileName& name, mode_t mode);
  std::error_code create(const FileName& name, mode_t mode, const OlderFiles* older = nullptr);
  /// Makes a file with this content and puts it in the place of whatever has the name, whole or not at all: what is
  /// there stays if anything goes wrong, and nothing else is left. As create() does, it has the file to itself.
  std::error_code replace(const std::string& name, mode_t mode, std::span<const std::byte> content);
  std::error_code replace(const std::string& name, mode_t mode, std::string_view content) {
    return replace(name, mode, std::as_bytes(std::span(content)));
  }
  /// Removes the file, if it was made by this object and its name still leads to it.
  void remove() noexcept;
  /// Uses a descriptor of the program's or of a parent's, while it stands for `file`. Does not close it.
  void borrow(int descriptor, FileIdentity file) noexcept;

  /// Absolute: the program may change its folder. Empty if borrowed.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// False: a terminal, a pipe, a descriptor that the user named. It can be written to, but not replaced.
  [[nodiscard]] bool regular() const noexcept { return regular_; }
  /// Whether create() has taken an older file, in which nothing is to be written.
  [[nodiscard]] bool older() const noexcept { return older_; }
  /// Whether its name still leads to it.
  [[nodiscard]] bool in_place() const noexcept;
  /// Writes everything. Returns 0 or an error number, EBADF if it is not ours any more. `written`, if given, gets the
  /// bytes that were written in any case.
  int write(std::span<const std::byte> bytes, std::size_t* written = nullptr) noexcept;
  int write(std::string_view text) noexcept { return write(std::as_bytes(std::span(text))); }
  /// Makes a file of `size` bytes and `behind` more, the beginning of a write that failed, `size` bytes long. Nothing
  /// happens if it has another length: the rest is not ours then.
  void cut(std::size_t size, std::size_t behind) noexcept;

  /// Why append_to() or create() could not write to this name; nothing if they could. Leaves no trace.
  static std::error_code obstacle(const std::string& name);
  /// The same for replace().
  static std::error_code obstacle_to_replace(const std::string& name);
  /// Whether another process is writing what create() gave it by this name.
  static bool busy(const std::string& name) noexcept;

 private:
  std::error_code open_or_make(const std::string& name, mode_t mode);
  /// Makes a file of a name that nobody can foresee in the folder of `name`, which is absolute.
  std::error_code create_beside(const std::string& name, mode_t mode);
  /// Puts the file in the place of whatever has this name.
  std::error_code rename_to(const std::string& name);
  [[nodiscard]] bool takes_older(const OlderFiles& older) const noexcept;
  /// `system_error(EEXIST)`, and nothing else has happened, if there is something of that name.
  std::error_code make(const std::string& name, mode_t mode);
  std::error_code make_counted(const FileName& name, mode_t mode);
  std::error_code take(int descriptor, const std::string& name, bool made);
  [[nodiscard]] bool is_ours(int descriptor) const noexcept;
  /// The descriptor, looked at and opened again if need be; negative: it is not ours any more.
  int checked() noexcept;

  std::atomic<int> descriptor_{-1};
  FileIdentity file_;
  std::int64_t born_ns_ = 0;  ///< numbers of files are given again, births are not; 0: not known
  bool borrowed_ = false;
  bool regular_ = false;
  bool made_ = false;
  bool older_ = false;
  std::string name_;
};

}  // namespace refrain::env

template <>
struct std::is_error_code_enum<refrain::env::FileRefusal> : std::true_type {};
