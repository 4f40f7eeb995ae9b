// One submission, as every other part of Refrain sees it: a flat record without vendor types.
//
// An entry point of layer/<api> writes the record with OperationWriter; capture/ stores it, replay/
// compares it, backends/<api> turns it into a node of a native command buffer. Flat, because the hot
// path copies a record with one memcpy and "same arguments as last time" is one memcmp.
//
// Layout of a record (everything 8-byte aligned, little endian):
//
//   OperationHeader
//   uint64_t           words[word_count]            numbers: launch shape, offsets, sizes (operation_kind.h)
//   ArgumentDescriptor arguments[argument_count]    what each argument is
//   bytes              values                       argument values, each padded to 8 bytes
//   WaitRef            waits[wait_count]            events waited for; not part of "same arguments"
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "capture/operation_kind.h"

namespace refrain::capture {

/// What must be equal for two operations to share a graph node: kind, function identity, launch
/// shape, queue role and the roles of the events waited for. Not the arguments.
/// 0 is reserved for "a host call". Equal tokens are necessary, not sufficient: compare `comparable()`.
using Token = std::uint64_t;
inline constexpr Token kHostCallToken = 0;

/// A native handle as the application sees it; 0 is none. Handles are reused by drivers.
using Handle = std::uint64_t;

/// Process-wide number of an object, given at creation and never reused, so that two buffers that
/// happened to have the same handle one after the other can be told apart. 0 is none.
using ObjectId = std::uint64_t;

/// Content identity of a kernel: hash of program content, build options and kernel name. The same
/// for every handle and every run. 0 is none.
using FunctionId = std::uint64_t;

enum class ArgumentKind : std::uint16_t {
  kUnset = 0,        ///< never set by the application
  kValue = 1,        ///< plain bytes
  kBuffer = 2,       ///< 8-byte handle of a buffer; `object` is its id
  kImage = 3,        ///< 8-byte handle of an image; `object` is its id
  kSampler = 4,      ///< 8-byte handle of a sampler; `object` is its id
  kPointer = 5,      ///< 8-byte device-visible pointer; `object` is the allocation's id if known
  kLocalMemory = 6,  ///< no value; `size` is the number of bytes asked for
  kHostPointer = 7,  ///< 8-byte host address; only valid in the process that made the record
  kOtherHandle = 8,  ///< 8-byte handle of something else (queue, pipe, …)
};

struct ArgumentDescriptor {
  std::uint32_t size = 0;  ///< bytes of the value as the application gave it (kLocalMemory: bytes asked for)
  ArgumentKind kind = ArgumentKind::kUnset;
  std::uint16_t reserved = 0;
  ObjectId object = 0;

  /// Bytes the value takes in the record, padding included.
  [[nodiscard]] std::size_t stored_bytes() const noexcept {
    return kind == ArgumentKind::kUnset || kind == ArgumentKind::kLocalMemory
               ? 0
               : (std::size_t{size} + 7U) & ~std::size_t{7U};
  }
};
static_assert(sizeof(ArgumentDescriptor) == 16);

/// An event that an operation waits for. With kInternalWait: that of the operation of the same lane whose `sequence`
/// is in the low bits. Without: a native event handle from elsewhere.
using WaitRef = std::uint64_t;
inline constexpr WaitRef kInternalWait = std::uint64_t{1} << 63U;
/// The order of the operation's queue implies the wait. The token does not tell of it, it makes no edge and begins no
/// part of a graph; the driver is told all the same, because the event may fail.
inline constexpr WaitRef kOrderedWait = std::uint64_t{1} << 62U;
/// The token says which earlier operation of the lane waited for the same event. If that one belongs to the same graph,
/// both wait for one event whenever the graph is used.
inline constexpr WaitRef kRepeatedWait = std::uint64_t{1} << 61U;

[[nodiscard]] inline constexpr bool is_internal(WaitRef wait) noexcept {
  return (wait & kInternalWait) != 0;
}
/// The number of the operation, or the native event.
[[nodiscard]] inline constexpr std::uint64_t target_of(WaitRef wait) noexcept {
  return wait & ~(kInternalWait | kOrderedWait | kRepeatedWait);
}

/// Bits of OperationHeader::flags.
enum OperationFlags : std::uint16_t {
  kWantsEvent = 1U << 0U,     ///< the application asked for an event
  kBlocking = 1U << 1U,       ///< the call returns only when the work is done
  kWaitsForQueue = 1U << 2U,  ///< marker or barrier without wait list: after all earlier work of its queue
  kBlocksQueue = 1U << 3U,    ///< barrier: all later work of its queue comes after it
  // In captures, as the layer and the device's backend say:
  kAtOnce = 1U << 4U,      ///< never held or recorded
  kRecordable = 1U << 5U,  ///< held and recorded, whatever its kind
  kBetween = 1U << 6U,     ///< held, but submitted between the parts of a graph: kAtOnce as well
  kFixed = 1U << 7U,       ///< its arguments cannot be changed in a graph
  kEndsHold = 1U << 8U,    ///< what is held leaves with it (replay::Submission::ends)
};

struct OperationHeader {
  std::uint32_t size = 0;  ///< bytes of the whole record, a multiple of 8
  OperationKind kind = OperationKind::kUnknown;
  std::uint16_t flags = 0;  ///< OperationFlags
  Token token = 0;
  std::uint64_t sequence = 0;  ///< number of this submission in its lane, from 1
  std::uint64_t time_ns = 0;   ///< steady clock when the application called
  ObjectId queue = 0;
  Handle queue_handle = 0;
  FunctionId function = 0;     ///< kKernel only
  Handle function_handle = 0;  ///< kKernel: the application's kernel object; kEventRecord and kEventWait: its event
  /// The layer's: what setters have set, of the kernel, of its queue and of what is around them, when the call came.
  /// Part of the token as well.
  std::uint64_t state = 0;
  std::uint64_t promise = 0;  ///< the layer's: event promised to the application for held work
  std::uint16_t word_count = 0;
  std::uint16_t argument_count = 0;
  std::uint16_t wait_count = 0;
  std::uint16_t reason = 0;       ///< in captures, why it is kAtOnce: ReasonInfo::id; 0: not told
  std::uint32_t value_bytes = 0;  ///< bytes of the `values` section
  std::uint32_t host_ns = 0;      ///< time the driver call took, if it was issued and measured; else 0
};
static_assert(sizeof(OperationHeader) == 96);

/// Read-only view of a record. Does not own it. Records made by OperationWriter are well formed;
/// check any other with well_formed() first.
class OperationView {
 public:
  OperationView() = default;
  explicit OperationView(const std::byte* record) noexcept
      : header_(reinterpret_cast<const OperationHeader*>(record)) {}

  /// True if `bytes` starts with a complete record whose sections lie inside it and whose counts fit
  /// its kind. Never reads outside `bytes`; `bytes.data()` must be 8-byte aligned.
  static bool well_formed(std::span<const std::byte> bytes) noexcept;

  explicit operator bool() const noexcept { return header_ != nullptr; }
  [[nodiscard]] const OperationHeader& header() const noexcept { return *header_; }
  [[nodiscard]] OperationKind kind() const noexcept { return header_->kind; }
  [[nodiscard]] Token token() const noexcept { return header_->token; }
  [[nodiscard]] bool has(OperationFlags flag) const noexcept { return (header_->flags & flag) != 0; }

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    return {reinterpret_cast<const std::byte*>(header_), header_->size};
  }
  /// All numbers, in order: for who compares, stores or shows them whatever they mean.
  [[nodiscard]] std::span<const std::uint64_t> words() const noexcept {
    return {reinterpret_cast<const std::uint64_t*>(header_ + 1), header_->word_count};
  }
  /// The numbers by their names, of a well formed record of a kind that `Numbers` is for and that always has as many.
  template <words::Structure Numbers>
  [[nodiscard]] const Numbers& as() const noexcept {
    return *reinterpret_cast<const Numbers*>(header_ + 1);
  }
  /// The same for any record: null if it is of another kind, or does not have as many.
  template <words::Structure Numbers>
  [[nodiscard]] const Numbers* find() const noexcept {
    return words::is_for<Numbers>(header_->kind) && header_->word_count == words::kCount<Numbers> ? &as<Numbers>()
                                                                                                  : nullptr;
  }
  [[nodiscard]] std::span<const ArgumentDescriptor> arguments() const noexcept {
    return {reinterpret_cast<const ArgumentDescriptor*>(words().data() + header_->word_count), header_->argument_count};
  }
  /// All argument values, one after the other. Offsets follow from ArgumentDescriptor::stored_bytes().
  [[nodiscard]] std::span<const std::byte> values() const noexcept {
    return {reinterpret_cast<const std::byte*>(arguments().data() + header_->argument_count), header_->value_bytes};
  }
  [[nodiscard]] std::span<const WaitRef> waits() const noexcept {
    return {reinterpret_cast<const WaitRef*>(values().data() + header_->value_bytes), header_->wait_count};
  }
  /// Value bytes of argument `index` (unpadded). Linear in `index`; to visit all, walk values() once.
  [[nodiscard]] std::span<const std::byte> value_of(std::size_t index) const noexcept;
  /// The 8-byte handle or pointer of argument `index`; 0 if it is not one.
  [[nodiscard]] std::uint64_t handle_of(std::size_t index) const noexcept;

  /// The sections that must be equal, byte for byte, for a recorded node to do exactly what this
  /// operation asks: words, arguments, values. Compare `function`, `queue` and `kind` as well: same_work().
  [[nodiscard]] std::span<const std::byte> comparable() const noexcept {
    return {reinterpret_cast<const std::byte*>(header_ + 1), header_->word_count * sizeof(std::uint64_t) +
                                                                 header_->argument_count * sizeof(ArgumentDescriptor) +
                                                                 header_->value_bytes};
  }

 private:
  const OperationHeader* header_ = nullptr;
};

/// Of an event that is recorded.
[[nodiscard]] inline bool takes_time(const OperationView& operation) noexcept {
  const auto* const numbers = operation.find<words::EventRecord>();
  return numbers != nullptr && numbers->takes_time != 0;
}

/// How much memory, from the address in argument `index` on, a copy or fill by pointers uses; 0 for other kinds, and
/// the largest number if numbers from a damaged file overflow.
[[nodiscard]] std::uint64_t bytes_named(const OperationView& operation, std::size_t index) noexcept;

/// True if two operations ask for exactly the same work with the same arguments (waits and flags aside).
[[nodiscard]] inline bool same_work(const OperationView& a, const OperationView& b) noexcept {
  const OperationHeader& x = a.header();
  const OperationHeader& y = b.header();
  if (x.kind != y.kind || x.function != y.function || x.queue != y.queue || x.word_count != y.word_count ||
      x.argument_count != y.argument_count || x.value_bytes != y.value_bytes) {
    return false;
  }
  const auto left = a.comparable();
  return std::memcmp(left.data(), b.comparable().data(), left.size()) == 0;
}

/// Leaves new elements as they are: every byte of a record is written once anyway.
template <class T>
struct UnsetAllocator : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = UnsetAllocator<U>;
  };
  template <class U>
  void construct(U* /*place*/) noexcept {}
  template <class U, class... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
  }
};
using RecordBytes = std::vector<std::byte, UnsetAllocator<std::byte>>;

/// Builds records one behind the other in a caller-owned byte vector (which only grows; reuse it).
/// Call in the order of the layout: begin, word…, argument…, wait…, finish. Not thread-safe.
///
/// Everything is written to its place directly: what is put together on the stack by small stores and copied with
/// larger loads right after stalls the processor, for longer than all the rest takes.
class OperationWriter {
 public:
  explicit OperationWriter(RecordBytes& storage) noexcept : storage_(&storage) {}

  /// Starts a kernel launch and writes everything up to its waits in one go: the hot path of the layers.
  OperationHeader& begin_kernel(Token token, const words::Kernel& shape,
                                std::span<const ArgumentDescriptor> descriptors,
                                std::span<const std::byte> padded_values);
  /// The same for layers that gather all of it themselves: the sections of a record of which only the header is
  /// written. All of their bytes, padding included, are to be written before the next call, until which they are valid.
  struct KernelSections {
    OperationHeader& header;
    words::Kernel& shape;
    ArgumentDescriptor* arguments;
    std::byte* values;
  };
  KernelSections begin_kernel_sections(Token token, std::size_t arguments, std::size_t value_bytes) {
    std::byte* place =
        extend(sizeof(OperationHeader) + sizeof(words::Kernel) + arguments * sizeof(ArgumentDescriptor) + value_bytes);
    auto* header = ::new (static_cast<void*>(place)) OperationHeader;
    header->kind = OperationKind::kKernel;
    header->token = token;
    header->word_count = words::kCount<words::Kernel>;
    header->argument_count = static_cast<std::uint16_t>(arguments);
    header->value_bytes = static_cast<std::uint32_t>(value_bytes);
    auto* shape = reinterpret_cast<words::Kernel*>(header + 1);
    auto* descriptors = reinterpret_cast<ArgumentDescriptor*>(shape + 1);
    return {*header, *shape, descriptors, reinterpret_cast<std::byte*>(descriptors + arguments)};
  }
  /// Starts a record at the end of the storage. Returns its header, valid until the next call.
  OperationHeader& begin(OperationKind kind, Token token);
  /// The numbers of a record of one of the kinds that `Numbers` is for.
  template <words::Structure Numbers>
  void words(const Numbers& numbers) {
    append(&numbers, sizeof(numbers));
    header().word_count = static_cast<std::uint16_t>(header().word_count + words::kCount<Numbers>);
  }
  /// One more, where there may be any number of them.
  void word(std::uint64_t value);
  /// Adds an argument with its value. For kLocalMemory `value` is ignored and `size` counts.
  void argument(ArgumentKind kind, ObjectId object, std::span<const std::byte> value);
  void argument_handle(ArgumentKind kind, ObjectId object, std::uint64_t handle);
  void argument_local(std::uint32_t bytes);
  /// Adds a ready-made argument section: descriptors, then the padded values they describe. Must be
  /// the last arguments added.
  void arguments(std::span<const ArgumentDescriptor> descriptors, std::span<const std::byte> padded_values);
  void wait(WaitRef ref);
  /// Completes the record; returns its offset in the storage.
  std::size_t finish() {
    if (!values_.empty()) {
      append_values();
    }
    header().size = static_cast<std::uint32_t>(storage_->size() - start_);
    return start_;
  }
  /// The header of the record being built.
  OperationHeader& header() noexcept { return *reinterpret_cast<OperationHeader*>(storage_->data() + start_); }

 private:
  /// A new record of so many bytes.
  std::byte* extend(std::size_t bytes) {
    start_ = storage_->size();
    values_.clear();
    storage_->resize(start_ + bytes);
    return storage_->data() + start_;
  }
  void append(const void* data, std::size_t bytes);
  void append_values();
  RecordBytes* storage_;
  std::size_t start_ = 0;
  std::vector<std::byte> values_;  // argument values wait here until all descriptors are written
};

/// How a queue is ordered with the default queue of its context, without events (CUDA's and HIP's legacy
/// default stream). Stable numbers: they are written to capture files.
enum class DefaultOrder : std::uint8_t {
  kNone = 0,         ///< not at all
  kWithDefault = 1,  ///< what is submitted here comes after earlier work of the default queue, and before later
  kIsDefault = 2,    ///< this is the default queue
};

/// What replay/ and capture/ need to know of a queue. Written once per queue to a capture.
struct QueueInfo {
  ObjectId id = 0;
  Handle handle = 0;
  ObjectId context = 0;
  ObjectId device = 0;
  std::uint32_t role = 0;  ///< number of first use in its lane's context: what tokens are made from
  bool in_order = true;
  bool profiling = false;
  DefaultOrder default_order = DefaultOrder::kNone;
  /// What else the API needs to make one like it, as its layer writes and its backend reads it; 0: nothing.
  std::uint64_t detail = 0;
  bool operator==(const QueueInfo&) const = default;
};

/// Mixes `value` into hash `seed`. Cheap and good enough for tokens; not for hostile input.
[[nodiscard]] inline std::uint64_t mix(std::uint64_t seed, std::uint64_t value) noexcept {
  const __uint128_t product = static_cast<__uint128_t>(seed ^ 0x9E3779B97F4A7C15ULL) * (value ^ 0xD6E8FEB86659FD93ULL);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

}  // namespace refrain::capture
