#include "backends/cuda/page_hash.h"

#include <array>

namespace refrain::backends {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::uint64_t kMostBlocks = (std::uint64_t{1} << 31U) - 1;

static_assert(AddressedMemory::kPage == 65536 && sizeof(MemoryPiece) == 32, "as the code below has it");

// x = mixed(x, place): x ^= place * 0x9e3779b97f4a7c15; x *= 0xbf58476d1ce4e5b9; x ^= x >> 29; x *= 0x94d049bb133111eb;
// x ^= x >> 32
#define MIX(x, place)       \
  "mul.lo.u64 %y, " place   \
  ", 0x9e3779b97f4a7c15;\n" \
  "xor.b64 " x ", " x       \
  ", %y;\n"                 \
  "mul.lo.u64 " x ", " x    \
  ", 0xbf58476d1ce4e5b9;\n" \
  "shr.u64 %y, " x          \
  ", 29;\n"                 \
  "xor.b64 " x ", " x       \
  ", %y;\n"                 \
  "mul.lo.u64 " x ", " x    \
  ", 0x94d049bb133111eb;\n" \
  "shr.u64 %y, " x          \
  ", 32;\n"                 \
  "xor.b64 " x ", " x       \
  ", %y;\n"                 \
  "add.u64 %sum, %sum, " x ";\n"
// Two words that begin `offset` bytes behind %at.
#define READ(a, b, offset) "ld.global.v2.u64 {" a ", " b "}, [%at+" offset "];\n"
#define WRITE(a, b, offset) "@%copy st.global.v2.u64 [%into+" offset "], {" a ", " b "};\n"
#define MIX_TWO(a, b, offset) \
  "add.u64 %place, %i, " offset ";\n" MIX(a, "%place") "add.u64 %place, %place, 1;\n" MIX(b, "%place")

/// For every driver and device there is: an old version, which drivers translate. Block p reads page p, of the piece
/// whose first page is the last that is not behind it; four times two words at a time where both addresses are
/// multiples of 16, else bytes, whose places are their own plus 2^32.
constexpr char kCode[] = R"(
.version 6.0
.target sm_50
.address_size 64

.visible .entry refrain_pages(.param .u64 p_table, .param .u64 p_pieces, .param .u64 p_numbers)
{
  .reg .pred %p, %q, %copy;
  .reg .b32 %page, %thread, %low, %high, %other_low, %other_high;
  .reg .b64 %table, %pieces, %numbers, %first, %last, %middle, %entry, %of, %from, %to, %bytes, %offset;
  .reg .b64 %at, %into, %i, %end, %step, %place, %sum, %y, %wide;
  .reg .b64 %a, %b, %c, %d, %e, %f, %g, %h;
  ld.param.u64 %table, [p_table];
  ld.param.u64 %pieces, [p_pieces];
  ld.param.u64 %numbers, [p_numbers];
  cvta.to.global.u64 %table, %table;
  mov.u32 %page, %ctaid.x;
  mov.u32 %thread, %tid.x;
  cvt.u64.u32 %wide, %page;
  mov.u64 %first, 0;
  mov.u64 %last, %pieces;
SEARCH:
  sub.u64 %y, %last, %first;
  setp.le.u64 %p, %y, 1;
  @%p bra FOUND;
  add.u64 %middle, %first, %last;
  shr.u64 %middle, %middle, 1;
  shl.b64 %entry, %middle, 5;
  add.u64 %entry, %entry, %table;
  ld.global.u64 %of, [%entry+24];
  setp.le.u64 %p, %of, %wide;
  selp.b64 %first, %middle, %first, %p;
  selp.b64 %last, %last, %middle, %p;
  bra SEARCH;
FOUND:
  shl.b64 %entry, %first, 5;
  add.u64 %entry, %entry, %table;
  ld.global.u64 %from, [%entry];
  ld.global.u64 %to, [%entry+8];
  ld.global.u64 %bytes, [%entry+16];
  ld.global.u64 %of, [%entry+24];
  sub.u64 %offset, %wide, %of;
  shl.b64 %offset, %offset, 16;
  sub.u64 %bytes, %bytes, %offset;
  min.u64 %bytes, %bytes, 65536;
  setp.ne.u64 %copy, %to, 0;
  add.u64 %from, %from, %offset;
  add.u64 %to, %to, %offset;
  selp.b64 %to, %to, 0, %copy;
  cvta.to.global.u64 %from, %from;
  cvta.to.global.u64 %into, %to;
  cvt.u64.u32 %wide, %thread;
  mov.u64 %sum, 0;
  // Whole words, two for each thread at a time; %i counts words.
  shl.b64 %i, %wide, 1;
  mov.u64 %end, 0;
  or.b64 %y, %from, %into;
  and.b64 %y, %y, 15;
  setp.ne.u64 %p, %y, 0;
  @%p bra REST;
  shr.u64 %end, %bytes, 4;
  shl.b64 %end, %end, 1;
EIGHT:
  add.u64 %y, %i, 1536;
  setp.ge.u64 %p, %y, %end;
  @%p bra TWO;
  shl.b64 %y, %i, 3;
  add.u64 %at, %from, %y;
  add.u64 %into, %to, %y;
)" READ("%a", "%b", "0") READ("%c", "%d", "4096") READ("%e", "%f", "8192") READ("%g", "%h", "12288")
    WRITE("%a", "%b", "0") WRITE("%c", "%d", "4096") WRITE("%e", "%f", "8192") WRITE("%g", "%h", "12288")
        MIX_TWO("%a", "%b", "0") MIX_TWO("%c", "%d", "512") MIX_TWO("%e", "%f", "1024") MIX_TWO("%g", "%h", "1536") R"(
  add.u64 %i, %i, 2048;
  bra EIGHT;
TWO:
  setp.ge.u64 %p, %i, %end;
  @%p bra REST;
  shl.b64 %y, %i, 3;
  add.u64 %at, %from, %y;
  add.u64 %into, %to, %y;
)" READ("%a", "%b", "0") WRITE("%a", "%b", "0") MIX_TWO("%a", "%b", "0") R"(
  add.u64 %i, %i, 512;
  bra TWO;
REST:
  shl.b64 %i, %end, 3;
  add.u64 %i, %i, %wide;
BYTES:
  setp.ge.u64 %p, %i, %bytes;
  @%p bra DONE;
  add.u64 %at, %from, %i;
  add.u64 %into, %to, %i;
  ld.global.u8 %a, [%at];
  @%copy st.global.u8 [%into], %a;
  add.u64 %place, %i, 4294967296;
)" MIX("%a", "%place") R"(
  add.u64 %i, %i, 256;
  bra BYTES;
DONE:
  setp.eq.u64 %p, %numbers, 0;
  @%p bra END;
  // The sum of the 32 threads of a warp, so that few add to the same number.
  mov.u32 %low, 16;
WARP:
  mov.b64 {%other_low, %other_high}, %sum;
  shfl.sync.bfly.b32 %other_low, %other_low, %low, 31, 0xffffffff;
  shfl.sync.bfly.b32 %other_high, %other_high, %low, 31, 0xffffffff;
  mov.b64 %y, {%other_low, %other_high};
  add.u64 %sum, %sum, %y;
  shr.u32 %low, %low, 1;
  setp.ne.u32 %p, %low, 0;
  @%p bra WARP;
  and.b32 %high, %thread, 31;
  setp.ne.u32 %p, %high, 0;
  @%p bra END;
  cvta.to.global.u64 %numbers, %numbers;
  cvt.u64.u32 %wide, %page;
  shl.b64 %wide, %wide, 3;
  add.u64 %numbers, %numbers, %wide;
  red.global.add.u64 [%numbers], %sum;
END:
  ret;
}
)";

}  // namespace

CUresult CudaPageHash::load(const CudaDriver& driver) noexcept {
  if (driver.cuModuleLoadData == nullptr || driver.cuModuleGetFunction == nullptr || driver.cuModuleUnload == nullptr ||
      driver.cuMemAlloc_v2 == nullptr || driver.cuMemFree_v2 == nullptr) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  CUmodule module = nullptr;
  CUresult status = driver.cuModuleLoadData(&module, kCode);
  if (status == CUDA_SUCCESS) {
    status = driver.cuModuleGetFunction(&kernel_, module, "refrain_pages");
  }
  if (status != CUDA_SUCCESS && module != nullptr) {
    static_cast<void>(driver.cuModuleUnload(module));
  }
  return status;
}

CUresult CudaPageHash::run(const CudaDriver& driver, std::uint64_t table, std::uint64_t pieces, std::uint64_t pages,
                           std::uint64_t numbers, CUstream stream) const noexcept {
  if (pages > kMostBlocks) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::array<void*, 3> parameters = {&table, &pieces, &numbers};
  return driver.cuLaunchKernel(kernel_, static_cast<unsigned>(pages), 1, 1, kThreads, 1, 1, 0, stream,
                               parameters.data(), nullptr);
}

}  // namespace refrain::backends
