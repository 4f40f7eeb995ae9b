#include "layer/hip/real_library.h"

#include <type_traits>

#include "layer/hip/library_facts.h"
#include "layer/hip/runtime.h"
#include "layer/hip/wrappers.h"
#include "layer/streams/generic_setter.h"

namespace refrain::layer::hip {

LibraryFunctions library{};

namespace {

using interpose::EntryClass;

#define ENTRY(f, version) {{#f}, EntryClass::kTyped, reinterpret_cast<void*>(&wrap::f)},
#define SETTER(f, version) \
  {{#f},                   \
   EntryClass::kTyped,     \
   reinterpret_cast<void*>(&streams::GenericSetter<HipLayer, library, &LibraryFunctions::f, entry::f>::call)},
#define NEUTRAL(f, version) {{#f}, EntryClass::kNeutral, nullptr},
#define HOST(f, version) {{#f}, EntryClass::kHost, nullptr},
const interpose::EntryDescription entries[] = {
#include "layer/hip/entry_points.def"
#undef ENTRY
};

constexpr interpose::LibraryFacts kFacts{
    .api = kApi,
    .short_name = "hip",
    .wanted = &env::Settings::hip,
    .file = &env::Settings::hip_library,
    .file_setting = "hip_library",
    .marker = kMarker,
    .folders = kFolders,
    .probe = kProbe,
    .no_device = "hipErrorNoDevice",
    .prefix = "",
    .functions = &library,
    .function_count = sizeof(LibraryFunctions) / sizeof(void*),
    .answered = nullptr,
    .missing = missing_functions,
    .is_version = nullptr,
    .spell = nullptr,
    .loaded = nullptr,  // asking the runtime for its version starts the device: see start_engine()
    .not_loaded = &stay_out,
    .give_up = &give_up,
};

}  // namespace

constinit interpose::RealLibrary real_library{kFacts, entries};
static_assert(std::is_trivially_destructible_v<interpose::RealLibrary>);

}  // namespace refrain::layer::hip

/// What the starter looks up.
extern "C" __attribute__((visibility("default"))) refrain::layer::FirstCall refrain_layer_open(
    const refrain::layer::Starter& starter) noexcept;
refrain::layer::FirstCall refrain_layer_open(const refrain::layer::Starter& starter) noexcept {
  return refrain::layer::hip::real_library.take_over(starter);
}
