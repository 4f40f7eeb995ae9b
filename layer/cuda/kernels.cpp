// Kernel launches.

#include <array>
#include <cstring>
#include <span>

#include "backends/cuda/kernel_call.h"
#include "layer/cuda/driver_functions.h"
#include "layer/cuda/functions.h"
#include "layer/cuda/submission.h"

namespace refrain::layer::cuda {
namespace {

using backends::Grid;
using capture::ArgumentDescriptor;

const char* const kUnknownKernel = "the kernel is not known";
const char* const kUnknownAttribute = "the launch has an attribute that names an event or a node, or that is not known";
const char* const kOddBuffer = "its argument buffer does not fit the kernel";

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
  [[nodiscard]] std::span<const CUlaunchAttribute> all() const noexcept { return {values_.data(), count_}; }
  [[nodiscard]] Token mixed(Token token) const noexcept {
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

/// The buffer behind `extra`, as cuLaunchKernel describes it.
std::span<const std::byte> buffer_of(void** extra) noexcept {
  const std::byte* data = nullptr;
  std::size_t size = 0;
  for (int i = 0; i < 8 && extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      data = static_cast<const std::byte*>(extra[i + 1]);
    } else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      size = *static_cast<const std::size_t*>(extra[i + 1]);
    }
  }
  return {data, data == nullptr ? 0 : size};
}

const char* reason_not_to_hold(const Launch& launch, const FunctionState* function,
                               const Attributes& attributes) noexcept {
  if (function == nullptr) {
    return kUnknownKernel;
  }
  if (function->unholdable != nullptr) {
    return function->unholdable;
  }
  if (!attributes.known()) {
    return kUnknownAttribute;
  }
  if (launch.parameters == nullptr && !function->offsets.empty()) {
    if (launch.extra == nullptr) {
      return kOddBuffer;
    }
    const std::size_t last = function->offsets.size() - 1;
    if (buffer_of(launch.extra).size() < function->buffer_offsets[last] + function->descriptors[last].size) {
      return kOddBuffer;
    }
  }
  return nullptr;
}

void describe(const Launch& launch, const FunctionState* function, const Attributes& attributes,
              capture::OperationWriter& writer, Token token) {
  const auto words = backends::shape_words(launch.grid, launch.block);
  ArgumentDescriptor more;
  more.kind = capture::ArgumentKind::kValue;
  more.size = static_cast<std::uint32_t>(attributes.all().size_bytes());
  const bool readable = function != nullptr && reason_not_to_hold(launch, function, attributes) == nullptr;
  const std::span<const ArgumentDescriptor> descriptors =
      readable ? std::span<const ArgumentDescriptor>(function->descriptors) : std::span<const ArgumentDescriptor>();
  const bool with_attributes = readable && !attributes.empty();
  const std::size_t bytes = readable ? function->value_bytes : 0;
  const std::span<std::byte> values =
      writer.begin_kernel_values(token, words, descriptors, {&more, with_attributes ? std::size_t{1} : std::size_t{0}},
                                 bytes + (with_attributes ? more.stored_bytes() : 0));
  capture::OperationHeader& header = writer.header();
  header.function = function != nullptr ? function->id : 0;
  header.function_handle = handle_of(launch.function);
  if (readable) {
    const std::span<const std::byte> buffer = launch.parameters == nullptr && launch.extra != nullptr
                                                  ? buffer_of(launch.extra)
                                                  : std::span<const std::byte>();
    for (std::size_t i = 0; i < function->offsets.size(); ++i) {
      const void* from =
          launch.parameters != nullptr ? launch.parameters[i] : buffer.data() + function->buffer_offsets[i];
      std::memcpy(values.data() + function->offsets[i], from, function->descriptors[i].size);
    }
    if (with_attributes) {
      std::memcpy(values.data() + bytes, attributes.all().data(), attributes.all().size_bytes());
    }
    // The dynamic shared memory is the descriptor behind the parameters'.
    auto* written = reinterpret_cast<ArgumentDescriptor*>(
        values.data() - (descriptors.size() + (with_attributes ? 1 : 0)) * sizeof(more));
    written[descriptors.size() - 1].size = launch.shared_bytes;
  }
  writer.finish();
}

template <class Issue>
CUresult launch_kernel(const Launch& launch, std::span<const CUlaunchAttribute> given, Issue&& issue) noexcept {
  if (CUresult status = CUDA_SUCCESS; short_way(launch.entry_point, &status, issue)) {
    return status;
  }
  StreamState* stream = find_stream(launch.stream, launch.by_default);
  const FunctionState* function = find_function(launch.function);
  const Attributes attributes(given);
  // Two chains, so that the processor can work on both at once.
  const Token first = mix(mix(static_cast<Token>(OperationKind::kKernel), function == nullptr ? 0 : function->id),
                          std::uint64_t{launch.grid.x} << 32U | launch.grid.y);
  const Token second = mix(
      mix(std::uint64_t{launch.block.x} << 32U | launch.block.y, std::uint64_t{launch.block.z} << 32U | launch.grid.z),
      launch.shared_bytes);
  const Call call{launch.entry_point, OperationKind::kKernel, attributes.mixed(mix(first, second)),
                  reason_not_to_hold(launch, function, attributes)};
  return submit(
      call, stream,
      [&](capture::OperationWriter& writer, Token token, bool) {
        describe(launch, function, attributes, writer, token);
      },
      issue);
}

template <class Issue>
CUresult launch_ex(const replay::EntryPoint& entry_point, const CUlaunchConfig* config, CUfunction function,
                   DefaultStream by_default, void** parameters, void** extra, Issue&& issue) noexcept {
  if (config == nullptr || (config->attrs == nullptr && config->numAttrs != 0)) {
    return issue();  // an error, which the driver will report
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

CUlaunchAttribute cooperative() noexcept {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attribute.value.cooperative = 1;
  return attribute;
}

}  // namespace

CUresult wrap::cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                              unsigned bz, unsigned shared, CUstream stream, void** parameters, void** extra) noexcept {
  return launch_kernel(
      {entry::cuLaunchKernel, f, {gx, gy, gz}, {bx, by, bz}, shared, stream, DefaultStream::kLegacy, parameters, extra},
      {}, [&] { return driver.cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra); });
}

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

CUresult wrap::cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** parameters, void** extra) noexcept {
  return launch_ex(entry::cuLaunchKernelEx, config, f, DefaultStream::kLegacy, parameters, extra,
                   [&] { return driver.cuLaunchKernelEx(config, f, parameters, extra); });
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
  return submit_unheld(entry::cuLaunchHostFunc, OperationKind::kHostFunction,
                       "a host function is a function of the program", stream, DefaultStream::kLegacy,
                       [&] { return driver.cuLaunchHostFunc(stream, function, data); });
}

CUresult wrap::cuLaunchHostFunc_ptsz(CUstream stream, CUhostFn function, void* data) noexcept {
  return submit_unheld(entry::cuLaunchHostFunc_ptsz, OperationKind::kHostFunction,
                       "a host function is a function of the program", stream, DefaultStream::kPerThread,
                       [&] { return driver.cuLaunchHostFunc_ptsz(stream, function, data); });
}

}  // namespace refrain::layer::cuda
