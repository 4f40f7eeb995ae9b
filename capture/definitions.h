// What a program tells about itself to be captured, each thing once and by its id: devices, queues, functions,
// buffers, reasons.
// A further kind is told of in three files: capture/format.fbs has its table, this one its number, its structure and
// its place in the list of kinds, capture/definitions.cpp how it is written and read. All else is made for any kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <variant>
#include <vector>

#include "capture/operation.h"

namespace refrain::capture {

namespace format {

/// Stable: never renumbered, never used for something else. Readers skip types they do not know.
enum class RecordType : std::uint32_t {
  kMeta = 1,         ///< Meta: once, first
  kDevices = 2,      ///< Devices
  kQueues = 3,       ///< Queues
  kCode = 4,         ///< Code: one program's source or binary
  kFunctions = 5,    ///< Functions
  kBuffers = 6,      ///< Buffers
  kContents = 7,     ///< ContentsHeader, then bytes: a piece of a buffer's contents
  kEntryPoints = 8,  ///< EntryPoints: names of host calls
  kGraphs = 9,       ///< Graphs with their first argument set
  kArguments = 10,   ///< ArgumentSets: further argument sets, as differences from the first
  kStatistics = 11,  ///< Statistics: replace earlier ones of the same graph
  kHistory = 12,     ///< History: what one lane did, in order; replaces what was `open` in the one before
  kHostCalls = 13,   ///< HostCalls: counts; replace earlier ones
  kRegions = 14,     ///< Regions: what was in them; replace earlier ones of the same region
  kTimes = 15,       ///< Times: begin and end of each call of one lane, those that follow on the ones before
  /// ContentsReferences: pieces of contents that are equal to earlier ones
  kContentsReferences = 16,
  kReasons = 17,  ///< Reasons
};

}  // namespace format

/// Content hash of a program (source, binary or intermediate language together with nothing else).
using CodeId = std::uint64_t;

struct DeviceInfo {
  ObjectId id = 0;
  std::string api;  ///< "opencl", "cuda", …
  std::string platform;
  std::string name;
  std::string driver;
  std::string native;        ///< how command buffers are supported, "" if they are not
  bool updates = false;      ///< arguments of those that are recorded can be changed
  bool keeps_order = false;  ///< parts of a graph in several queues need not wait for each other: the driver sees to it
  bool operator==(const DeviceInfo&) const = default;
};

// QueueInfo: capture/operation.h

struct FunctionInfo {
  FunctionId id = 0;
  CodeId code = 0;
  std::string name;
  std::string build_options;
  bool operator==(const FunctionInfo&) const = default;
};

/// Where memory with an address is. Stable numbers: they are written to capture files.
enum class MemoryPlace : std::uint64_t { kDevice = 0, kHost = 1, kManaged = 2 };

struct BufferInfo {
  ObjectId id = 0;
  ObjectId context = 0;
  ObjectId parent = 0;       ///< sub-buffers: the buffer they are a part of
  std::uint64_t offset = 0;  ///< within the parent
  std::uint64_t size = 0;    ///< bytes
  std::uint64_t flags = 0;   ///< as given to the API
  bool is_image = false;
  bool is_sampler = false;
  /// Images and samplers: the API's description in words (format, sizes …), opaque to capture/. Memory with an
  /// address: MemoryPlace, number of the device.
  std::vector<std::uint64_t> description;
  std::uint64_t address = 0;  ///< of its first byte, if the API has pointers: what arguments may point into
  bool operator==(const BufferInfo&) const = default;
};

/// Why operations are never held, or never part of a command buffer: as the layer, or the device's backend, says.
struct ReasonInfo {
  std::uint64_t id = 0;  ///< OperationHeader::reason, not 0
  std::string text;
  bool operator==(const ReasonInfo&) const = default;
};

template <typename... Infos>
struct DefinitionKinds {
  using Spans = std::variant<std::span<const Infos>...>;
  using Lists = std::tuple<std::vector<Infos>...>;
};

/// Every kind, in the order in which they are written. All have an `id`.
using AllDefinitionKinds = DefinitionKinds<DeviceInfo, QueueInfo, FunctionInfo, BufferInfo, ReasonInfo>;

/// Some definitions of one kind, which are kept elsewhere.
using Definitions = AllDefinitionKinds::Spans;

/// Definitions of every kind, as they came.
using DefinitionLists = AllDefinitionKinds::Lists;

/// What a file tells of each kind: of an id the first one. Devices, which are shown in order, are all there.
struct KnownDefinitions {
  std::vector<DeviceInfo> devices;
  std::unordered_map<ObjectId, QueueInfo> queues;
  std::unordered_map<FunctionId, FunctionInfo> functions;
  std::unordered_map<ObjectId, BufferInfo> buffers;
  std::unordered_map<std::uint64_t, ReasonInfo> reasons;

  /// Those of one kind.
  template <typename Info>
  auto& of() noexcept {
    using Known = std::conditional_t<std::is_same_v<Info, DeviceInfo>, std::vector<Info>,
                                     std::unordered_map<std::uint64_t, Info>>;
    return std::get<Known&>(std::tie(devices, queues, functions, buffers, reasons));
  }
};

/// Calls `append` with the type and the payload of one record after the other.
void encode_definitions(const Definitions& definitions,
                        const std::function<void(format::RecordType, std::span<const std::uint8_t>)>& append);

class CaptureStore;
class RecordView;

/// Takes the definitions of a record into `known`, and counts their memory in `store`. Throws Refused
/// (capture/record_file.h) if they make no sense. Leaves alone what is a record of something else.
void decode_definitions(format::RecordType type, RecordView& record, CaptureStore& store, KnownDefinitions& known);

}  // namespace refrain::capture
