// Programs and libraries of any machine as files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "env/elf_source.h"

namespace refrain::env {

class ElfFile {
 public:
  /// Only a regular file is opened. What is asked for is read then, never more.
  explicit ElfFile(const std::string& path);

  /// False: it is no ELF file, or its header is damaged. Then nothing else may be asked for.
  explicit operator bool() const noexcept { return good_; }
  [[nodiscard]] bool has_64_bits() const noexcept { return has_64_bits_; }
  [[nodiscard]] unsigned machine() const noexcept { return machine_; }
  /// Whether it names a dynamic linker; nothing if its program headers are damaged, or not those of a processor as
  /// ours.
  [[nodiscard]] std::optional<bool> has_interpreter();
  /// The names of the dynamic symbols that it defines; none if they are damaged, or unreasonably many.
  [[nodiscard]] std::vector<std::string> exported_names();

 private:
  ElfFileReader file_;
  bool good_ = false;
  bool has_64_bits_ = false;
  unsigned machine_ = EM_NONE;
};

}  // namespace refrain::env
