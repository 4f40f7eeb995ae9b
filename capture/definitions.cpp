// What a file holds of each kind of definition: how it is written, and how it is read and checked.
#include "capture/definitions.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "capture/capture_store.h"
#include "capture/encode.h"
#include "capture/record_view.h"
#include "format_generated.h"

namespace refrain::capture {
namespace {

using encode::text_of;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using format::RecordType;

/// What is a kind's own:
///   kType, Table, kItems, kCreate   its record: number, table, the table's only vector, and what makes the table of it
///   encode, decode                  one of its items; decode() refuses what makes no sense
///   stored_bytes                    how large one becomes in a record, at most
///   kept_bytes                      what one read takes in memory besides the structure
///   details, add_details            only where items are structures, which never change: what the table has of each
///                                   item beside them, as one more vector; none if there is nothing to tell
template <typename Info>
struct Kind;

template <>
struct Kind<DeviceInfo> {
  using Table = wire::Devices;
  static constexpr auto kType = RecordType::kDevices;
  static constexpr auto kItems = &wire::Devices::devices;
  static constexpr auto kCreate = wire::CreateDevicesDirect;

  static Offset<wire::Device> encode(FlatBufferBuilder& builder, const DeviceInfo& device) {
    const auto api = text_of(builder, device.api);
    const auto platform = text_of(builder, device.platform);
    const auto name = text_of(builder, device.name);
    const auto driver = text_of(builder, device.driver);
    const auto native = text_of(builder, device.native);
    return wire::CreateDevice(builder, device.id, api, platform, name, driver, native, device.updates,
                              device.keeps_order);
  }
  static std::size_t stored_bytes(const DeviceInfo& /*device*/) { return 256 + 5 * format::kMaxText; }

  static DeviceInfo decode(RecordView& record, const wire::Device& device) {
    DeviceInfo info;
    info.id = device.id();
    info.api = record.text(device.api());
    info.platform = record.text(device.platform());
    info.name = record.text(device.name());
    info.driver = record.text(device.driver());
    info.native = record.text(device.native());
    info.updates = device.updates();
    info.keeps_order = device.keeps_order();
    return info;
  }
  static std::size_t kept_bytes(const DeviceInfo& info) {
    return info.api.size() + info.platform.size() + info.name.size() + info.driver.size() + info.native.size();
  }
};

template <>
struct Kind<QueueInfo> {
  using Table = wire::Queues;
  static constexpr auto kType = RecordType::kQueues;
  static constexpr auto kItems = &wire::Queues::queues;
  static constexpr auto kCreate = wire::CreateQueuesDirect;

  static wire::Queue encode(FlatBufferBuilder& /*builder*/, const QueueInfo& queue) {
    return {queue.id,   queue.handle,   queue.context,   queue.device,
            queue.role, queue.in_order, queue.profiling, static_cast<std::uint8_t>(queue.default_order)};
  }
  static std::size_t stored_bytes(const QueueInfo& /*queue*/) { return 256; }

  static QueueInfo decode(RecordView& record, const wire::Queue& queue) {
    QueueInfo info;
    info.id = queue.id();
    info.handle = queue.handle();
    info.context = queue.context();
    info.device = queue.device();
    info.role = queue.role();
    info.in_order = queue.in_order();
    info.profiling = queue.profiling();
    info.default_order = static_cast<DefaultOrder>(queue.default_order());
    record.expect(queue.default_order() <= static_cast<std::uint8_t>(DefaultOrder::kIsDefault),
                  "a queue of unknown order");
    return info;
  }
  static std::size_t kept_bytes(const QueueInfo& /*info*/) { return 0; }

  static std::vector<std::uint64_t> details(std::span<const QueueInfo> queues) {
    std::vector<std::uint64_t> all;
    if (std::ranges::any_of(queues, &QueueInfo::detail)) {
      std::ranges::transform(queues, std::back_inserter(all), &QueueInfo::detail);
    }
    return all;
  }
  static void add_details(RecordView& record, const wire::Queues& table, std::span<QueueInfo> queues) {
    const std::size_t count = record.count(table.details());
    record.expect(count == 0 || count == queues.size(), "details of more or fewer queues than it has");
    for (std::size_t i = 0; i < count; ++i) {
      queues[i].detail = table.details()->Get(static_cast<flatbuffers::uoffset_t>(i));
    }
  }
};

template <>
struct Kind<FunctionInfo> {
  using Table = wire::Functions;
  static constexpr auto kType = RecordType::kFunctions;
  static constexpr auto kItems = &wire::Functions::functions;
  static constexpr auto kCreate = wire::CreateFunctionsDirect;

  static Offset<wire::Function> encode(FlatBufferBuilder& builder, const FunctionInfo& function) {
    const auto name = text_of(builder, function.name);
    const auto options = text_of(builder, function.build_options);
    return wire::CreateFunction(builder, function.id, function.code, name, options);
  }
  static std::size_t stored_bytes(const FunctionInfo& function) {
    return 128 + std::min(function.name.size(), format::kMaxText) +
           std::min(function.build_options.size(), format::kMaxText);
  }

  static FunctionInfo decode(RecordView& record, const wire::Function& function) {
    FunctionInfo info;
    info.id = function.id();
    info.code = function.code();
    info.name = record.text(function.name());
    info.build_options = record.text(function.build_options());
    return info;
  }
  static std::size_t kept_bytes(const FunctionInfo& info) { return info.name.size() + info.build_options.size(); }
};

template <>
struct Kind<BufferInfo> {
  using Table = wire::Buffers;
  static constexpr auto kType = RecordType::kBuffers;
  static constexpr auto kItems = &wire::Buffers::buffers;
  static constexpr auto kCreate = wire::CreateBuffersDirect;

  static Offset<wire::Buffer> encode(FlatBufferBuilder& builder, const BufferInfo& buffer) {
    const auto description =
        builder.CreateVector(buffer.description.data(), std::min(buffer.description.size(), format::kMaxDescription));
    // What would reach beyond the last address is not where the program says.
    const bool possible = buffer.size <= ~std::uint64_t{0} - buffer.address;
    return wire::CreateBuffer(builder, buffer.id, buffer.context, buffer.parent, buffer.offset, buffer.size,
                              buffer.flags, buffer.is_image, buffer.is_sampler, description,
                              possible ? buffer.address : 0);
  }
  static std::size_t stored_bytes(const BufferInfo& /*buffer*/) { return 128 + 8 * format::kMaxDescription; }

  static BufferInfo decode(RecordView& record, const wire::Buffer& buffer) {
    BufferInfo info;
    info.id = buffer.id();
    info.context = buffer.context();
    info.parent = buffer.parent();
    info.offset = buffer.offset();
    info.size = buffer.size();
    info.flags = buffer.flags();
    info.is_image = buffer.is_image();
    info.is_sampler = buffer.is_sampler();
    const std::size_t words = record.count(buffer.description());
    record.expect(words <= format::kMaxDescription, "a buffer with too long a description");
    if (words != 0) {
      info.description.assign(buffer.description()->begin(), buffer.description()->end());
    }
    info.address = buffer.address();
    record.expect(info.size <= ~std::uint64_t{0} - info.address, "a buffer reaches beyond the last address");
    return info;
  }
  static std::size_t kept_bytes(const BufferInfo& info) { return info.description.size() * 8; }
};

template <>
struct Kind<ReasonInfo> {
  using Table = wire::Reasons;
  static constexpr auto kType = RecordType::kReasons;
  static constexpr auto kItems = &wire::Reasons::reasons;
  static constexpr auto kCreate = wire::CreateReasonsDirect;

  static Offset<wire::Reason> encode(FlatBufferBuilder& builder, const ReasonInfo& reason) {
    const auto text = text_of(builder, reason.text);
    return wire::CreateReason(builder, reason.id, text);
  }
  static std::size_t stored_bytes(const ReasonInfo& reason) {
    return 64 + std::min(reason.text.size(), format::kMaxText);
  }

  static ReasonInfo decode(RecordView& record, const wire::Reason& reason) {
    return {reason.id(), record.text(reason.text())};
  }
  static std::size_t kept_bytes(const ReasonInfo& info) { return info.text.size(); }
};

template <typename Info>
encode::Payload payload_of(std::span<const Info> infos) {
  FlatBufferBuilder builder;
  std::vector<decltype(Kind<Info>::encode(builder, infos.front()))> items;
  for (const Info& info : infos) {
    items.push_back(Kind<Info>::encode(builder, info));
  }
  if constexpr (requires { Kind<Info>::details(infos); }) {
    const auto details = Kind<Info>::details(infos);
    return encode::release(builder, Kind<Info>::kCreate(builder, &items, details.empty() ? nullptr : &details));
  } else {
    return encode::release(builder, Kind<Info>::kCreate(builder, &items));
  }
}

template <typename Info>
void keep(std::vector<Info>& all, Info info) {
  all.push_back(std::move(info));
}

template <typename Info>
void keep(std::unordered_map<std::uint64_t, Info>& all, Info info) {
  all.try_emplace(info.id, std::move(info));
}

template <typename Info>
void decode(RecordView& record, CaptureStore& store, KnownDefinitions& known) {
  const auto& table = record.root<typename Kind<Info>::Table>();
  const auto* items = (table.*Kind<Info>::kItems)();
  std::vector<Info> infos;
  for (std::size_t i = 0, count = record.count(items); i < count; ++i) {
    infos.push_back(Kind<Info>::decode(record, *items->Get(static_cast<flatbuffers::uoffset_t>(i))));
    store.charge(2 * sizeof(Info) + Kind<Info>::kept_bytes(infos.back()));
  }
  if constexpr (requires { Kind<Info>::add_details(record, table, infos); }) {
    Kind<Info>::add_details(record, table, infos);
  }
  for (Info& info : infos) {
    keep(known.of<Info>(), std::move(info));
  }
}

template <typename... Infos>
void decode_if_one_of(DefinitionKinds<Infos...> /*kinds*/, RecordType type, RecordView& record, CaptureStore& store,
                      KnownDefinitions& known) {
  ((Kind<Infos>::kType == type ? decode<Infos>(record, store, known) : void()), ...);
}

}  // namespace

void encode_definitions(const Definitions& definitions,
                        const std::function<void(RecordType, std::span<const std::uint8_t>)>& append) {
  const auto write = [&]<typename Info>(std::span<const Info> infos) {
    while (!infos.empty()) {
      const auto batch = encode::first_batch(infos, Kind<Info>::stored_bytes);
      const encode::Payload payload = payload_of(batch);
      append(Kind<Info>::kType, std::span(payload.data(), payload.size()));
      infos = infos.subspan(batch.size());
    }
  };
  std::visit(write, definitions);
}

void decode_definitions(RecordType type, RecordView& record, CaptureStore& store, KnownDefinitions& known) {
  decode_if_one_of(AllDefinitionKinds{}, type, record, store, known);
}

}  // namespace refrain::capture
