#include "backends/cuda/code_contents.h"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "env/elf_source.h"

namespace refrain::backends {
namespace {

using Bytes = std::span<const std::byte>;

constexpr const char* kContradiction = "a code image of the program is not as CUDA's tools make them";
constexpr const char* kPacked = "a code image of the program is packed in a way that is not known here";
constexpr const char* kOtherDevice = "a code image of the program has nothing for its devices";

using env::MemorySource;

/// What functions call to print, or to use the device's heap: memory that has no name.
bool prints_or_allocates(std::string_view function) noexcept {
  return function == "malloc" || function == "free" || function == "vprintf";
}

/// A cubin: ELF, whose symbols name the variables and whose call graph tells who calls whom.
class Cubin {
 public:
  explicit Cubin(Bytes image) : image_(image), file_(MemorySource{image}) {}

  /// Adds to `contents`.
  void read_into(CodeContents* contents) {
    if (!file_ || !read_sections() || !read_symbols()) {
      contents->unknown = kContradiction;
      return;
    }
    for (const Symbol& symbol : symbols_) {
      // Compilers put literals, which nobody writes, beside variables.
      if (symbol.is_variable && !symbol.name.starts_with('$')) {
        contents->variables.emplace_back(symbol.name);
      }
    }
    if (!read_calls(contents)) {
      contents->unknown = kContradiction;
    }
  }

 private:
  struct Section {
    Elf64_Shdr header;
    std::string_view name;
  };
  struct Symbol {
    std::string_view name;
    bool is_variable = false;
    bool prints_or_allocates = false;  ///< or calls what does
  };

  bool read_sections() {
    env::ElfReader<MemorySource>::Table table;
    Elf64_Shdr names;
    if (!file_.sections(&table) || table.count > image_.size() / sizeof(Elf64_Shdr) ||
        !file_.header_at(table, file_.header().e_shstrndx, &names)) {
      return false;
    }
    for (std::uint64_t i = 0; i < table.count; ++i) {
      Section section{};
      if (!file_.header_at(table, i, &section.header)) {
        return false;
      }
      section.name = text_at(names, section.header.sh_name);
      sections_.push_back(section);
    }
    return true;
  }

  bool read_symbols() {
    const Section* table = find(SHT_SYMTAB, ".symtab");
    if (table == nullptr || table->header.sh_link >= sections_.size()) {
      return false;
    }
    const Elf64_Shdr& names = sections_[table->header.sh_link].header;
    const Bytes all = contents_of(table->header);
    for (std::uint64_t place = 0; place + sizeof(Elf64_Sym) <= all.size(); place += sizeof(Elf64_Sym)) {
      Elf64_Sym found;
      static_cast<void>(MemorySource{all}.read(place, &found));
      if (found.st_shndx == SHN_XINDEX) {
        return false;
      }
      Symbol symbol{.name = text_at(names, found.st_name)};
      symbol.is_variable = ELF64_ST_TYPE(found.st_info) != STT_SECTION && found.st_size != 0 &&
                           found.st_shndx < sections_.size() &&
                           sections_[found.st_shndx].name.starts_with(".nv.global");
      symbol.prints_or_allocates = found.st_shndx == SHN_UNDEF && prints_or_allocates(symbol.name);
      symbols_.push_back(symbol);
    }
    return true;
  }

  /// Pairs of symbols: who calls whom; then, after others whose first is 0 and whose second tells which kind follows,
  /// functions and their types, and who calls what has a type.
  bool read_calls(CodeContents* contents) {
    if (std::ranges::none_of(symbols_, &Symbol::prints_or_allocates)) {
      return true;
    }
    const Section* table = find(std::nullopt, ".nv.callgraph");
    if (table == nullptr) {
      return false;
    }
    constexpr std::uint32_t kLastMarker = 0xffffff00;
    constexpr std::uint32_t kTyped = 0xfffffffe;
    struct Call {
      std::uint32_t caller = 0;
      std::uint32_t callee = 0;
      bool by_type = false;  ///< the callee's number is that of a type
    };
    std::vector<Call> calls;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> types;  // of functions
    const Bytes all = contents_of(table->header);
    std::uint32_t kind = 0;
    for (std::uint64_t place = 0; place + 8 <= all.size(); place += 8) {
      std::uint32_t first = 0;
      std::uint32_t second = 0;
      static_cast<void>(MemorySource{all}.read(place, &first));
      static_cast<void>(MemorySource{all}.read(place + 4, &second));
      if (second >= kLastMarker) {
        kind = second;
      } else if (kind == kTyped) {
        types.emplace_back(first, second);
      } else {
        calls.push_back({first, second, kind == kTyped - 1});
      }
    }
    const auto prints_or_allocates = [&](std::uint32_t symbol) {
      return symbol < symbols_.size() && symbols_[symbol].prints_or_allocates;
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (const Call& call : calls) {
        const bool callee_does =
            call.by_type ? std::ranges::any_of(types,
                                               [&](const auto& type) {
                                                 return type.second == call.callee && prints_or_allocates(type.first);
                                               })
                         : prints_or_allocates(call.callee);
        if (callee_does && call.caller < symbols_.size() && !symbols_[call.caller].prints_or_allocates) {
          symbols_[call.caller].prints_or_allocates = changed = true;
        }
      }
    }
    for (const Symbol& symbol : symbols_) {
      if (symbol.prints_or_allocates) {
        contents->printing_or_allocating.emplace_back(symbol.name);
      }
    }
    return true;
  }

  [[nodiscard]] const Section* find(std::optional<std::uint32_t> type, std::string_view name) const {
    const auto found = std::ranges::find_if(sections_, [&](const Section& section) {
      return section.name == name && (!type || section.header.sh_type == *type);
    });
    return found == sections_.end() ? nullptr : &*found;
  }
  [[nodiscard]] Bytes contents_of(const Elf64_Shdr& section) const noexcept {
    if (section.sh_type == SHT_NOBITS || section.sh_offset > image_.size() ||
        section.sh_size > image_.size() - section.sh_offset) {
      return {};
    }
    return image_.subspan(section.sh_offset, section.sh_size);
  }
  [[nodiscard]] std::string_view text_at(const Elf64_Shdr& section, std::uint64_t offset) const noexcept {
    const Bytes all = contents_of(section);
    return env::text_at({reinterpret_cast<const char*>(all.data()), all.size()}, offset);
  }

  const Bytes image_;
  env::ElfReader<MemorySource> file_;
  std::vector<Section> sections_;
  std::vector<Symbol> symbols_;
};

/// PTX: module variables are what `.global` begins. Who calls what is not looked at: if anybody in the image
/// prints or allocates, all its kernels count.
class Ptx {
 public:
  explicit Ptx(std::string_view text) : text_(text) {}

  void read_into(CodeContents* contents) {
    std::string_view previous;
    bool any_does = false;
    std::vector<std::string> kernels;
    for (std::string_view word = next(); !word.empty(); previous = word, word = next()) {
      // A pointer's parameter says `.ptr .global`; an instruction's `.global` is part of its word.
      if (word == ".global" && previous != ".ptr") {
        read_variables(contents);
      } else if (word == ".entry") {
        word = next();
        kernels.emplace_back(word);
      }
      any_does = any_does || prints_or_allocates(word);
    }
    if (any_does) {
      contents->printing_or_allocating.insert(contents->printing_or_allocating.end(), kernels.begin(), kernels.end());
    }
  }

 private:
  /// Names up to the semicolon: `.align 4 .v2 .f32 name[8] = {...}, other;`.
  void read_variables(CodeContents* contents) {
    bool named = false;
    int depth = 0;
    for (std::string_view word = next(); !word.empty() && word != ";"; word = next()) {
      if (word == "(" || word == "{" || word == "[") {
        ++depth;
      } else if (word == ")" || word == "}" || word == "]") {
        --depth;
      } else if (word == "," && depth == 0) {
        named = false;
      } else if (depth == 0 && !named && word[0] != '.' && std::isdigit(static_cast<unsigned char>(word[0])) == 0) {
        named = true;
        if (word[0] != '$') {
          contents->variables.emplace_back(word);
        }
      }
    }
  }

  /// The next name, number or sign, without comments; empty at the end.
  std::string_view next() {
    const auto is_part = [](char letter) {
      return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '$' || letter == '.' ||
             letter == '%';
    };
    for (;;) {
      while (!text_.empty() && std::isspace(static_cast<unsigned char>(text_[0])) != 0) {
        text_.remove_prefix(1);
      }
      if (text_.starts_with("//")) {
        text_.remove_prefix(std::min(text_.find('\n'), text_.size()));
      } else if (text_.starts_with("/*")) {
        text_.remove_prefix(std::min(text_.find("*/") + 2, text_.size()));
      } else {
        break;
      }
    }
    std::size_t size = 0;
    if (text_.starts_with('"')) {
      size = std::min(text_.find('"', 1), text_.size() - 1) + 1;
    } else {
      while (size < text_.size() && is_part(text_[size])) {
        ++size;
      }
      size = std::max<std::size_t>(size, text_.empty() ? 0 : 1);
    }
    const std::string_view word = text_.substr(0, size);
    text_.remove_prefix(size);
    return word;
  }

  std::string_view text_;
};

/// In front of each image of a fat binary.
struct FatEntry {
  std::uint16_t kind;
  std::uint16_t version;
  std::uint32_t header_size;
  std::uint64_t size;         ///< of what follows the header
  std::uint32_t packed_size;  ///< without what fills it up
  std::uint32_t reserved;
  std::uint16_t minor, major;  ///< of the image's own format
  std::uint32_t architecture;  ///< such as 90
  std::uint64_t name;
  std::uint64_t flags;
  std::uint64_t reserved_too;
  std::uint64_t unpacked_size;
};
static_assert(sizeof(FatEntry) == 64);
constexpr std::uint16_t kPtx = 1;
constexpr std::uint16_t kCubin = 2;
constexpr std::uint64_t kPackedLz4 = 0x2000;
constexpr std::uint64_t kPackedZstd = 0x8000;
/// Of the header in front of all entries, which has its own size at kHeaderSizeAt.
constexpr std::uint64_t kHeaderSizeAt = 6;

void read_cubin(Bytes image, CodeContents* contents) {
  Cubin(image).read_into(contents);
}
void read_ptx(Bytes image, CodeContents* contents) {
  const auto* text = reinterpret_cast<const char*>(image.data());
  Ptx({text, ::strnlen(text, image.size())}).read_into(contents);
}

/// Null: done.
const char* read_entry(const FatEntry& entry, Bytes payload, CodeContents* contents) {
  std::vector<std::byte> unpacked;
  const bool lz4 = (entry.flags & kPackedLz4) != 0;
  if (lz4 || (entry.flags & kPackedZstd) != 0) {
    if (entry.packed_size > payload.size() || entry.unpacked_size >= kLargestImage) {
      return kContradiction;
    }
    unpacked.resize(entry.unpacked_size);
    const std::uint64_t size =
        lz4 ? static_cast<std::uint64_t>(LZ4_decompress_safe(
                  reinterpret_cast<const char*>(payload.data()), reinterpret_cast<char*>(unpacked.data()),
                  static_cast<int>(entry.packed_size), static_cast<int>(unpacked.size())))
            : ZSTD_decompress(unpacked.data(), unpacked.size(), payload.data(), entry.packed_size);
    if (size != unpacked.size()) {
      return kPacked;
    }
    payload = unpacked;
  }
  (entry.kind == kCubin ? read_cubin : read_ptx)(payload, contents);
  return nullptr;
}

/// All entries of one kind, for these devices. False: there is none.
bool read_entries(Bytes image, std::uint16_t kind, std::span<const int> majors, CodeContents* contents) {
  std::uint16_t header_size = 0;
  bool any = false;
  FatEntry entry;
  if (!MemorySource{image}.read(kHeaderSizeAt, &header_size)) {
    contents->unknown = kContradiction;
    return true;
  }
  for (std::uint64_t place = header_size; MemorySource{image}.read(place, &entry);) {
    const std::uint64_t rest = image.size() - place;
    if (entry.header_size < sizeof(entry) || entry.header_size > rest || entry.size > rest - entry.header_size) {
      contents->unknown = kContradiction;
      return true;
    }
    const int major = static_cast<int>(entry.architecture / 10);
    if (entry.kind == kind && (kind == kPtx || std::ranges::find(majors, major) != majors.end())) {
      any = true;
      if (const char* why = read_entry(entry, image.subspan(place + entry.header_size, entry.size), contents);
          why != nullptr) {
        contents->unknown = why;
      }
    }
    place += entry.header_size + entry.size;
  }
  return any;
}

void sort_once(std::vector<std::string>* names) {
  std::ranges::sort(*names);
  names->erase(std::unique(names->begin(), names->end()), names->end());
}

}  // namespace

CodeContents contents_of(const CodeImage& image, std::span<const int> majors) {
  CodeContents contents;
  if (image.bytes.empty()) {
    contents.unknown = kContradiction;
  } else if (image.kind == capture::CodeKind::kIntermediate) {
    read_ptx(image.bytes, &contents);
  } else if (image.bytes.size() > SELFMAG && std::memcmp(image.bytes.data(), ELFMAG, SELFMAG) == 0) {
    read_cubin(image.bytes, &contents);
  } else if (!read_entries(image.bytes, kCubin, majors, &contents) &&
             !read_entries(image.bytes, kPtx, majors, &contents)) {
    contents.unknown = kOtherDevice;
  }
  sort_once(&contents.variables);
  sort_once(&contents.printing_or_allocating);
  return contents;
}

}  // namespace refrain::backends
