// Extensions: which there are, and command lists whose commands may be changed after they are closed.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "test/sim/core/checks.h"
#include "test/sim/level_zero/objects.h"

namespace sim::level_zero {
namespace {

/// In SIM_ZE_EXTENSIONS, and for programs.
struct Extension {
  const char* setting;
  const char* name;
  std::uint32_t version;
};
constexpr Extension kExtensions[] = {
    {"append", "ZE_experimental_immediate_command_list_append", ZE_MAKE_VERSION(1, 0)},
    {"counter", "ZE_experimental_event_pool_counter_based", ZE_MAKE_VERSION(1, 0)},
    {"mutable", "ZE_experimental_mutable_command_list", ZE_MAKE_VERSION(1, 0)},
    {"graph", "ZE_extension_record_replay_graph", ZE_MAKE_VERSION(1, 0)},
    {"table", kTableExtension, ZE_MAKE_VERSION(1, 0)},
};

constexpr std::uint32_t kMutations = kMutatesArguments | kMutatesGroupCount | kMutatesGroupSize | kMutatesOffset;

/// Null, and a violation, if the list may not be changed now by `by`.
List* find_mutable(ze_command_list_handle_t handle, const char* by) {
  List* list = find_or_complain(state().lists, handle, by);
  if (list != nullptr && !list->is_mutable) {
    violation("%s of a list that is not mutable", by);
    return nullptr;
  }
  return list;
}

ze_result_t zeCommandListGetNextCommandIdExp(ze_command_list_handle_t handle, const MutableCommandId* description,
                                             std::uint64_t* id) {
  constexpr const char* kName = "zeCommandListGetNextCommandIdExp";
  ENTER_SUBMISSION(zeCommandListGetNextCommandIdExp);
  const Lock lock;
  List* list = find_mutable(handle, kName);
  if (list == nullptr) {
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  if (description == nullptr || id == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  }
  if (description->stype != kMutableCommandId || list->closed || list->updated) {
    violation("%s of a list that is closed, or with a wrong description", kName);
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  if ((description->flags & ~kMutations) != 0) {
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  }
  list->next.id = ++list->last_id;
  list->next.mutations = description->flags == 0 ? kMutations : description->flags;
  *id = list->next.id;
  return ZE_RESULT_SUCCESS;
}

/// What is changed of one command. Checks it, and makes the change if `apply`.
struct Change {
  List& list;
  bool apply;

  Command* find(std::uint64_t id, std::uint32_t mutation) const {
    const auto found = std::ranges::find_if(
        list.commands, [id](const Command& command) { return id != 0 && command.mutated.id == id; });
    if (found == list.commands.end()) {
      violation("a list is changed in a command that it does not have");
      return nullptr;
    }
    if ((found->mutated.mutations & mutation) == 0 || found->kernel == nullptr) {
      violation("a command is changed in what its identifier was not asked for");
      return nullptr;
    }
    return &*found;
  }
  ze_result_t operator()(const MutableArgument& wanted) const {
    Command* command = find(wanted.command, kMutatesArguments);
    if (command == nullptr || wanted.index >= command->task.kernel->parameters.size()) {
      return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    }
    const Parameter& parameter = command->task.kernel->parameters[wanted.index];
    if (wanted.size != parameter.size) {
      return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    }
    if (apply && wanted.value != nullptr) {
      std::memcpy(command->task.arguments.data() + parameter.offset, wanted.value, wanted.size);
    }
    return ZE_RESULT_SUCCESS;
  }
  ze_result_t operator()(const MutableGroupCount& wanted) const {
    Command* command = find(wanted.command, kMutatesGroupCount);
    if (command == nullptr || wanted.count == nullptr) {
      return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    }
    if (apply) {
      const std::uint32_t counts[] = {wanted.count->groupCountX, wanted.count->groupCountY, wanted.count->groupCountZ};
      std::copy_n(counts, 3, command->task.shape.grid);
    }
    return ZE_RESULT_SUCCESS;
  }
  ze_result_t operator()(const MutableGroupSize& wanted) const {
    Command* command = find(wanted.command, kMutatesGroupSize);
    if (command == nullptr || wanted.x == 0 || wanted.y == 0 || wanted.z == 0 ||
        std::uint64_t{wanted.x} * wanted.y * wanted.z > 1024) {
      return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    }
    if (apply) {
      const std::uint32_t sizes[] = {wanted.x, wanted.y, wanted.z};
      std::copy_n(sizes, 3, command->task.shape.block);
    }
    return ZE_RESULT_SUCCESS;
  }
  /// No kernel here looks at its offset.
  ze_result_t operator()(const MutableOffset& wanted) const {
    return find(wanted.command, kMutatesOffset) == nullptr ? ZE_RESULT_ERROR_INVALID_ARGUMENT : ZE_RESULT_SUCCESS;
  }

  ze_result_t all(const void* chain) const {
    for (auto* each = static_cast<const Described*>(chain); each != nullptr;
         each = static_cast<const Described*>(each->pNext)) {
      ze_result_t status = ZE_RESULT_ERROR_INVALID_ARGUMENT;
      switch (static_cast<std::uint32_t>(each->stype)) {
        case kMutableArgument: status = (*this)(*reinterpret_cast<const MutableArgument*>(each)); break;
        case kMutableGroupCount: status = (*this)(*reinterpret_cast<const MutableGroupCount*>(each)); break;
        case kMutableGroupSize: status = (*this)(*reinterpret_cast<const MutableGroupSize*>(each)); break;
        case kMutableOffset: status = (*this)(*reinterpret_cast<const MutableOffset*>(each)); break;
        default: violation("a list is changed by a structure that is not known");
      }
      if (status != ZE_RESULT_SUCCESS) {
        return status;
      }
    }
    return ZE_RESULT_SUCCESS;
  }
};

ze_result_t zeCommandListUpdateMutableCommandsExp(ze_command_list_handle_t handle, const MutableCommands* changes) {
  constexpr const char* kName = "zeCommandListUpdateMutableCommandsExp";
  ENTER_SUBMISSION(zeCommandListUpdateMutableCommandsExp);
  const Lock lock;
  List* list = find_mutable(handle, kName);
  if (list == nullptr) {
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  if (changes == nullptr || changes->stype != kMutableCommands) {
    return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  }
  if (!list->closed && !list->updated) {
    violation("%s of a list that was never closed", kName);
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  if (!must_be_idle(lock, list->open, kName)) {
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  ze_result_t status = Change{*list, false}.all(changes->pNext);
  if (status == ZE_RESULT_SUCCESS) {
    status = Change{*list, true}.all(changes->pNext);
    list->closed = false;
    list->updated = true;
    spend_update();
  }
  return status;
}

ze_result_t zeDriverGetExtensionProperties(ze_driver_handle_t, std::uint32_t* count,
                                           ze_driver_extension_properties_t* properties) {
  ENTER(zeDriverGetExtensionProperties);
  if (count == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  }
  std::uint32_t known = 0;
  for (const Extension& extension : kExtensions) {
    if (!offered(extension.setting)) {
      continue;
    }
    if (properties != nullptr && known < *count) {
      std::memset(properties[known].name, 0, sizeof(properties[known].name));
      std::strncpy(properties[known].name, extension.name, sizeof(properties[known].name) - 1);
      properties[known].version = extension.version;
    }
    ++known;
  }
  *count = properties == nullptr || *count == 0 ? known : std::min(*count, known);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDriverGetExtensionFunctionAddress(ze_driver_handle_t, const char* name, void** address) {
  ENTER(zeDriverGetExtensionFunctionAddress);
  if (name == nullptr || address == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  }
  *address = nullptr;
  const std::string_view wanted = name;
  for (const auto& find : {&append_function, &graph_function, &question_function}) {
    if (*address = find(wanted); *address != nullptr) {
      return ZE_RESULT_SUCCESS;
    }
  }
  if (wanted == "zeCommandListGetNextCommandIdExp" && offered("mutable")) {
    *address = reinterpret_cast<void*>(&zeCommandListGetNextCommandIdExp);
  } else if (wanted == "zeCommandListUpdateMutableCommandsExp" && offered("mutable")) {
    *address = reinterpret_cast<void*>(&zeCommandListUpdateMutableCommandsExp);
  }
  return *address == nullptr ? ZE_RESULT_ERROR_INVALID_ARGUMENT : ZE_RESULT_SUCCESS;
}

}  // namespace

void* find_offered(std::span<const OfferedFunction> all, std::string_view name) noexcept {
  const auto found = std::ranges::find(all, name, &OfferedFunction::name);
  return found != all.end() && offered(found->setting) ? found->function : nullptr;
}

bool offered(std::string_view wanted) noexcept {
  static const char* const text = std::getenv("SIM_ZE_EXTENSIONS");
  if (text == nullptr) {
    return true;
  }
  std::string_view list = text;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (list.substr(0, comma) == wanted) {
      return true;
    }
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
  return false;
}

void tell_mutable_properties(void* chain) noexcept {
  auto* properties = find_in_chain<MutableProperties>(chain, kMutableProperties);
  if (properties != nullptr) {
    properties->list_flags = 0;
    properties->command_flags = offered("mutable") ? kMutations : 0;
  }
}

void fill_extensions(ze_driver_dditable_t& table) noexcept {
  table.pfnGetExtensionProperties = zeDriverGetExtensionProperties;
  table.pfnGetExtensionFunctionAddress = zeDriverGetExtensionFunctionAddress;
}

}  // namespace sim::level_zero
