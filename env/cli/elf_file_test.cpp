#include "env/cli/elf_file.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <random>

#include "layer/library_search.h"

#if HAVE_LIBELF
#include <gelf.h>
#endif

namespace refrain::env {
namespace {

std::string c_library() {
  Dl_info info{};
  return ::dladdr(reinterpret_cast<void*>(&::getpid), &info) != 0 ? info.dli_fname : "";
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class TemporaryFile {
 public:
  TemporaryFile() : path_(std::filesystem::temp_directory_path() / ("refrain_elf_" + std::to_string(::getpid()))) {}
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string holding(const std::string& content) const {
    std::ofstream(path_, std::ios::binary) << content;
    return path_.string();
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator begin("/proc/self/fd");
  return std::distance(begin, std::filesystem::directory_iterator());
}

/// Everything that can be asked of the file, as a program and as a library.
void ask(const std::string& path, std::size_t size) {
  if (ElfFile file(path); file) {
    static_cast<void>(file.has_interpreter());
    for (const std::string& name : file.exported_names()) {
      REQUIRE(name.size() < size);
    }
  }
  static_cast<void>(layer::is_library(path));
  static_cast<void>(layer::exports(path, "cuInit"));
  for (const std::string& name : layer::dynamic_names(path, layer::DynamicName::kNeeded)) {
    REQUIRE(name.size() < size);
  }
}

TEST_CASE("a program and a library are told apart") {
  ElfFile program("/proc/self/exe");
  REQUIRE(program);
  CHECK(program.has_64_bits());
  CHECK(program.has_interpreter() == std::optional(true));
  ElfFile library(c_library());
  REQUIRE(library);
  CHECK(library.machine() == program.machine());
  const std::vector<std::string> names = library.exported_names();
  CHECK(names.size() > 1000);
  CHECK(std::ranges::count(names, "getpid") == 1);
}

TEST_CASE("what a library exports is told by name, too") {
  const std::vector<std::string> names = ElfFile(c_library()).exported_names();
  REQUIRE(layer::is_library(c_library()));
  for (std::size_t index = 0; index < names.size(); index += 100) {
    CAPTURE(names[index]);
    CHECK(layer::exports(c_library(), names[index]));
  }
  CHECK_FALSE(layer::exports(c_library(), "refrain_cuda_shim"));
}

#if HAVE_LIBELF
std::vector<std::string> names_by_libelf(const std::string& path) {
  std::vector<std::string> found;
  REQUIRE(elf_version(EV_CURRENT) != EV_NONE);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  Elf* const file = elf_begin(descriptor, ELF_C_READ, nullptr);
  for (Elf_Scn* section = elf_nextscn(file, nullptr); section != nullptr; section = elf_nextscn(file, section)) {
    GElf_Shdr header;
    REQUIRE(gelf_getshdr(section, &header) != nullptr);
    Elf_Data* const data = header.sh_type == SHT_DYNSYM ? elf_getdata(section, nullptr) : nullptr;
    GElf_Sym symbol;
    for (int index = 0; data != nullptr && gelf_getsym(data, index, &symbol) != nullptr; ++index) {
      const char* const name = elf_strptr(file, header.sh_link, symbol.st_name);
      if (symbol.st_shndx != SHN_UNDEF && *name != '\0') {  // those of sections have none
        found.emplace_back(name);
      }
    }
  }
  elf_end(file);
  ::close(descriptor);
  return found;
}

TEST_CASE("libelf finds the same names") {
  Dl_info info{};
  REQUIRE(::dladdr(reinterpret_cast<void*>(&elf_begin), &info) != 0);
  for (const std::string& path : {c_library(), std::string(info.dli_fname), std::string("/proc/self/exe")}) {
    CAPTURE(path);
    CHECK(ElfFile(path).exported_names() == names_by_libelf(path));
  }
}
#endif

TEST_CASE("programs of other processors are known by their headers") {
  const TemporaryFile file;
  const auto with = [&file](char bits, char order, char first, char second, std::size_t size) {
    std::string text(size, '\0');
    text.replace(0, 6, {'\177', 'E', 'L', 'F', bits, order});
    text[18] = first;
    text[19] = second;
    return ElfFile(file.holding(text));
  };
  const ElfFile arm = with(ELFCLASS32, ELFDATA2LSB, EM_ARM, 0, sizeof(Elf32_Ehdr));
  REQUIRE(arm);
  CHECK_FALSE(arm.has_64_bits());
  CHECK(arm.machine() == EM_ARM);
  const ElfFile s390 = with(ELFCLASS64, ELFDATA2MSB, 0, EM_S390, sizeof(Elf64_Ehdr));
  REQUIRE(s390);
  CHECK(s390.has_64_bits());
  CHECK(s390.machine() == EM_S390);
  CHECK_FALSE(with(ELFCLASS64, ELFDATA2LSB, EM_386, 0, sizeof(Elf64_Ehdr) - 1));
  CHECK_FALSE(with(3, ELFDATA2LSB, EM_386, 0, sizeof(Elf64_Ehdr)));
  CHECK_FALSE(with(ELFCLASS64, 3, EM_386, 0, sizeof(Elf64_Ehdr)));
}

TEST_CASE("what is no ELF file is refused, and never waited for") {
  const TemporaryFile file;
  CHECK_FALSE(ElfFile("/no/such/file"));
  CHECK_FALSE(ElfFile("/tmp"));
  CHECK_FALSE(ElfFile(file.holding("")));
  CHECK_FALSE(ElfFile(file.holding("\177ELF")));
  CHECK_FALSE(ElfFile(file.holding("!<arch>\n")));
  std::filesystem::remove(file.path());
  REQUIRE(::mkfifo(file.path().c_str(), 0600) == 0);
  CHECK_FALSE(ElfFile(file.path()));
  CHECK_FALSE(layer::is_library(file.path()));
}

TEST_CASE("damaged files end nothing, and leave nothing open") {
  const TemporaryFile file;
  const std::string good = contents(c_library());
  REQUIRE(good.size() > 5000);
  const std::ptrdiff_t before = open_descriptors();
  // Cut off.
  for (std::size_t size = 0; size < 4096; size += 61) {
    ask(file.holding(good.substr(0, size)), size);
  }
  // A short file of headers alone, of which any byte may be wrong.
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = good.substr(0, 4096);
    damaged.append(good, good.size() - 4096, 4096);
    const std::uint64_t sections = damaged.size() - 64 * (1 + random() % 40);
    damaged.replace(40, sizeof(sections), reinterpret_cast<const char*>(&sections), sizeof(sections));
    for (int byte = 0; byte < 4; ++byte) {
      const std::size_t place = random() % 2 == 0 ? random() % 64 : sections + random() % (damaged.size() - sections);
      damaged[place] = static_cast<char>(random());
    }
    ask(file.holding(damaged), damaged.size());
  }
  CHECK(open_descriptors() == before);
}

}  // namespace
}  // namespace refrain::env
