#include "layer/library_search.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>

#include "env/elf_source.h"
#include "layer/starter/candidates.h"

namespace refrain::layer {
namespace {

#if defined(__x86_64__)
constexpr int kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr int kMachine = EM_AARCH64;
#else
#error "Which machine do ELF files of this architecture name?"
#endif

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
  const env::ElfFileReader file{env::FileSource(path)};
  return file && file.header().e_machine == kMachine && file.header().e_type == ET_DYN;
}

bool exports(const std::string& path, std::string_view symbol) {
  env::ElfFileReader file{env::FileSource(path)};
  return env::visit_exports(file, [symbol](std::string_view name) { return name == symbol; });
}

std::vector<std::string> dynamic_names(const std::string& path, DynamicName kind) {
  std::vector<std::string> found;
  env::ElfFileReader file{env::FileSource(path)};
  Elf64_Shdr dynamic{};
  Elf64_Shdr names{};
  if (!file || !file.find_section(SHT_DYNAMIC, &dynamic) || !file.linked_section(dynamic, &names)) {
    return found;
  }
  const std::string entries = env::section_content(file, dynamic);
  const std::string text = env::section_content(file, names);
  for (std::size_t at = 0; at + sizeof(Elf64_Dyn) <= entries.size(); at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry{};
    std::memcpy(&entry, entries.data() + at, sizeof(entry));
    if (entry.d_tag == (kind == DynamicName::kSoname ? DT_SONAME : DT_NEEDED)) {
      found.emplace_back(env::text_at(text, entry.d_un.d_val));
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
