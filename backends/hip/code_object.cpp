#include "backends/hip/code_object.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <vector>

#include "backends/elf_size.h"
#include "env/elf_reader.h"

namespace refrain::backends::hip {
namespace {

constexpr std::string_view kBundle = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressedBundle = "CCOB";
constexpr std::uint32_t kMetadataNote = 32;  // NT_AMDGPU_METADATA
constexpr std::size_t kMostBundled = 4096;
constexpr std::size_t kDeepest = 32;

/// Bytes of which `at` never reads beyond the end.
class Image {
 public:
  Image(const void* start, std::size_t size) noexcept : start_(static_cast<const std::byte*>(start)), size_(size) {}
  [[nodiscard]] bool has(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    return offset <= size_ && bytes <= size_ - offset;
  }
  bool read(std::uint64_t offset, void* into, std::size_t bytes) const noexcept {
    if (!has(offset, bytes)) {
      return false;
    }
    std::memcpy(into, start_ + offset, bytes);
    return true;
  }
  template <class T>
  bool read(std::uint64_t offset, T* value) const noexcept {
    return read(offset, value, sizeof(T));
  }
  [[nodiscard]] Image part(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    return has(offset, bytes) ? Image(start_ + offset, bytes) : Image(start_, 0);
  }
  [[nodiscard]] std::string_view text(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    return has(offset, bytes) ? std::string_view(reinterpret_cast<const char*>(start_ + offset), bytes)
                              : std::string_view();
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  const std::byte* start_;
  std::size_t size_;
};

/// Takes the kernels out of the metadata as they are parsed; nothing else of them is kept, and what is nested too deep
/// ends the parsing.
class MetadataReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit MetadataReader(ImageLayouts& result) noexcept : result_(result) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override {
    return value >= 0 && number_unsigned(static_cast<number_unsigned_t>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (in_argument()) {
      (key_ == ".offset" ? offset_ : key_ == ".size" ? size_ : ignored_) = value;
    }
    return true;
  }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t& value) override {
    if (in_argument() && key_ == ".value_kind") {
      hidden_ = value.starts_with("hidden_");
      prints_or_allocates_ = prints_or_allocates_ || value == "hidden_hostcall_buffer" ||
                             value == "hidden_printf_buffer" || value == "hidden_heap_v1";
    } else if (depth_ == kKernelDepth && key_ == ".name") {
      name_ = value;
    }
    return true;
  }
  bool binary(binary_t&) override { return true; }
  bool key(string_t& name) override {
    if (depth_ <= kArgumentDepth) {
      key_ = name;
    }
    if (depth_ == 1) {
      in_kernels_ = name == "amdhsa.kernels";
    } else if (depth_ == kKernelDepth) {
      in_arguments_ = in_kernels_ && name == ".args";
    }
    return true;
  }
  bool start_object(std::size_t) override {
    if (++depth_ == kKernelDepth && in_kernels_) {
      name_.clear();
      parameters_.clear();
      good_ = true;
      prints_or_allocates_ = false;
    } else if (in_argument()) {
      offset_ = size_ = kUnknown;
      hidden_ = false;
    }
    return depth_ < kDeepest;
  }
  bool end_object() override {
    if (in_argument() && !hidden_) {
      good_ = good_ && offset_ <= kLargestArguments && size_ <= kLargestArguments;
      parameters_.push_back({static_cast<std::uint32_t>(offset_), static_cast<std::uint32_t>(size_)});
    } else if (depth_ == kKernelDepth && in_kernels_ && good_ && !name_.empty()) {
      add();
    }
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override { return ++depth_ < kDeepest; }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  // The root, the list of kernels, a kernel, its list of arguments, an argument.
  static constexpr std::size_t kKernelDepth = 3;
  static constexpr std::size_t kArgumentDepth = 5;
  static constexpr std::uint64_t kLargestArguments = 1U << 20U;
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};

  [[nodiscard]] bool in_argument() const noexcept { return depth_ == kArgumentDepth && in_kernels_ && in_arguments_; }

  void add() {
    const auto [place, fresh] = result_.kernels.try_emplace(name_);
    place->second.prints_or_allocates = place->second.prints_or_allocates || prints_or_allocates_;
    if (fresh) {
      place->second.parameters = parameters_;
    } else if (place->second.parameters != parameters_) {
      place->second.differs = true;
    }
  }

  ImageLayouts& result_;
  std::size_t depth_ = 0;
  bool in_kernels_ = false, in_arguments_ = false, hidden_ = false, good_ = true;
  bool prints_or_allocates_ = false;
  std::string key_, name_;
  std::vector<KernelParameter> parameters_;
  std::uint64_t offset_ = kUnknown, size_ = kUnknown, ignored_ = 0;
};

void read_metadata(std::string_view note, ImageLayouts* result) {
  MetadataReader reader(*result);
  const auto* begin = reinterpret_cast<const std::uint8_t*>(note.data());
  static_cast<void>(
      nlohmann::json::sax_parse(begin, begin + note.size(), &reader, nlohmann::json::input_format_t::msgpack, false));
}

void read_notes(const Image& segment, ImageLayouts* result) {
  for (std::uint64_t at = 0;;) {
    Elf64_Nhdr header{};
    if (!segment.read(at, &header)) {
      return;
    }
    const std::uint64_t name = at + sizeof(header);
    const std::uint64_t content = name + (std::uint64_t{header.n_namesz} + 3) / 4 * 4;
    if (!segment.has(content, header.n_descsz)) {
      return;
    }
    if (header.n_type == kMetadataNote && segment.text(name, header.n_namesz).starts_with("AMDGPU")) {
      read_metadata(segment.text(content, header.n_descsz), result);
    }
    at = content + (std::uint64_t{header.n_descsz} + 3) / 4 * 4;
  }
}

/// The symbols of a code object, as far as they are variables in sections that can be written.
class Variables {
 public:
  explicit Variables(const Image& image) : image_(image), file_(image) {}

  void read_into(ImageLayouts* result) {
    env::ElfReader<Image>::Table table;
    if (!file_.sections(&table) || table.count > image_.size() / sizeof(Elf64_Shdr)) {
      result->has_unnamed = true;
      return;
    }
    std::vector<Elf64_Shdr> sections(table.count);
    for (std::uint64_t i = 0; i < table.count; ++i) {
      result->has_unnamed = !file_.header_at(table, i, &sections[i]) || result->has_unnamed;
    }
    for (const Elf64_Shdr& section : sections) {
      if (section.sh_type == SHT_DYNSYM && section.sh_link < table.count) {
        read_symbols(section, sections[section.sh_link], sections, result);
      }
    }
    for (std::uint64_t i = 0; i < table.count; ++i) {
      result->has_unnamed = result->has_unnamed || (holds_variables(sections[i]) && !is_covered(sections[i]));
    }
  }

 private:
  struct Place {
    std::uint64_t start = 0, end = 0;
    bool operator<(const Place& other) const noexcept { return start < other.start; }
  };
  static bool holds_variables(const Elf64_Shdr& section) noexcept {
    return (section.sh_flags & SHF_ALLOC) != 0 && (section.sh_flags & SHF_WRITE) != 0 &&
           (section.sh_type == SHT_PROGBITS || section.sh_type == SHT_NOBITS);
  }
  void read_symbols(const Elf64_Shdr& symbols, const Elf64_Shdr& names, const std::vector<Elf64_Shdr>& sections,
                    ImageLayouts* result) {
    const Image all = image_.part(symbols.sh_offset, symbols.sh_size);
    Elf64_Sym symbol{};
    for (std::uint64_t at = 0; at < symbols.sh_size && all.read(at, &symbol); at += sizeof(symbol)) {
      if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx >= sections.size() ||
          !holds_variables(sections[symbol.st_shndx])) {
        continue;
      }
      const Image text = image_.part(names.sh_offset, names.sh_size);
      const std::string_view rest =
          symbol.st_name < text.size() ? text.text(symbol.st_name, text.size() - symbol.st_name) : std::string_view();
      result->variables.emplace(rest.substr(0, rest.find('\0')));
      places_.insert({symbol.st_value, symbol.st_value + symbol.st_size});
    }
  }
  /// But for what lies between variables for the sake of their alignment.
  [[nodiscard]] bool is_covered(const Elf64_Shdr& section) const {
    std::uint64_t end = section.sh_addr;
    const std::uint64_t padding = std::max<std::uint64_t>(section.sh_addralign, 1);
    for (const Place& place : places_) {
      if (place.start >= section.sh_addr && place.start < section.sh_addr + section.sh_size) {
        if (place.start >= end + padding) {
          return false;
        }
        end = std::max(end, place.end);
      }
    }
    return section.sh_addr + section.sh_size < end + padding;
  }

  const Image image_;
  env::ElfReader<Image> file_;
  std::multiset<Place> places_;
};

/// False if it is none.
bool read_code_object(const Image& image, ImageLayouts* result) {
  env::ElfReader<Image> file(image);
  env::ElfReader<Image>::Table segments;
  if (!file || !file.segments(&segments)) {
    return false;
  }
  for (std::uint64_t index = 0; index < segments.count; ++index) {
    Elf64_Phdr segment{};
    if (!file.header_at(segments, index, &segment)) {
      return false;
    }
    if (segment.p_type == PT_NOTE) {
      read_notes(image.part(segment.p_offset, segment.p_filesz), result);
    } else if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) != 0 && file.header().e_shoff == 0) {
      result->has_unnamed = true;  // nothing tells what is there
    }
  }
  Variables(image).read_into(result);
  return true;
}

/// Calls `visit(begin, bytes, is_code)` for each entry of a bundle until it returns false: some for devices, and one
/// for the host, which is always there, and empty. Where the headers end; 0: they are damaged, or `visit` returned
/// false.
template <class Visit>
std::uint64_t visit_bundle(const Image& image, Visit&& visit) {
  std::uint64_t count = 0;
  if (!image.read(kBundle.size(), &count) || count > kMostBundled) {
    return 0;
  }
  struct Entry {
    std::uint64_t offset, bytes, name_bytes;
  };
  std::uint64_t at = kBundle.size() + sizeof(count);
  for (std::uint64_t index = 0; index < count; ++index) {
    Entry entry{};
    if (!image.read(at, &entry)) {
      return 0;
    }
    at += sizeof(entry);
    if (!image.has(at, entry.name_bytes) ||
        !visit(entry.offset, entry.bytes, entry.bytes != 0 && image.text(at, entry.name_bytes).starts_with("hip"))) {
      return 0;
    }
    at += entry.name_bytes;
  }
  return at;
}

bool read_bundle(const Image& image, ImageLayouts* result) {
  return visit_bundle(image, [&](std::uint64_t offset, std::uint64_t bytes, bool is_code) {
           if (is_code) {
             read_code_object(image.part(offset, bytes), result);
           }
           return true;
         }) != 0;
}

}  // namespace

ImageLayouts read_layouts(const void* start, std::size_t limit) {
  ImageLayouts result;
  const Image image(start, limit);
  if (image.text(0, kCompressedBundle.size()) == kCompressedBundle) {
    result.why_not = "its code is in a compressed bundle, which is not read";
  } else if (image.text(0, kBundle.size()) == kBundle) {
    if (!read_bundle(image, &result)) {
      result.why_not = "its bundle of code objects is damaged";
    }
  } else if (!read_code_object(image, &result)) {
    result.why_not = "its code is in a form that is not known";
  }
  return result;
}

std::span<const std::byte> image_at(const void* start, std::size_t limit) noexcept {
  const std::span<const std::byte> all(static_cast<const std::byte*>(start), limit);
  const Image image(start, limit);
  if (image.text(0, kBundle.size()) != kBundle) {
    return all.first(elf_size(all));
  }
  std::uint64_t end = 0;
  const std::uint64_t headers = visit_bundle(image, [&](std::uint64_t offset, std::uint64_t bytes, bool is_code) {
    if (!image.has(offset, bytes) || (is_code && elf_size(all.subspan(offset, bytes)) == 0)) {
      return false;
    }
    end = std::max(end, offset + bytes);
    return true;
  });
  return all.first(headers == 0 ? 0 : std::max(headers, end));
}

}  // namespace refrain::backends::hip
