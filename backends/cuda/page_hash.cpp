#include "backends/cuda/page_hash.h"

#include <algorithm>
#include <array>

#include "backends/addressed_memory.h"

namespace refrain::backends {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::uint64_t kWords = AddressedMemory::kPage / sizeof(std::uint64_t);
constexpr std::uint64_t kMostBlocks = (std::uint64_t{1} << 31U) - 1;

/// For every driver and device there is: an old version, which drivers translate.
///   mix(value, place): x = value ^ place * 0x9e3779b97f4a7c15; x *= 0xbf58476d1ce4e5b9; x ^= x >> 29;
///                      x *= 0x94d049bb133111eb; x ^= x >> 32
/// refrain_page_words: block b adds up words b * 8192 … of the page, thread t those at t, t + 256, …
/// refrain_page_bytes: the same with bytes, whose places are their own plus 2^32; blocks share one page.
constexpr char kCode[] = R"(
.version 6.0
.target sm_50
.address_size 64

.visible .entry refrain_page_words(.param .u64 p_start, .param .u64 p_words, .param .u64 p_sums)
{
  .reg .pred %p<2>;
  .reg .b32 %r<3>;
  .reg .b64 %start, %words, %sums, %page, %first, %left, %i, %sum, %at, %x, %y;
  ld.param.u64 %start, [p_start];
  ld.param.u64 %words, [p_words];
  ld.param.u64 %sums, [p_sums];
  cvta.to.global.u64 %start, %start;
  cvta.to.global.u64 %sums, %sums;
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %tid.x;
  cvt.u64.u32 %page, %r0;
  cvt.u64.u32 %i, %r1;
  shl.b64 %first, %page, 13;
  sub.u64 %left, %words, %first;
  min.u64 %left, %left, 8192;
  add.u64 %at, %first, %i;
  shl.b64 %at, %at, 3;
  add.u64 %at, %at, %start;
  mov.u64 %sum, 0;
LOOP:
  setp.ge.u64 %p0, %i, %left;
  @%p0 bra DONE;
  ld.global.u64 %x, [%at];
  mul.lo.u64 %y, %i, 0x9e3779b97f4a7c15;
  xor.b64 %x, %x, %y;
  mul.lo.u64 %x, %x, 0xbf58476d1ce4e5b9;
  shr.u64 %y, %x, 29;
  xor.b64 %x, %x, %y;
  mul.lo.u64 %x, %x, 0x94d049bb133111eb;
  shr.u64 %y, %x, 32;
  xor.b64 %x, %x, %y;
  add.u64 %sum, %sum, %x;
  add.u64 %i, %i, 256;
  add.u64 %at, %at, 2048;
  bra LOOP;
DONE:
  shl.b64 %page, %page, 3;
  add.u64 %sums, %sums, %page;
  red.global.add.u64 [%sums], %sum;
  ret;
}

.visible .entry refrain_page_bytes(.param .u64 p_start, .param .u64 p_first, .param .u64 p_end, .param .u64 p_sums)
{
  .reg .pred %p<2>;
  .reg .b32 %r<4>;
  .reg .b64 %start, %end, %sums, %i, %sum, %at, %x, %y, %page, %step;
  ld.param.u64 %start, [p_start];
  ld.param.u64 %i, [p_first];
  ld.param.u64 %end, [p_end];
  ld.param.u64 %sums, [p_sums];
  cvta.to.global.u64 %start, %start;
  cvta.to.global.u64 %sums, %sums;
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %nctaid.x;
  mad.lo.u32 %r0, %r0, 256, %r1;
  shl.b32 %r2, %r2, 8;
  cvt.u64.u32 %x, %r0;
  cvt.u64.u32 %step, %r2;
  add.u64 %i, %i, %x;
BYTES:
  setp.ge.u64 %p0, %i, %end;
  @%p0 bra END;
  add.u64 %at, %start, %i;
  ld.global.u8 %x, [%at];
  and.b64 %y, %i, 65535;
  add.u64 %y, %y, 4294967296;
  mul.lo.u64 %y, %y, 0x9e3779b97f4a7c15;
  xor.b64 %x, %x, %y;
  mul.lo.u64 %x, %x, 0xbf58476d1ce4e5b9;
  shr.u64 %y, %x, 29;
  xor.b64 %x, %x, %y;
  mul.lo.u64 %x, %x, 0x94d049bb133111eb;
  shr.u64 %y, %x, 32;
  xor.b64 %x, %x, %y;
  shr.u64 %page, %i, 16;
  shl.b64 %page, %page, 3;
  add.u64 %page, %page, %sums;
  red.global.add.u64 [%page], %x;
  add.u64 %i, %i, %step;
  bra BYTES;
END:
  ret;
}
)";

template <std::size_t count>
CUresult launch(const CudaDriver& driver, CUfunction kernel, std::uint64_t blocks,
                std::array<std::uint64_t, count> arguments, CUstream stream) noexcept {
  std::array<void*, count> parameters;
  for (std::size_t i = 0; i < count; ++i) {
    parameters[i] = &arguments[i];
  }
  return driver.cuLaunchKernel(kernel, static_cast<unsigned>(blocks), 1, 1, kThreads, 1, 1, 0, stream,
                               parameters.data(), nullptr);
}

}  // namespace

CUresult CudaPageHash::load(const CudaDriver& driver) noexcept {
  CUmodule module = nullptr;
  CUresult status = driver.cuModuleLoadData(&module, kCode);
  if (status == CUDA_SUCCESS) {
    status = driver.cuModuleGetFunction(&words_, module, "refrain_page_words");
  }
  if (status == CUDA_SUCCESS) {
    status = driver.cuModuleGetFunction(&bytes_, module, "refrain_page_bytes");
  }
  if (status != CUDA_SUCCESS && module != nullptr) {
    static_cast<void>(driver.cuModuleUnload(module));
  }
  return status;
}

CUresult CudaPageHash::words(const CudaDriver& driver, std::uint64_t start, std::uint64_t words, std::uint64_t sums,
                             CUstream stream) const noexcept {
  const std::uint64_t blocks = (words + kWords - 1) / kWords;
  if (blocks > kMostBlocks) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return launch<3>(driver, words_, blocks, {start, words, sums}, stream);
}

CUresult CudaPageHash::bytes(const CudaDriver& driver, std::uint64_t start, std::uint64_t first, std::uint64_t end,
                             std::uint64_t sums, CUstream stream) const noexcept {
  const std::uint64_t blocks = std::clamp<std::uint64_t>((end - first + kThreads - 1) / kThreads, 1, 4096);
  return launch<4>(driver, bytes_, blocks, {start, first, end, sums}, stream);
}

}  // namespace refrain::backends
