#include "layer/library_search.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include "env/elf_reader.h"
#include "layer/starter/candidates.h"

namespace refrain::layer {
namespace {

#if defined(__x86_64__)
constexpr int kMachine = EM_X86_64;
#else
#error "Refrain knows x86-64 only here."
#endif

constexpr std::size_t kLongestNames = 4U << 20U;

// The zero-terminated text at `offset`; empty if it doesn't end inside.
std::string_view text_at(std::string_view data, std::size_t offset) {
  if (offset >= data.size()) {
    return {};
  }
  const std::size_t end = data.find('\0', offset);
  return end == std::string_view::npos ? std::string_view() : data.substr(offset, end - offset);
}

std::string absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path result = std::filesystem::absolute(path, error);
  return error ? path : result.string();
}

bool add_path(const char* path, void* paths) {
  static_cast<std::vector<std::string>*>(paths)->emplace_back(path);
  return false;
}

}  // namespace

std::vector<std::string> search_linker_cache(std::string_view cache, std::string_view name) {
  std::vector<std::string> found;
  visit_linker_cache(cache.data(), cache.size(), std::string(name).c_str(), {&add_path, &found});
  return found;
}

namespace {

/// Read piece by piece, not mapped: a file that somebody cuts off meanwhile must not end the process.
class FileSource {
 public:
  explicit FileSource(const std::string& path) noexcept
      : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat status {};
    regular_ = descriptor_ >= 0 && fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
  }
  ~FileSource() {
    if (descriptor_ >= 0) {
      close(descriptor_);
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
      const ssize_t got = pread(descriptor_, to + done, bytes - done, static_cast<off_t>(offset + done));
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

using FileReader = env::ElfReader<FileSource>;

/// The whole section; empty if it is unreasonably large, or not there.
std::string content(FileReader& file, const Elf64_Shdr& section) {
  if (section.sh_size > kLongestNames) {
    return {};
  }
  std::string text(section.sh_size, '\0');
  return file.source().read(section.sh_offset, text.data(), text.size()) ? text : std::string();
}

}  // namespace

bool is_library(const std::string& path) {
  const FileReader file{FileSource(path)};
  return file && file.header().e_machine == kMachine && file.header().e_type == ET_DYN;
}

bool exports(const std::string& path, std::string_view symbol) {
  FileReader file{FileSource(path)};
  Elf64_Shdr symbols{};
  Elf64_Shdr names{};
  if (!file || !file.find_section(SHT_DYNSYM, &symbols) || !file.linked_section(symbols, &names)) {
    return false;
  }
  const std::string entries = content(file, symbols);
  const std::string text = content(file, names);
  for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= entries.size(); at += sizeof(Elf64_Sym)) {
    Elf64_Sym entry{};
    std::memcpy(&entry, entries.data() + at, sizeof(entry));
    if (entry.st_shndx != SHN_UNDEF && text_at(text, entry.st_name) == symbol) {
      return true;
    }
  }
  return false;
}

std::vector<std::string> dynamic_names(const std::string& path, DynamicName kind) {
  std::vector<std::string> found;
  FileReader file{FileSource(path)};
  Elf64_Shdr dynamic{};
  Elf64_Shdr names{};
  if (!file || !file.find_section(SHT_DYNAMIC, &dynamic) || !file.linked_section(dynamic, &names)) {
    return found;
  }
  const std::string entries = content(file, dynamic);
  const std::string text = content(file, names);
  for (std::size_t at = 0; at + sizeof(Elf64_Dyn) <= entries.size(); at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry{};
    std::memcpy(&entry, entries.data() + at, sizeof(entry));
    if (entry.d_tag == (kind == DynamicName::kSoname ? DT_SONAME : DT_NEEDED)) {
      found.emplace_back(text_at(text, entry.d_un.d_val));
    }
  }
  return found;
}

std::vector<std::string> find_libraries(const LibrarySearch& search) {
  std::vector<std::string> candidates;
  if (!search.given.empty()) {
    candidates.push_back(search.given);
  } else {
    visit_candidates(search.file.c_str(), search.folders.data(), search.folders.size(), {&add_path, &candidates});
  }
  std::vector<std::string> found;
  for (const std::string& candidate : candidates) {
    const std::string path = absolute(candidate);
    if (std::find(found.begin(), found.end(), path) == found.end() && is_library(path) &&
        (search.own_marker.empty() || !exports(path, search.own_marker))) {
      found.push_back(path);
    }
  }
  return found;
}

}  // namespace refrain::layer
