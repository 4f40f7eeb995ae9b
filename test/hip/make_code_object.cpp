// Makes a code object for the simulated device: an ELF file with the metadata that AMD's compilers write, of kernels
// that are host functions. Usage: make_code_object FILE FORM [SIDE_LIBRARIES…]
//
//   elf         the code object alone
//   bundle      in a bundle, beside an empty entry for the host
//   other       in a bundle with another one in which the kernels have other parameters
//   foreign     in a bundle that has code for another kind of device only
//   compressed  something that begins as compressed bundles do
//   variable    the code object with a variable, `calls`
//   unnamed     the same, with a second one that has no symbol
//   heap        kernels that use the device's heap
#include <dlfcn.h>
#include <elf.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "test/sim/core/contract_kernels.h"

namespace {

using nlohmann::json;

json metadata(std::span<const sim::Kernel> kernels, const std::string& form) {
  json all = json::array();
  for (const sim::Kernel& kernel : kernels) {
    json arguments = json::array();
    std::size_t end = 0;
    for (const sim::Parameter& parameter : kernel.parameters) {
      arguments.push_back({{".offset", parameter.offset},
                           {".size", parameter.size},
                           {".value_kind", parameter.address ? "global_buffer" : "by_value"}});
      end = parameter.offset + parameter.size;
    }
    end = (end + 7) / 8 * 8;
    if (form == "other") {
      arguments.push_back({{".offset", end}, {".size", 4}, {".value_kind", "by_value"}});
    }
    // What the runtime adds.
    for (const char* kind :
         {"hidden_global_offset_x", "hidden_global_offset_y", form == "heap" ? "hidden_heap_v1" : "hidden_none"}) {
      arguments.push_back({{".offset", end}, {".size", 8}, {".value_kind", kind}});
      end += 8;
    }
    all.push_back({{".name", kernel.name},
                   {".symbol", std::string(kernel.name) + ".kd"},
                   {".args", arguments},
                   {".kernarg_segment_size", end},
                   {".wavefront_size", 64}});
  }
  return {{"amdhsa.kernels", all}, {"amdhsa.target", "amdgcn-amd-amdhsa--gfx90a"}, {"amdhsa.version", {1, 2}}};
}

template <class T>
void append(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

/// Appends the sections of a code object with variables, and tells the file's header of them.
void append_variables(std::string& file, bool unnamed) {
  constexpr std::uint64_t kAddress = 0x4000;
  const std::string names("\0calls\0", 7);
  std::string symbols(sizeof(Elf64_Sym), '\0');
  append(symbols, Elf64_Sym{1, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), STV_PROTECTED, 3, kAddress, 4});
  Elf64_Shdr sections[4]{};
  file.resize((file.size() + 7) / 8 * 8);
  sections[1] = {0, SHT_DYNSYM, SHF_ALLOC, 0, file.size(), symbols.size(), 2, 1, 8, sizeof(Elf64_Sym)};
  file += symbols;
  sections[2] = {0, SHT_STRTAB, SHF_ALLOC, 0, file.size(), names.size(), 0, 0, 1, 0};
  file += names;
  sections[3] = {0, SHT_NOBITS, SHF_ALLOC | SHF_WRITE, kAddress, file.size(), unnamed ? 8U : 4U, 0, 0, 4, 0};
  file.resize((file.size() + 7) / 8 * 8);
  Elf64_Ehdr header{};
  std::memcpy(&header, file.data(), sizeof(header));
  header.e_shoff = file.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 4;
  std::memcpy(file.data(), &header, sizeof(header));
  for (const Elf64_Shdr& section : sections) {
    append(file, section);
  }
}

std::string code_object(std::span<const sim::Kernel> kernels, const std::string& form) {
  const std::vector<std::uint8_t> content = json::to_msgpack(metadata(kernels, form));
  std::string note;
  append(note, Elf64_Nhdr{7, static_cast<Elf64_Word>(content.size()), 32});
  note.append("AMDGPU\0\0", 8);
  note.append(content.begin(), content.end());
  note.resize((note.size() + 3) / 4 * 4);

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_ident[EI_OSABI] = 64;  // ELFOSABI_AMDGPU_HSA
  header.e_type = ET_DYN;
  header.e_machine = 224;  // EM_AMDGPU
  header.e_version = EV_CURRENT;
  header.e_phoff = sizeof(header);
  header.e_ehsize = sizeof(header);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  Elf64_Phdr segment{};
  segment.p_type = PT_NOTE;
  segment.p_offset = sizeof(header) + sizeof(segment);
  segment.p_filesz = segment.p_memsz = note.size();
  segment.p_align = 4;
  std::string file;
  append(file, header);
  append(file, segment);
  file += note;
  if (form == "variable" || form == "unnamed") {
    append_variables(file, form == "unnamed");
  }
  return file;
}

/// Of code objects, one for each kind of device from `first` on.
std::string bundle(const std::vector<std::string>& objects, std::size_t first = 0) {
  std::string text = "__CLANG_OFFLOAD_BUNDLE__";
  std::string names;
  append(text, std::uint64_t{objects.size() + 1});
  struct Entry {
    std::string name, object;
  };
  std::vector<Entry> entries{{"host-x86_64-unknown-linux--", ""}};
  const char* const devices[] = {"hipv4-amdgcn-amd-amdhsa--gfx90a", "hipv4-amdgcn-amd-amdhsa--gfx1100"};
  for (std::size_t i = 0; i < objects.size(); ++i) {
    entries.push_back({devices[first + i], objects[i]});
  }
  std::size_t begin = text.size();
  for (const Entry& entry : entries) {
    begin += 3 * sizeof(std::uint64_t) + entry.name.size();
  }
  std::string contents;
  for (const Entry& entry : entries) {
    append(text, std::uint64_t{begin + contents.size()});
    append(text, std::uint64_t{entry.object.size()});
    append(text, std::uint64_t{entry.name.size()});
    text += entry.name;
    contents += entry.object;
  }
  return text + contents;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s FILE FORM [SIDE_LIBRARIES]\n", argv[0]);
    return 2;
  }
  std::vector<sim::Kernel> kernels;
  for (int i = 3; i < argc; ++i) {
    void* library = dlopen(argv[i], RTLD_NOW);
    const auto* table =
        library == nullptr ? nullptr : static_cast<const sim::KernelTable*>(dlsym(library, "sim_kernels"));
    if (table == nullptr) {
      std::fprintf(stderr, "%s has no kernels: %s\n", argv[i], dlerror());
      return 1;
    }
    kernels.insert(kernels.end(), table->kernels.begin(), table->kernels.end());
  }
  if (argc == 3) {
    kernels.assign(sim::contract_kernels().begin(), sim::contract_kernels().end());
  }
  const std::string form = argv[2];
  std::string file;
  if (form == "bundle") {
    file = bundle({code_object(kernels, form)});
  } else if (form == "other") {
    file = bundle({code_object(kernels, "elf"), code_object(kernels, form)});
  } else if (form == "foreign") {
    file = bundle({code_object(kernels, form)}, 1);
  } else if (form == "compressed") {
    file = "CCOB" + bundle({code_object(kernels, form)});
  } else {
    file = code_object(kernels, form);
  }
  std::ofstream(argv[1], std::ios::binary) << file;
  return 0;
}
