#include "layer/own_bindings.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "layer/elf_symbols.h"

// Not every C library has it.
#pragma weak dl_iterate_phdr

namespace refrain::layer {
namespace {

/// What stays as the dynamic linker bound it; of a name that ends in '*' all that begin so.
constexpr const char* kLeft[] = {
    // What one allocator gave another cannot take back, and the C library itself calls them by name.
    "malloc", "calloc", "realloc", "free", "aligned_alloc", "posix_memalign",
    // Names of the language's, which no program may have for something else; how fast they are is the program's choice.
    "mem*", "str*", "wmem*", "wcs*",
    // Debuggers and profilers answer them.
    "dl*",
    // Tools and allocators count threads by them.
    "pthread_create", "pthread_join", "pthread_detach", "pthread_self", "pthread_once", "pthread_key_*",
    "__pthread_key_create", "pthread_getspecific", "pthread_setspecific",
    // A shell has variables of its own.
    "getenv", "secure_getenv", "setenv", "unsetenv",
    // Who watches for the end of the process.
    "abort", "_exit", "_Exit", "exit", "atexit", "__cxa_*"};

/// Whose functions are left where they took a name: a sanitizer's, which must see what it checks, and our exit hooks'.
constexpr const char* kTrusted[] = {"__sanitizer_print_stack_trace", "refrain_at_end"};
/// A sanitizer that is linked into the program statically shows nothing but the names that it takes. Whoever jumps out
/// of functions and starts threads in the C library's place does so for all who come by.
constexpr const char* kTakenBySanitizers[] = {"longjmp", "pthread_create"};

constexpr const char* kCLibrary[] = {"libc.so.6", "libpthread.so.0",      "libdl.so.2",           "librt.so.1",
                                     "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"};
constexpr std::size_t kMostLibraries = sizeof(kCLibrary) / sizeof(*kCLibrary);

#if defined(__x86_64__)
constexpr unsigned kCall = R_X86_64_JUMP_SLOT;
constexpr unsigned kEntry = R_X86_64_GLOB_DAT;
constexpr unsigned kAddress = R_X86_64_64;
#elif defined(__aarch64__)
constexpr unsigned kCall = R_AARCH64_JUMP_SLOT;
constexpr unsigned kEntry = R_AARCH64_GLOB_DAT;
constexpr unsigned kAddress = R_AARCH64_ABS64;
#else
constexpr unsigned kCall = 0, kEntry = 0, kAddress = 0;  // R_*_NONE: nothing is bound
#endif

bool matches(const char* pattern, const char* name) noexcept {
  while (*pattern != '\0' && *pattern != '*' && *pattern == *name) {
    ++pattern;
    ++name;
  }
  return *pattern == '*' || *pattern == *name;
}

template <std::size_t kCount>
bool matches_any(const char* const (&patterns)[kCount], const char* name) noexcept {
  for (const char* const pattern : patterns) {
    if (matches(pattern, name)) {
      return true;
    }
  }
  return false;
}

bool is_c_library(const dl_phdr_info& object) noexcept {
  const char* name = object.dlpi_name == nullptr ? "" : object.dlpi_name;
  for (const char* letter = name; *letter != '\0'; ++letter) {
    if (*letter == '/') {
      name = letter + 1;
    }
  }
  return matches_any(kCLibrary, name);
}

const ElfW(Phdr) * segment(const dl_phdr_info& object, unsigned type) noexcept {
  for (int index = 0; index < object.dlpi_phnum; ++index) {
    if (object.dlpi_phdr[index].p_type == type) {
      return &object.dlpi_phdr[index];
    }
  }
  return nullptr;
}

/// This library, and those that are the C library.
struct Process {
  dl_phdr_info own{};
  dl_phdr_info libraries[kMostLibraries]{};
  Extent code[kMostLibraries];
  std::size_t count = 0;

  void add(const dl_phdr_info& object) noexcept {
    const ElfW(Phdr)* const dynamic = segment(object, PT_DYNAMIC);
    if (dynamic != nullptr && object.dlpi_addr + dynamic->p_vaddr == reinterpret_cast<std::uintptr_t>(_DYNAMIC)) {
      own = object;
    } else if (count < kMostLibraries && is_c_library(object)) {
      libraries[count] = object;
      code[count++] = mapped(object).code;
    }
  }
  [[nodiscard]] bool is_code(std::uintptr_t place) const noexcept {
    for (std::size_t index = 0; index < count; ++index) {
      if (code[index].has(place, 1)) {
        return true;
      }
    }
    return false;
  }
  /// 0: it has no such function.
  [[nodiscard]] std::uintptr_t find(const char* name, const char* version) const noexcept {
    for (std::size_t index = 0; index < count; ++index) {
      const auto found = reinterpret_cast<std::uintptr_t>(DynamicSymbols(libraries[index]).find(name, version));
      if (code[index].has(found, 1)) {
        return found;
      }
    }
    return 0;
  }
  template <class Function>
  [[nodiscard]] Function* function(const char* name) const noexcept {
    return reinterpret_cast<Function*>(find(name, nullptr));
  }
};

/// Calls `visit` with each loaded object until it returns true.
template <class Visit>
bool visit_objects(Visit visit) noexcept {
  return dl_iterate_phdr([](dl_phdr_info* object, std::size_t,
                            void* data) { return (*static_cast<Visit*>(data))(*object) ? 1 : 0; },
                         &visit) != 0;
}

bool is_trusted(std::uintptr_t function) noexcept {
  return visit_objects([function](const dl_phdr_info& object) {
    if (!mapped(object).code.has(function, 1)) {
      return false;
    }
    const DynamicSymbols symbols(object);
    for (const char* const name : kTrusted) {
      if (symbols.find(name) != nullptr) {
        return true;
      }
    }
    bool takes_all = true;
    for (const char* const name : kTakenBySanitizers) {
      takes_all = takes_all && symbols.find(name) != nullptr;
    }
    return takes_all;
  });
}

/// What the linker wrote down of this library. Whoever reads it here was linked into it: it is right.
class OwnTables {
 public:
  explicit OwnTables(std::uintptr_t base) noexcept : base_(base) {
    for (const ElfW(Dyn)* entry = _DYNAMIC; entry->d_tag != DT_NULL; ++entry) {
      // glibc has made addresses of some that are offsets in the file.
      const std::uintptr_t given = entry->d_un.d_ptr;
      const std::uintptr_t place = given < base ? base + given : given;
      switch (entry->d_tag) {
        case DT_SYMTAB: symbols_ = reinterpret_cast<const ElfW(Sym)*>(place); break;
        case DT_STRTAB: strings_ = reinterpret_cast<const char*>(place); break;
        case DT_VERSYM: versions_ = reinterpret_cast<const std::uint16_t*>(place); break;
        case DT_VERNEED: needs_ = place; break;
        case DT_JMPREL: calls_.begin = place; break;
        case DT_PLTRELSZ: calls_.bytes = given; break;
        case DT_RELA: others_.begin = place; break;
        case DT_RELASZ: others_.bytes = given; break;
        case DT_RELACOUNT: without_symbol_ = given; break;
        default: break;
      }
    }
  }

  /// Calls `visit` with each place that has a function's or variable's address, how far behind it that is, and the
  /// symbol.
  template <class Visit>
  void visit_places(Visit visit) const noexcept {
    for (const Table* const table : {&calls_, &others_}) {
      const auto* const entries = reinterpret_cast<const ElfW(Rela)*>(table->begin);
      for (std::size_t index = table == &others_ ? without_symbol_ : 0; index < table->bytes / sizeof(*entries);
           ++index) {
        const ElfW(Rela)& entry = entries[index];
        const auto type = static_cast<unsigned>(ELF64_R_TYPE(entry.r_info));
        const auto symbol = static_cast<std::size_t>(ELF64_R_SYM(entry.r_info));
        if (symbols_ != nullptr && symbol != 0 && (type == kCall || type == kEntry || type == kAddress) &&
            symbols_[symbol].st_shndx == SHN_UNDEF) {
          visit(reinterpret_cast<std::uintptr_t*>(base_ + entry.r_offset),
                type == kAddress ? static_cast<std::uintptr_t>(entry.r_addend) : 0, symbol);
        }
      }
    }
  }
  [[nodiscard]] const char* name(std::size_t symbol) const noexcept { return strings_ + symbols_[symbol].st_name; }
  /// That it was linked with; null: it names none.
  [[nodiscard]] const char* version(std::size_t symbol) const noexcept {
    const unsigned number = versions_ == nullptr ? 0 : versions_[symbol] & 0x7fffU;
    for (std::uintptr_t place = number < 2 ? 0 : needs_; place != 0;) {
      const auto& file = *reinterpret_cast<const ElfW(Verneed)*>(place);
      std::uintptr_t at = place + file.vn_aux;
      for (unsigned left = file.vn_cnt; left > 0; --left) {
        const auto& needed = *reinterpret_cast<const ElfW(Vernaux)*>(at);
        if (needed.vna_other == number) {
          return strings_ + needed.vna_name;
        }
        at += needed.vna_next;
      }
      place = file.vn_next == 0 ? 0 : place + file.vn_next;
    }
    return nullptr;
  }

 private:
  struct Table {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;
  };
  std::uintptr_t base_;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* strings_ = nullptr;
  const std::uint16_t* versions_ = nullptr;
  std::uintptr_t needs_ = 0;
  Table calls_;
  Table others_;
  std::size_t without_symbol_ = 0;  ///< so many of the others come first that name none
};

/// What the dynamic linker made read-only once it had filled it. It stays writable: another thread may be here, too.
bool open_relocated(const Process& process) noexcept {
  const ElfW(Phdr)* const part = segment(process.own, PT_GNU_RELRO);
  if (part == nullptr) {
    return true;
  }
  auto* const protect = process.function<int(void*, std::size_t, int)>("mprotect");
  auto* const page_size = process.function<int()>("getpagesize");
  if (protect == nullptr || page_size == nullptr) {
    return false;
  }
  const std::uintptr_t mask = ~(static_cast<std::uintptr_t>(page_size()) - 1);
  const std::uintptr_t begin = (process.own.dlpi_addr + part->p_vaddr) & mask;
  const std::uintptr_t end = (process.own.dlpi_addr + part->p_vaddr + part->p_memsz) & mask;
  return begin == end || protect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE) == 0;
}

void bind(const Process& process) noexcept {
  const OwnTables tables(process.own.dlpi_addr);
  enum class Pages { kUntouched, kOpen, kClosed } pages = Pages::kUntouched;
  tables.visit_places([&](std::uintptr_t* place, std::uintptr_t behind, std::size_t symbol) {
    const std::uintptr_t bound = __atomic_load_n(place, __ATOMIC_RELAXED) - behind;
    if (bound == 0 || process.is_code(bound) || matches_any(kLeft, tables.name(symbol))) {
      return;
    }
    const std::uintptr_t wanted = process.find(tables.name(symbol), tables.version(symbol));
    if (wanted == 0 || wanted == bound || is_trusted(bound)) {
      return;
    }
    if (pages == Pages::kUntouched) {
      pages = open_relocated(process) ? Pages::kOpen : Pages::kClosed;
    }
    if (pages == Pages::kOpen) {
      __atomic_store_n(place, wanted + behind, __ATOMIC_RELAXED);
    }
  });
}

}  // namespace
}  // namespace refrain::layer

void refrain_own_bindings() noexcept {
  using namespace refrain::layer;
  if (&dl_iterate_phdr == nullptr) {
    return;
  }
  Process process;
  visit_objects([&process](const dl_phdr_info& object) {
    process.add(object);
    return false;
  });
  if (process.own.dlpi_phdr != nullptr) {
    bind(process);
  }
}
