#include "layer/library_search.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>

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

bool is_library(const std::string& path) {
  Elf64_Ehdr header{};
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    return false;
  }
  struct stat status {};
  const bool complete = fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
                        read(file, &header, sizeof(header)) == static_cast<ssize_t>(sizeof(header));
  close(file);
  return complete && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_machine == kMachine && header.e_type == ET_DYN;
}

namespace {

/// An ELF file's sections, read as they are asked for.
class SectionReader {
 public:
  explicit SectionReader(const std::string& path) : file_(path, std::ios::binary) {
    good_ = read_at(0, &header_, sizeof(header_)) && std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0 &&
            header_.e_ident[EI_CLASS] == ELFCLASS64 && header_.e_shentsize == sizeof(Elf64_Shdr);
  }
  bool read_at(std::uint64_t offset, void* data, std::size_t bytes) {
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    return static_cast<bool>(file_.read(static_cast<char*>(data), static_cast<std::streamsize>(bytes)));
  }
  bool section(std::size_t index, Elf64_Shdr* found) {
    return good_ && index < header_.e_shnum && read_at(header_.e_shoff + index * sizeof(*found), found, sizeof(*found));
  }
  /// The first section of this type.
  bool find(std::uint32_t type, Elf64_Shdr* found) {
    for (std::size_t index = 0; section(index, found); ++index) {  // up to the first that is not in the file
      if (found->sh_type == type) {
        return true;
      }
    }
    return false;
  }
  /// The whole section; empty if it is unreasonably large, or not there.
  std::string content(const Elf64_Shdr& which) {
    if (which.sh_size > kLongestNames) {
      return {};
    }
    std::string text(which.sh_size, '\0');
    return read_at(which.sh_offset, text.data(), text.size()) ? text : std::string();
  }

 private:
  std::ifstream file_;
  Elf64_Ehdr header_{};
  bool good_ = false;
};

}  // namespace

bool exports(const std::string& path, std::string_view symbol) {
  SectionReader file(path);
  Elf64_Shdr symbols{};
  Elf64_Shdr names{};
  if (!file.find(SHT_DYNSYM, &symbols) || !file.section(symbols.sh_link, &names)) {
    return false;
  }
  const std::string between = std::string(1, '\0').append(symbol).append(1, '\0');
  return file.content(names).find(between) != std::string::npos;
}

std::vector<std::string> exported_names(const std::string& path) {
  std::vector<std::string> found;
  SectionReader file(path);
  Elf64_Shdr symbols{};
  Elf64_Shdr names{};
  if (!file.find(SHT_DYNSYM, &symbols) || !file.section(symbols.sh_link, &names)) {
    return found;
  }
  const std::string entries = file.content(symbols);
  const std::string text = file.content(names);
  for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= entries.size(); at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol{};
    std::memcpy(&symbol, entries.data() + at, sizeof(symbol));
    if (symbol.st_shndx != SHN_UNDEF) {
      found.emplace_back(text_at(text, symbol.st_name));
    }
  }
  return found;
}

std::vector<std::string> dynamic_names(const std::string& path, DynamicName kind) {
  std::vector<std::string> found;
  SectionReader file(path);
  Elf64_Shdr dynamic{};
  Elf64_Shdr names{};
  if (!file.find(SHT_DYNAMIC, &dynamic) || !file.section(dynamic.sh_link, &names)) {
    return found;
  }
  const std::string entries = file.content(dynamic);
  const std::string text = file.content(names);
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
        !exports(path, search.own_marker)) {
      found.push_back(path);
    }
  }
  return found;
}

}  // namespace refrain::layer
