#include "env/aside.h"

#include <strings.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "env/log.h"
#include "env/ranges_environment.h"

namespace refrain::env {
namespace {

constexpr std::uint8_t kCuda = static_cast<std::uint8_t>(Api::kCuda);
constexpr std::uint8_t kHip = static_cast<std::uint8_t>(Api::kHip);
constexpr std::uint8_t kLevelZero = static_cast<std::uint8_t>(Api::kLevelZero);
constexpr std::uint8_t kOpenCl = static_cast<std::uint8_t>(Api::kOpenCl);
constexpr std::uint8_t kNvidia = kCuda | kOpenCl;

struct Sign {
  std::uint8_t apis;
  const char* variable;
  const char* meaning;
};

constexpr const char* kBlocking = "asks for work that is done when its call returns";
constexpr const char* kTool = "says that a debugger, sanitizer or profiler is attached";

/// Any value counts but none, "0" and words for "no".
constexpr Sign kSigns[] = {
    {kCuda, "CUDA_LAUNCH_BLOCKING", kBlocking},
    {kHip, "HIP_LAUNCH_BLOCKING", kBlocking},
    {kHip | kOpenCl, "AMD_SERIALIZE_KERNEL", kBlocking},
    {kHip | kOpenCl, "AMD_SERIALIZE_COPY", kBlocking},
    // Of SYCL's adapter, which waits itself.
    {kLevelZero, "UR_L0_SERIALIZE", kBlocking},
    {kLevelZero, "ZE_SERIALIZE", kBlocking},
    // Of the OpenCL Intercept Layer.
    {kOpenCl, "CLI_FinishAfterEnqueue", kBlocking},
    // Libraries that NVIDIA's driver loads, and what its tools tell those.
    {kNvidia, "CUDA_INJECTION64_PATH", kTool},
    {kNvidia, "NVTX_INJECTION64_PATH", kTool},
    {kNvidia, "NV_SANITIZER_INJECTION_PORT_BASE", kTool},
    {kNvidia, "NV_SANITIZER_INJECTION_PORT_RANGE_BEGIN", kTool},
    {kNvidia, "NSYS_PROFILING_SESSION_ID", kTool},
    {kNvidia, "NV_COMPUTE_PROFILER_PERFWORKS_DIR", kTool},
    // Libraries that AMD's runtime loads.
    {kHip | kOpenCl, "HSA_TOOLS_LIB", kTool},
    {kHip | kOpenCl, "ROCP_TOOL_LIB", kTool},
    {kHip | kOpenCl, "ROCP_TOOL_LIBRARIES", kTool},
    // Of the Level Zero loader and drivers.
    {kLevelZero, "ZE_ENABLE_TRACING_LAYER", kTool},
    {kLevelZero, "ZET_ENABLE_API_TRACING_EXP", kTool},
    {kLevelZero, "ZET_ENABLE_METRICS", kTool},
    {kLevelZero, "ZET_ENABLE_PROGRAM_INSTRUMENTATION", kTool},
    {kLevelZero, "ZET_ENABLE_PROGRAM_DEBUGGING", kTool},
};

bool says_yes(const char* value) noexcept {
  if (value == nullptr || *value == '\0') {
    return false;
  }
  for (const char* no : {"0", "off", "false", "no"}) {
    if (strcasecmp(value, no) == 0) {
      return false;
    }
  }
  return true;
}

/// Process that traces this one; 0: none.
long tracer_of(const std::string& status) noexcept {
  constexpr std::string_view kField = "TracerPid:";
  const std::size_t at = status.find(kField);
  return at == std::string::npos ? 0 : std::strtol(status.c_str() + at + kField.size(), nullptr, 10);
}

}  // namespace

const char* const kAsideConsequence = ": nothing is held or replayed (REFRAIN_STAND_ASIDE=0 overrides)";

std::string why_aside(Api api, const std::function<const char*(const char*)>& value_of, const std::string& status) {
  for (const Sign& sign : kSigns) {
    if ((sign.apis & static_cast<std::uint8_t>(api)) == 0) {
      continue;
    }
    if (const char* value = value_of(sign.variable); says_yes(value) && !names_own_ranges(value)) {
      return std::string(sign.variable) + "=" + value + " " + sign.meaning;
    }
  }
  if (const long tracer = tracer_of(status); tracer != 0) {
    return "process " + std::to_string(tracer) + " traces this one, as debuggers do";
  }
  return {};
}

std::string why_aside(Api api) {
  std::ifstream file("/proc/self/status");
  const std::string status{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return why_aside(
      api, [](const char* name) -> const char* { return std::getenv(name); }, status);
}

void stand_aside(Settings& settings, Api api) noexcept {
  if (!settings.stand_aside || !replays(settings)) {
    return;
  }
  try {
    if (const std::string why = why_aside(api); !why.empty()) {
      settings.mode = Mode::kObserve;
      log_warning(why + kAsideConsequence);
    }
  } catch (...) {
    settings.mode = Mode::kObserve;  // there is no memory to find out
  }
}

}  // namespace refrain::env
