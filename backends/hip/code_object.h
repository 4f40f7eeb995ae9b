// The parameters of kernels, and what memory they have besides, from what AMD's compilers put into code objects.
//
// A program's image is one code object (an ELF file) or a bundle of them, one for each kind of device. The metadata are
// a note of the ELF file, a map in MessagePack: "amdhsa.kernels", of which ".args" have ".offset", ".size" and
// ".value_kind" (https://llvm.org/docs/AMDGPUUsage.html). Variables are the symbols of sections that can be written.
// Read without a library for ELF, see env/elf_reader.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace refrain::backends::hip {

struct KernelParameter {
  std::uint32_t offset = 0, size = 0;  ///< bytes, in the block of arguments
  bool operator==(const KernelParameter&) const = default;
};

struct KernelLayout {
  std::vector<KernelParameter> parameters;  ///< those the program gives, not those that the runtime adds
  bool differs = false;                     ///< between the devices that the image has code for
  bool prints_or_allocates = false;         ///< it has what that needs
};

struct ImageLayouts {
  std::map<std::string, KernelLayout, std::less<>> kernels;  ///< by name
  /// Why nothing is known, with static lifetime; empty: it is.
  const char* why_not = "";
  std::set<std::string> variables;  ///< that kernels may write
  bool has_unnamed = false;         ///< there are variables that nobody can ask for
};

/// The kernels of the image at `start`, as hipModuleLoadData() takes it. Reads no further than the image's own headers
/// say, and never beyond `limit` bytes. Give it only what the runtime has accepted, or bytes of a known size: what
/// contradicts itself has no kernels. May throw std::bad_alloc.
[[nodiscard]] ImageLayouts read_layouts(const void* start, std::size_t limit);

/// The image that begins at `start`, as large as its own headers say; reads no further than they do, and never beyond
/// `limit` bytes. Empty if it is none that read_layouts() reads, or if it is not all there: the runtime believes what
/// an image says of its own size.
[[nodiscard]] std::span<const std::byte> image_at(const void* start, std::size_t limit) noexcept;

/// Larger images are not looked at.
inline constexpr std::size_t kLargestImage = std::size_t{2} << 30U;

/// What __hipRegisterFatBinary() is given.
struct FatBinaryWrapper {
  std::uint32_t magic = 0;
  std::uint32_t version = 0;
  const void* binary = nullptr;
  void* unused = nullptr;
};
inline constexpr std::uint32_t kFatBinaryMagic = 0x48495046;  // "HIPF"

}  // namespace refrain::backends::hip
