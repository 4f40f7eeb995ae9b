// Kernel launches.

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "backends/cuda/kernel_call.h"
#include "layer/cuda/cudart_launch.h"
#include "layer/cuda/driver_functions.h"
#include "layer/cuda/functions.h"
#include "layer/cuda/submission.h"
#include "layer/streams/host_function.h"
#include "layer/streams/launch.h"

namespace refrain::layer::cuda {
namespace {

using backends::Grid;

const char* const kBothForms = "its parameters are given in two ways, which the driver may refuse";
const char* const kUnknownAttribute = "the launch has an attribute that names an event or a node, or that is not known";

/// Attributes with equal bytes if they are equal, in the order given.
class Attributes {
 public:
  explicit Attributes(std::span<const CUlaunchAttribute> given) noexcept {
    known_ = given.size() <= kMost;
    for (std::size_t i = 0; known_ && i < given.size(); ++i) {
      if (backends::id_of(given[i]) != CU_LAUNCH_ATTRIBUTE_IGNORE) {
        known_ = backends::normalize(given[i], &values_[count_]);
        ++count_;
      }
    }
  }
  [[nodiscard]] bool known() const noexcept { return known_; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  /// The kernel writes what other devices read: its memory is synchronised apart from that of other kernels.
  [[nodiscard]] bool in_remote_domain() const noexcept {
    return std::ranges::any_of(all(), [](const CUlaunchAttribute& attribute) {
      return attribute.id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN &&
             attribute.value.memSyncDomain == CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
    });
  }
  [[nodiscard]] std::span<const CUlaunchAttribute> all() const noexcept { return {values_.data(), count_}; }
  [[nodiscard]] Token token() const noexcept {
    Token token = 0;
    for (const CUlaunchAttribute& attribute : all()) {
      std::array<std::uint64_t, sizeof(CUlaunchAttribute) / sizeof(std::uint64_t)> words{};
      std::memcpy(words.data(), &attribute, sizeof(attribute));
      for (const std::uint64_t word : words) {
        token = mix(token, word);
      }
    }
    return token;
  }

 private:
  static constexpr std::size_t kMost = 16;
  std::array<CUlaunchAttribute, kMost> values_;  // not initialised: most launches have none
  std::size_t count_ = 0;
  bool known_ = true;
};

struct Launch {
  const replay::EntryPoint& entry_point;
  CUfunction function;
  Grid grid, block;
  unsigned shared_bytes;
  CUstream stream;
  DefaultStream by_default;
  void** parameters;
  void** extra;
};

[[gnu::always_inline]] inline streams::Launch any_launch(const Launch& launch, const Attributes& attributes) noexcept {
  const bool in_buffer = launch.parameters == nullptr && launch.extra != nullptr;
  return {launch.entry_point,
          handle_of(launch.function),
          launch.grid,
          launch.block,
          launch.shared_bytes,
          launch.parameters,
          in_buffer ? streams::buffer_of(launch.extra, CU_LAUNCH_PARAM_END) : std::span<const std::byte>(),
          !attributes.known()                                       ? kUnknownAttribute
          : launch.parameters != nullptr && launch.extra != nullptr ? kBothForms
                                                                    : nullptr,
          std::as_bytes(attributes.all()),
          attributes.in_remote_domain()};
}

template <class Issue>
[[gnu::always_inline]] inline CUresult launch_kernel(const Launch& launch, std::span<const CUlaunchAttribute> given,
                                                     Issue&& issue) noexcept {
  if (launch_answer != CUDA_SUCCESS) [[unlikely]] {
    return launch_answer;
  }
  if (CUresult status = CUDA_SUCCESS;
      streams::short_way<CudaLayer>(launch.entry_point, {launch.stream, launch.by_default}, &status, issue)) {
    return status;
  }
  if (streams::predicts()) {  // everything else is put together anew behind this, for the compiler to keep in registers
    CUresult status = CUDA_SUCCESS;
    const Attributes attributes(given);
    if (streams::hold_predicted<CudaLayer>(any_launch(launch, attributes), launch.stream, launch.by_default, &status)) {
      return status;
    }
  }
  StreamState* stream = find_stream(launch.stream, launch.by_default);
  const FunctionState* function = find_function(launch.function);
  const Attributes attributes(given);
  return streams::launch_kernel<CudaLayer>(any_launch(launch, attributes), attributes.token(), stream, function, issue);
}

/// The driver will report an error.
[[nodiscard]] bool is_invalid(const CUlaunchConfig* config) noexcept {
  return config == nullptr || (config->attrs == nullptr && config->numAttrs != 0);
}

template <class Issue>
[[gnu::always_inline]] inline CUresult launch_ex(const replay::EntryPoint& entry_point, const CUlaunchConfig* config,
                                                 CUfunction function, DefaultStream by_default, void** parameters,
                                                 void** extra, Issue&& issue) noexcept {
  if (is_invalid(config)) {
    return issue();
  }
  return launch_kernel({entry_point,
                        function,
                        {config->gridDimX, config->gridDimY, config->gridDimZ},
                        {config->blockDimX, config->blockDimY, config->blockDimZ},
                        config->sharedMemBytes,
                        config->hStream,
                        by_default,
                        parameters,
                        extra},
                       {config->attrs, config->numAttrs}, issue);
}

/// A launch of which nothing is wanted but what it repeats (observe mode), until many are looked at together. Nothing
/// is looked for while it is launched: that takes longer, in caches that the driver has filled, than all the rest.
struct DeferredLaunch {
  CUfunction function;
  CUstream stream;
  Grid grid, block;
  unsigned shared_bytes;
  bool in_pieces;  ///< each parameter has an address; if not, there must be none
};

[[gnu::hot]] replay::Noted look_at_deferred_launch(const std::byte* bytes, bool may_ask) {
  DeferredLaunch kept;
  std::memcpy(&kept, bytes, sizeof(kept));
  const Handle handle = handle_of(kept.function);
  may_ask = may_ask && runtime.captures.load(std::memory_order_relaxed) == 0;
  const FunctionState* function = objects.functions.find(handle);
  const StreamState* stream = streams::find_known_stream<CudaLayer>(kept.stream, DefaultStream::kLegacy);
  if (may_ask && (function == nullptr || stream == nullptr)) {
    // Since the launch another thread may have destroyed what it names.
    replay::Lane::current->while_nothing_gone([&] {
      function = find_function(kept.function);
      stream = find_stream(kept.stream, DefaultStream::kLegacy);
    });
  }
  const streams::Launch launch{
      entry::cuLaunchKernel, handle, kept.grid, kept.block, kept.shared_bytes, nullptr, {}, nullptr, {}};
  const Token token =
      streams::launch_token(launch, function, function == nullptr ? 0 : function->state.load(std::memory_order_relaxed),
                            streams::current_stretch());
  if (stream == nullptr) {
    return {mix(token, handle_of(kept.stream)), "the stream is not known"};
  }
  const char* const why_not =
      kept.in_pieces && function != nullptr ? function->unholdable : streams::reason_not_to_hold(launch, function);
  return {mix(token, stream->token_seed), why_not != nullptr ? why_not : stream->unholdable,
          function != nullptr && function->others_wait};
}

CUlaunchAttribute cooperative() noexcept {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attribute.value.cooperative = 1;
  return attribute;
}

}  // namespace

// The call that programs make most often goes one of three ways, so that none has code of the others in between: a
// program that runs much code of its own finds none of it in the processor's caches.

CUresult launch_of_any_kind(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                            unsigned shared, CUstream stream, void** parameters, void** extra) noexcept
    asm("refrain_cuda_launch_of_any_kind");
CUresult launch_as_predicted(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                             unsigned shared, CUstream stream, void** parameters, void** extra) noexcept
    asm("refrain_cuda_launch_as_predicted");
CUresult launch_deferred(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                         unsigned shared, CUstream stream, void** parameters, void** extra) noexcept
    asm("refrain_cuda_launch_deferred");

[[gnu::used, gnu::noinline]] CUresult launch_of_any_kind(CUfunction f, unsigned gx, unsigned gy, unsigned gz,
                                                         unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                                         CUstream stream, void** parameters, void** extra) noexcept {
  return launch_kernel(
      {entry::cuLaunchKernel, f, {gx, gy, gz}, {bx, by, bz}, shared, stream, DefaultStream::kLegacy, parameters, extra},
      {}, [&] { return driver.cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra); });
}

/// While something is predicted.
[[gnu::hot, gnu::used, gnu::noinline]] CUresult launch_as_predicted(CUfunction f, unsigned gx, unsigned gy, unsigned gz,
                                                                    unsigned bx, unsigned by, unsigned bz,
                                                                    unsigned shared, CUstream stream, void** parameters,
                                                                    void** extra) noexcept {
  if (CUresult status = CUDA_SUCCESS;
      parameters != nullptr && extra == nullptr &&
      streams::hold_same<CudaLayer>(
          {entry::cuLaunchKernel, handle_of(f), {gx, gy, gz}, {bx, by, bz}, shared, parameters, {}, nullptr, {}},
          stream, DefaultStream::kLegacy, [](std::span<const std::byte> more) { return more.empty(); }, &status))
      [[likely]] {
    return status;
  }
  return launch_of_any_kind(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
}

/// In observe mode.
[[gnu::hot, gnu::used, gnu::noinline]] CUresult launch_deferred(CUfunction f, unsigned gx, unsigned gy, unsigned gz,
                                                                unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                                                CUstream stream, void** parameters,
                                                                void** extra) noexcept {
  replay::Lane& lane = *replay::Lane::current;
  // Which default stream that is, is asked now.
  if (extra != nullptr || !lane.can_defer() || handle_of(stream) <= streams::kDefaultHandles ||
      runtime.captures.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    return launch_of_any_kind(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
  }
  lane.defer<DeferredLaunch>(look_at_deferred_launch, f, stream, Grid{gx, gy, gz}, Grid{bx, by, bz}, shared,
                             parameters != nullptr);
  const CUresult status = driver.cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
  return status == CUDA_SUCCESS ? status : static_cast<CUresult>(lane.issued(status));
}

/// Only jumps: to launch_as_predicted() if the thread's lane expects something, to launch_deferred() if it keeps
/// submissions without looking at them, else to launch_of_any_kind(). (A compiler takes all arguments from the stack
/// and puts them back there.)
#if defined(__x86_64__)
[[gnu::hot, gnu::naked]] CUresult wrap::cuLaunchKernel(CUfunction /*f*/, unsigned /*gx*/, unsigned /*gy*/,
                                                       unsigned /*gz*/, unsigned /*bx*/, unsigned /*by*/,
                                                       unsigned /*bz*/, unsigned /*shared*/, CUstream /*stream*/,
                                                       void** /*parameters*/, void** /*extra*/) noexcept {
  asm("movq _ZN7refrain6replay4Lane7currentE@gottpoff(%rip), %rax\n\t"
      "movq %fs:(%rax), %rax\n\t"
      "testq %rax, %rax\n\t"
      "je refrain_cuda_launch_of_any_kind\n\t"
      "cmpq $0, " REFRAIN_LANE_PREDICTED
      "(%rax)\n\t"
      "jne refrain_cuda_launch_as_predicted\n\t"
      "cmpq $0, " REFRAIN_LANE_DEFERRED
      "(%rax)\n\t"
      "je refrain_cuda_launch_of_any_kind\n\t"
      "jmp refrain_cuda_launch_deferred");
}
#else
[[gnu::hot]] CUresult wrap::cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                           unsigned by, unsigned bz, unsigned shared, CUstream stream,
                                           void** parameters, void** extra) noexcept {
  const replay::Lane* const lane = replay::Lane::current;
  if (lane != nullptr && lane->predicted()) {
    return launch_as_predicted(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
  }
  if (lane != nullptr && lane->can_defer()) {
    return launch_deferred(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
  }
  return launch_of_any_kind(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
}
#endif

CUresult wrap::cuLaunchKernel_ptsz(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                   unsigned bz, unsigned shared, CUstream stream, void** parameters,
                                   void** extra) noexcept {
  return launch_kernel(
      {entry::cuLaunchKernel_ptsz,
       f,
       {gx, gy, gz},
       {bx, by, bz},
       shared,
       stream,
       DefaultStream::kPerThread,
       parameters,
       extra},
      {}, [&] { return driver.cuLaunchKernel_ptsz(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra); });
}

namespace {

[[gnu::noinline]] CUresult launch_ex_of_any_kind(const CUlaunchConfig* config, CUfunction f, void** parameters,
                                                 void** extra) noexcept {
  return launch_ex(entry::cuLaunchKernelEx, config, f, DefaultStream::kLegacy, parameters, extra,
                   [&] { return driver.cuLaunchKernelEx(config, f, parameters, extra); });
}

/// While something is predicted.
[[gnu::hot, gnu::noinline]] CUresult launch_ex_as_predicted(const CUlaunchConfig* config, CUfunction f,
                                                            void** parameters, void** extra) noexcept {
  if (!is_invalid(config) && (parameters != nullptr) != (extra != nullptr)) {
    const std::span<const std::byte> buffer =
        parameters != nullptr ? std::span<const std::byte>() : streams::buffer_of(extra, CU_LAUNCH_PARAM_END);
    if (CUresult status = CUDA_SUCCESS; streams::hold_same<CudaLayer>(
            {entry::cuLaunchKernelEx,
             handle_of(f),
             {config->gridDimX, config->gridDimY, config->gridDimZ},
             {config->blockDimX, config->blockDimY, config->blockDimZ},
             config->sharedMemBytes,
             parameters,
             buffer,
             nullptr,
             {}},
            config->hStream, DefaultStream::kLegacy,
            [&](std::span<const std::byte> more) {
              return backends::same_attributes({config->attrs, config->numAttrs}, more);
            },
            &status)) [[likely]] {
      return status;
    }
  }
  return launch_ex_of_any_kind(config, f, parameters, extra);
}

}  // namespace

[[gnu::hot]] CUresult wrap::cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** parameters,
                                             void** extra) noexcept {
  return streams::predicts() ? launch_ex_as_predicted(config, f, parameters, extra)
                             : launch_ex_of_any_kind(config, f, parameters, extra);
}

CUresult wrap::cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction f, void** parameters,
                                     void** extra) noexcept {
  return launch_ex(entry::cuLaunchKernelEx_ptsz, config, f, DefaultStream::kPerThread, parameters, extra,
                   [&] { return driver.cuLaunchKernelEx_ptsz(config, f, parameters, extra); });
}

CUresult wrap::cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                         unsigned bz, unsigned shared, CUstream stream, void** parameters) noexcept {
  const CUlaunchAttribute attribute = cooperative();
  return launch_kernel({entry::cuLaunchCooperativeKernel,
                        f,
                        {gx, gy, gz},
                        {bx, by, bz},
                        shared,
                        stream,
                        DefaultStream::kLegacy,
                        parameters,
                        nullptr},
                       {&attribute, 1}, [&] {
                         return driver.cuLaunchCooperativeKernel(f, gx, gy, gz, bx, by, bz, shared, stream, parameters);
                       });
}

CUresult wrap::cuLaunchCooperativeKernel_ptsz(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                              unsigned by, unsigned bz, unsigned shared, CUstream stream,
                                              void** parameters) noexcept {
  const CUlaunchAttribute attribute = cooperative();
  return launch_kernel(
      {entry::cuLaunchCooperativeKernel_ptsz,
       f,
       {gx, gy, gz},
       {bx, by, bz},
       shared,
       stream,
       DefaultStream::kPerThread,
       parameters,
       nullptr},
      {&attribute, 1},
      [&] { return driver.cuLaunchCooperativeKernel_ptsz(f, gx, gy, gz, bx, by, bz, shared, stream, parameters); });
}

CUresult wrap::cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) noexcept {
  return streams::host_function<CudaLayer>(entry::cuLaunchHostFunc, function, data, stream, DefaultStream::kLegacy,
                                           [&] { return driver.cuLaunchHostFunc(stream, function, data); });
}

CUresult wrap::cuLaunchHostFunc_ptsz(CUstream stream, CUhostFn function, void* data) noexcept {
  return streams::host_function<CudaLayer>(entry::cuLaunchHostFunc_ptsz, function, data, stream,
                                           DefaultStream::kPerThread,
                                           [&] { return driver.cuLaunchHostFunc_ptsz(stream, function, data); });
}

}  // namespace refrain::layer::cuda
