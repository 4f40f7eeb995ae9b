// Kernel launches.

#include "layer/hip/functions.h"
#include "layer/hip/submission.h"
#include "layer/streams/host_function.h"
#include "layer/streams/launch.h"

namespace refrain::layer::hip {
namespace {

using backends::Grid;

constexpr std::uint64_t kProgramsFunction = backends::kProgramsFunction;

Grid grid_of(const dim3& size) noexcept {
  return {size.x, size.y, size.z};
}

/// `hipLaunchKernel` and its like: `function` is the program's.
template <class Issue>
hipError_t launch_programs(const replay::EntryPoint& entry_point, const void* function, const dim3& grid,
                           const dim3& block, std::size_t shared_bytes, hipStream_t stream, DefaultStream by_default,
                           void** parameters, const char* unholdable, Issue&& issue) noexcept {
  if (hipError_t status = hipSuccess; streams::short_way<HipLayer>(entry_point, {stream, by_default}, &status, issue)) {
    return status;
  }
  const streams::Launch launch{entry_point,
                               handle_of(function),
                               grid_of(grid),
                               grid_of(block),
                               static_cast<unsigned>(shared_bytes),
                               parameters,
                               {},
                               shared_bytes > ~0U ? "it asks for more shared memory than there is" : unholdable,
                               std::as_bytes(std::span(&kProgramsFunction, 1))};
  if (hipError_t status = hipSuccess;
      streams::predicts() && streams::hold_predicted<HipLayer>(launch, stream, by_default, &status)) {
    return status;
  }
  return streams::launch_kernel<HipLayer>(launch, kProgramsFunction, find_stream(stream, by_default),
                                          find_function(function), issue);
}

/// `hipModuleLaunchKernel` and its like.
template <class Issue>
hipError_t launch_modules(const replay::EntryPoint& entry_point, hipFunction_t function, const Grid& grid,
                          const Grid& block, std::size_t shared_bytes, hipStream_t stream, void** parameters,
                          void** extra, const char* unholdable, Issue&& issue) noexcept {
  if (hipError_t status = hipSuccess;
      streams::short_way<HipLayer>(entry_point, {stream, DefaultStream::kLegacy}, &status, issue)) {
    return status;
  }
  const bool in_buffer = parameters == nullptr && extra != nullptr;
  const streams::Launch launch{
      entry_point,
      handle_of(function),
      grid,
      block,
      static_cast<unsigned>(shared_bytes),
      parameters,
      in_buffer ? streams::buffer_of(extra, HIP_LAUNCH_PARAM_END) : std::span<const std::byte>(),
      shared_bytes > ~0U                          ? "it asks for more shared memory than there is"
      : parameters != nullptr && extra != nullptr ? "its parameters are given in two ways, which the runtime may refuse"
                                                  : unholdable,
      {}};
  if (hipError_t status = hipSuccess;
      streams::predicts() && streams::hold_predicted<HipLayer>(launch, stream, DefaultStream::kLegacy, &status)) {
    return status;
  }
  return streams::launch_kernel<HipLayer>(launch, 0, find_stream(stream, DefaultStream::kLegacy),
                                          find_function(function), issue);
}

const char* const kEvents = "the launch records events of its own, or has flags";
const char* const kPartBlocks = "its last blocks are smaller than the others";

/// Sizes in work-items.
template <class Issue>
hipError_t launch_items(const replay::EntryPoint& entry_point, hipFunction_t function, const Grid& global,
                        const Grid& local, std::size_t shared_bytes, hipStream_t stream, void** parameters,
                        void** extra, bool plain, Issue&& issue) noexcept {
  const bool whole = local.x != 0 && local.y != 0 && local.z != 0 && global.x % local.x == 0 &&
                     global.y % local.y == 0 && global.z % local.z == 0;
  const Grid grid = whole ? Grid{global.x / local.x, global.y / local.y, global.z / local.z} : global;
  return launch_modules(entry_point, function, grid, local, shared_bytes, stream, parameters, extra,
                        !plain  ? kEvents
                        : whole ? nullptr
                                : kPartBlocks,
                        issue);
}

}  // namespace

hipError_t wrap::hipLaunchKernel(const void* f, dim3 grid, dim3 block, void** parameters, size_t shared,
                                 hipStream_t stream) noexcept {
  return launch_programs(entry::hipLaunchKernel, f, grid, block, shared, stream, DefaultStream::kLegacy, parameters,
                         nullptr, [&] { return library.hipLaunchKernel(f, grid, block, parameters, shared, stream); });
}

hipError_t wrap::hipLaunchKernel_spt(const void* f, dim3 grid, dim3 block, void** parameters, size_t shared,
                                     hipStream_t stream) noexcept {
  return launch_programs(entry::hipLaunchKernel_spt, f, grid, block, shared, stream, DefaultStream::kPerThread,
                         parameters, nullptr,
                         [&] { return library.hipLaunchKernel_spt(f, grid, block, parameters, shared, stream); });
}

hipError_t wrap::hipExtLaunchKernel(const void* f, dim3 grid, dim3 block, void** parameters, size_t shared,
                                    hipStream_t stream, hipEvent_t start, hipEvent_t stop, int flags) noexcept {
  const bool plain = start == nullptr && stop == nullptr && flags == 0;
  return launch_programs(
      entry::hipExtLaunchKernel, f, grid, block, shared, stream, DefaultStream::kLegacy, parameters,
      plain ? nullptr : kEvents,
      [&] { return library.hipExtLaunchKernel(f, grid, block, parameters, shared, stream, start, stop, flags); });
}

hipError_t wrap::hipModuleLaunchKernel(hipFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                       unsigned bz, unsigned shared, hipStream_t stream, void** parameters,
                                       void** extra) noexcept {
  return launch_modules(
      entry::hipModuleLaunchKernel, f, {gx, gy, gz}, {bx, by, bz}, shared, stream, parameters, extra, nullptr,
      [&] { return library.hipModuleLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra); });
}

#define LAUNCH_ITEMS(name)                                                                                             \
  hipError_t wrap::name(hipFunction_t f, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t lx, uint32_t ly, uint32_t lz, \
                        size_t shared, hipStream_t stream, void** parameters, void** extra, hipEvent_t start,          \
                        hipEvent_t stop, uint32_t flags) noexcept {                                                    \
    const bool plain = start == nullptr && stop == nullptr && flags == 0;                                              \
    return launch_items(entry::name, f, {gx, gy, gz}, {lx, ly, lz}, shared, stream, parameters, extra, plain, [&] {    \
      return library.name(f, gx, gy, gz, lx, ly, lz, shared, stream, parameters, extra, start, stop, flags);           \
    });                                                                                                                \
  }
LAUNCH_ITEMS(hipExtModuleLaunchKernel)
LAUNCH_ITEMS(_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j)
#undef LAUNCH_ITEMS

#define OLD_LAUNCH _Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_
hipError_t wrap::OLD_LAUNCH(hipFunction_t f, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t lx, uint32_t ly,
                            uint32_t lz, size_t shared, hipStream_t stream, void** parameters, void** extra,
                            hipEvent_t start, hipEvent_t stop) noexcept {
  const bool plain = start == nullptr && stop == nullptr;
  return launch_items(entry::OLD_LAUNCH, f, {gx, gy, gz}, {lx, ly, lz}, shared, stream, parameters, extra, plain, [&] {
    return library.OLD_LAUNCH(f, gx, gy, gz, lx, ly, lz, shared, stream, parameters, extra, start, stop);
  });
}
#undef OLD_LAUNCH

hipError_t wrap::hipLaunchHostFunc(hipStream_t stream, void (*function)(void*), void* data) noexcept {
  return streams::host_function<HipLayer>(entry::hipLaunchHostFunc, function, data, stream, DefaultStream::kLegacy,
                                          [&] { return library.hipLaunchHostFunc(stream, function, data); });
}
hipError_t wrap::hipLaunchHostFunc_spt(hipStream_t stream, void (*function)(void*), void* data) noexcept {
  return streams::host_function<HipLayer>(entry::hipLaunchHostFunc_spt, function, data, stream,
                                          DefaultStream::kPerThread,
                                          [&] { return library.hipLaunchHostFunc_spt(stream, function, data); });
}

}  // namespace refrain::layer::hip
