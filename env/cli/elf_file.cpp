#include "env/cli/elf_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace refrain::env {
namespace {

constexpr std::size_t kLargestSection = 4U << 20U;

}  // namespace

ElfFile::ElfFile(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  struct stat status {};
  if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode) ||
      elf_version(EV_CURRENT) == EV_NONE) {
    return;
  }
  // Not mapped: a file that somebody cuts off meanwhile must not end the process.
  file_.reset(elf_begin(descriptor_, ELF_C_READ, nullptr));
  good_ = file_ != nullptr && elf_kind(file_.get()) == ELF_K_ELF && gelf_getehdr(file_.get(), &header_) != nullptr;
}

ElfFile::~ElfFile() {
  file_.reset();
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

std::optional<bool> ElfFile::has_interpreter() const {
  std::size_t count = 0;
  if (elf_getphdrnum(file_.get(), &count) != 0) {
    return std::nullopt;
  }
  for (std::size_t index = 0; index < count; ++index) {
    GElf_Phdr segment;
    if (gelf_getphdr(file_.get(), static_cast<int>(index), &segment) == nullptr) {
      return std::nullopt;
    }
    if (segment.p_type == PT_INTERP) {
      return true;
    }
  }
  // It tells of those only that are in the file.
  return count < header_.e_phnum ? std::nullopt : std::optional(false);
}

std::vector<std::string> ElfFile::exported_names() const {
  std::vector<std::string> found;
  for (Elf_Scn* section = elf_nextscn(file_.get(), nullptr); section != nullptr;
       section = elf_nextscn(file_.get(), section)) {
    GElf_Shdr symbols;
    if (gelf_getshdr(section, &symbols) == nullptr || symbols.sh_type != SHT_DYNSYM) {
      continue;
    }
    GElf_Shdr names;
    if (gelf_getshdr(elf_getscn(file_.get(), symbols.sh_link), &names) == nullptr ||
        symbols.sh_size > kLargestSection || names.sh_size > kLargestSection) {
      return found;
    }
    Elf_Data* const data = elf_getdata(section, nullptr);
    GElf_Sym symbol;
    for (int index = 0; data != nullptr && gelf_getsym(data, index, &symbol) != nullptr; ++index) {
      const char* const name =
          symbol.st_shndx == SHN_UNDEF ? nullptr : elf_strptr(file_.get(), symbols.sh_link, symbol.st_name);
      if (name != nullptr) {
        found.emplace_back(name);
      }
    }
    return found;
  }
  return found;
}

}  // namespace refrain::env
