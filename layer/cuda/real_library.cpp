#include "layer/cuda/real_library.h"

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "layer/cuda/cudart.h"
#include "layer/cuda/driver_functions.h"
#include "layer/cuda/driver_search.h"
#include "layer/cuda/library_facts.h"
#include "layer/cuda/runtime.h"
#include "layer/cuda/wrappers.h"
#include "layer/streams/generic_setter.h"

namespace refrain::layer::cuda {

DriverFunctions driver{};

namespace {

using interpose::EntryClass;

#define ENTRY(f) {{#f}, EntryClass::kTyped, reinterpret_cast<void*>(&wrap::f)},
#define SETTER(f)      \
  {{#f},               \
   EntryClass::kTyped, \
   reinterpret_cast<void*>(&streams::GenericSetter<CudaLayer, driver, &DriverFunctions::f, entry::f>::call)},
#define NEUTRAL(f) {{#f}, EntryClass::kNeutral, nullptr},
#define HOST(f) {{#f}, EntryClass::kHost, nullptr},
const interpose::EntryDescription entries[] = {
#include "layer/cuda/entry_points.def"
#define HOST(f) {{#f}, EntryClass::kHost, nullptr},
#include "layer/cuda/extra_entry_points.def"
#undef ENTRY
};

/// An audit module would send the path back to us.
std::string spell(const std::string& path) {
  return std::getenv("LD_AUDIT") != nullptr ? unredirected(path) : path;
}

constexpr interpose::LibraryFacts kFacts{
    .api = kApi,
    .short_name = "cuda",
    .wanted = &env::Settings::cuda,
    .file = &env::Settings::cuda_driver,
    .file_setting = "cuda_driver",
    .marker = kMarker,
    .folders = kFolders,
    .probe = kProbe,
    .no_device = "CUDA_ERROR_NO_DEVICE",
    .prefix = "cu",
    .functions = &driver,
    .function_count = sizeof(DriverFunctions) / sizeof(void*),
    .answered = &runtime_functions,
    .missing = missing_functions,
    .is_version = &is_version_of,
    .spell = &spell,
    .loaded = &start_engine,
    .not_loaded = nullptr,
    .give_up = &give_up,
};

}  // namespace

constinit interpose::RealLibrary real_library{kFacts, entries};
static_assert(std::is_trivially_destructible_v<interpose::RealLibrary>);

bool is_version_of(const char* name, const char* wanted) noexcept {
  std::string_view rest(name);
  if (!rest.starts_with(wanted)) {
    return false;
  }
  rest.remove_prefix(std::strlen(wanted));
  if (rest.size() >= 3 && rest.starts_with("_v") && std::isdigit(static_cast<unsigned char>(rest[2])) != 0) {
    rest.remove_prefix(3);
    while (!rest.empty() && std::isdigit(static_cast<unsigned char>(rest.front())) != 0) {
      rest.remove_prefix(1);
    }
  }
  return rest.empty() || rest == "_ptsz" || rest == "_ptds";
}

}  // namespace refrain::layer::cuda

/// What the starter looks up.
extern "C" __attribute__((visibility("default"))) refrain::layer::FirstCall refrain_layer_open(
    const refrain::layer::Starter& starter) noexcept;
refrain::layer::FirstCall refrain_layer_open(const refrain::layer::Starter& starter) noexcept {
  return refrain::layer::cuda::real_library.take_over(starter);
}
