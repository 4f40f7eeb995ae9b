// Files and memory as sources for ElfReader (env/elf_reader.h).
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "env/elf_reader.h"

namespace refrain::env {

/// Read piece by piece, not mapped: a file that somebody cuts off meanwhile must not end the process.
class FileSource {
 public:
  /// Only a regular file is opened, and none is waited for.
  explicit FileSource(const std::string& path) noexcept
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat status {};
    regular_ = descriptor_ >= 0 && ::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
  }
  ~FileSource() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
    }
  }
  FileSource(FileSource&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), regular_(std::exchange(other.regular_, false)) {}
  FileSource& operator=(FileSource&&) = delete;

  bool read(std::uint64_t offset, void* into, std::size_t bytes) const noexcept {
    auto* to = static_cast<char*>(into);
    if (!regular_ || offset > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()) - bytes) {
      return false;
    }
    for (std::size_t done = 0; done < bytes;) {
      const ssize_t got = ::pread(descriptor_, to + done, bytes - done, static_cast<off_t>(offset + done));
      if (got <= 0 && !(got < 0 && errno == EINTR)) {
        return false;
      }
      done += got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    return true;
  }

 private:
  int descriptor_;
  bool regular_ = false;
};

/// Bytes that are there, of which nothing beyond the end is read. They must outlive it.
struct MemorySource {
  std::span<const std::byte> all;

  bool read(std::uint64_t offset, void* into, std::size_t bytes) const noexcept {
    if (offset > all.size() || bytes > all.size() - offset) {
      return false;
    }
    std::memcpy(into, all.data() + offset, bytes);
    return true;
  }
  template <class T>
  bool read(std::uint64_t offset, T* value) const noexcept {
    return read(offset, value, sizeof(T));
  }
};

using ElfFileReader = ElfReader<FileSource>;

/// The whole section; empty if it is unreasonably large, or not there.
inline std::string section_content(ElfFileReader& file, const Elf64_Shdr& section) {
  constexpr std::size_t kLargestSection = 4U << 20U;
  if (section.sh_size > kLargestSection) {
    return {};
  }
  std::string content(section.sh_size, '\0');
  return file.source().read(section.sh_offset, content.data(), content.size()) ? content : std::string();
}

/// The zero-terminated text at `offset`; empty if it doesn't end inside.
inline std::string_view text_at(std::string_view data, std::size_t offset) {
  if (offset >= data.size()) {
    return {};
  }
  const std::size_t end = data.find('\0', offset);
  return end == std::string_view::npos ? std::string_view() : data.substr(offset, end - offset);
}

/// Calls `visit` with each dynamic symbol that the file defines until it returns true; whether one did.
template <class Visit>
bool visit_exports(ElfFileReader& file, Visit visit) {
  Elf64_Shdr symbols{};
  Elf64_Shdr names{};
  if (!file || !file.find_section(SHT_DYNSYM, &symbols) || !file.linked_section(symbols, &names)) {
    return false;
  }
  const std::string entries = section_content(file, symbols);
  const std::string text = section_content(file, names);
  for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= entries.size(); at += sizeof(Elf64_Sym)) {
    Elf64_Sym entry{};
    std::memcpy(&entry, entries.data() + at, sizeof(entry));
    if (entry.st_shndx != SHN_UNDEF && visit(text_at(text, entry.st_name))) {
      return true;
    }
  }
  return false;
}

}  // namespace refrain::env
