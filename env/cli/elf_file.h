// Programs and libraries as files, read with libelf. What is loaded into other programs does without it
// (env/elf_reader.h).
#pragma once

#include <gelf.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace refrain::env {

class ElfFile {
 public:
  /// Only a regular file is opened. What is asked for is read then, never more.
  explicit ElfFile(const std::string& path);
  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  /// False: it is no ELF file, or its header is damaged. Then nothing else may be asked for.
  explicit operator bool() const noexcept { return good_; }
  [[nodiscard]] bool has_64_bits() const noexcept { return header_.e_ident[EI_CLASS] == ELFCLASS64; }
  [[nodiscard]] unsigned machine() const noexcept { return header_.e_machine; }
  /// Whether it names a dynamic linker; nothing if its program headers are damaged.
  [[nodiscard]] std::optional<bool> has_interpreter() const;
  /// The names of the dynamic symbols that it defines; none if they are damaged, or unreasonably many.
  [[nodiscard]] std::vector<std::string> exported_names() const;

 private:
  struct End {
    void operator()(Elf* file) const noexcept { elf_end(file); }
  };

  int descriptor_;
  std::unique_ptr<Elf, End> file_;
  GElf_Ehdr header_{};
  bool good_ = false;
};

}  // namespace refrain::env
