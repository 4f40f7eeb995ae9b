// Kernel launches as records; see backends/streams/operation.h for their form.
#pragma once

#include <cstring>
#include <span>

#include "backends/streams/operation.h"
#include "layer/streams/predicted.h"
#include "layer/streams/submission.h"

namespace refrain::layer::streams {

/// A launch as every API with streams has it.
struct Launch {
  const replay::EntryPoint& entry_point;
  Handle function;  ///< for the driver
  backends::Grid grid, block;
  unsigned shared_bytes;
  void** parameters;                  ///< null: `buffer`
  std::span<const std::byte> buffer;  ///< the parameters in one piece, if they came like that
  const char* unholdable = nullptr;   ///< why no launch of this form is held
  std::span<const std::byte> more;    ///< what else there is to say, in bytes that are equal if it is
  bool others_wait = false;           ///< kernels of other devices may, by what `more` says
};

/// The buffer that `extra` of a launch describes: 1, its address, 2, the address of its size, `end`.
inline std::span<const std::byte> buffer_of(void** extra, const void* end) noexcept {
  const std::byte* data = nullptr;
  std::size_t size = 0;
  for (int i = 0; extra != nullptr && i < 8 && extra[i] != end; i += 2) {
    if (extra[i] == reinterpret_cast<void*>(1)) {
      data = static_cast<const std::byte*>(extra[i + 1]);
    } else if (extra[i] == reinterpret_cast<void*>(2)) {
      size = *static_cast<const std::size_t*>(extra[i + 1]);
    }
  }
  return {data, data == nullptr ? 0 : size};
}

[[nodiscard]] inline const char* reason_not_to_hold(const Launch& launch, const FunctionState* function) noexcept {
  if (function == nullptr) {
    return "the kernel is not known";
  }
  if (function->unholdable != nullptr) {
    return function->unholdable;
  }
  if (launch.unholdable != nullptr) {
    return launch.unholdable;
  }
  if (launch.parameters == nullptr && !function->buffer_offsets.empty()) {
    const std::size_t last = function->buffer_offsets.size() - 1;
    if (launch.buffer.size() < function->buffer_offsets[last] + function->descriptors[last].size) {
      return "its argument buffer does not fit the kernel";
    }
  }
  return nullptr;
}

/// A parameter in the record: its bytes, and zeros up to the next multiple of eight. Returns the place of the next one.
inline std::byte* copy_parameter(std::byte* to, const void* from, std::uint32_t size) noexcept {
  constexpr std::uint32_t kWord = sizeof(std::uint64_t);
  if (size == kWord) [[likely]] {
    std::memcpy(to, from, kWord);
    return to + kWord;
  }
  if (size == sizeof(std::uint32_t)) {
    std::uint32_t value = 0;
    std::memcpy(&value, from, sizeof(value));
    const std::uint64_t padded = value;
    std::memcpy(to, &padded, kWord);
    return to + kWord;
  }
  if (size == 0) {
    return to;
  }
  const std::size_t words = (size - 1) / kWord;
  std::memset(to + words * kWord, 0, kWord);
  std::memcpy(to, from, size);
  return to + (words + 1) * kWord;
}

[[gnu::always_inline]] inline void describe_launch(const Launch& launch, const FunctionState* function, bool readable,
                                                   capture::OperationWriter& writer, Token token) {
  const std::size_t known = readable ? function->descriptors.size() : 0;
  const std::size_t bytes = readable ? function->value_bytes : 0;
  capture::ArgumentDescriptor more;
  more.kind = capture::ArgumentKind::kValue;
  more.size = static_cast<std::uint32_t>(launch.more.size());
  const bool with_more = readable && !launch.more.empty();
  const auto sections =
      writer.begin_kernel_sections(token, known + (with_more ? 1 : 0), bytes + (with_more ? more.stored_bytes() : 0));
  if (function != nullptr) {
    sections.header.function = function->recorded != 0 ? function->recorded : function->id;
  }
  sections.header.function_handle = launch.function;
  sections.shape = backends::shape_of(launch.grid, launch.block);
  if (readable) {
    const capture::ArgumentDescriptor* const descriptors = function->descriptors.data();
    const std::size_t count = known - 1;
    std::byte* value = sections.values;
    if (launch.parameters != nullptr) [[likely]] {
      for (std::size_t i = 0; i < count; ++i) {
        std::memcpy(&sections.arguments[i], &descriptors[i], sizeof(more));
        value = copy_parameter(value, launch.parameters[i], descriptors[i].size);
      }
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        std::memcpy(&sections.arguments[i], &descriptors[i], sizeof(more));
        value = copy_parameter(value, launch.buffer.data() + function->buffer_offsets[i], descriptors[i].size);
      }
    }
    // The dynamic shared memory is the descriptor behind the parameters'.
    std::memcpy(&sections.arguments[count], &descriptors[count], sizeof(more));
    sections.arguments[count].size = launch.shared_bytes;
    if (with_more) {
      sections.arguments[known] = more;
      std::memset(sections.values + bytes, 0, more.stored_bytes());
      std::memcpy(sections.values + bytes, launch.more.data(), launch.more.size());
    }
  }
  writer.finish();
}

/// Whether every device runs the kernel with this grid, and a node of another one may be given it: then a grid that
/// never came before may be held. What more there is to say of a launch may limit its grid.
[[nodiscard]] inline bool any_device_takes(const Launch& launch, const FunctionState& function) noexcept {
  constexpr std::uint64_t kMostThreads = 0x7FFFFFFF, kMostRows = 0xFFFF;
  const auto within = [](std::uint64_t value, std::uint64_t most) { return value - 1 < most; };
  return function.any_grid && launch.more.empty() &&
         within(std::uint64_t{launch.grid.x} * launch.block.x, kMostThreads) && within(launch.grid.y, kMostRows) &&
         within(launch.grid.z, kMostRows);
}

/// The same of a kernel that never came before, once others of its family have come in this way.
[[nodiscard]] inline bool family_takes(const Launch& launch, const FunctionState& function) noexcept {
  const LaunchLimits limits = function.limits.load(std::memory_order_relaxed);
  const std::uint64_t threads = std::uint64_t{launch.block.x} * launch.block.y * launch.block.z;
  return (threads == limits.threads || (threads < limits.threads && limits.threads == LaunchLimits::kMostThreads)) &&
         launch.shared_bytes <= limits.shared_bytes;
}

/// What a launch asks for, compared with what a record says.
enum class Sameness : std::uint8_t {
  kOther,        ///< something else
  kOtherValues,  ///< the same kernel in the same way, but with other parameters, of the same sizes, or with another
                 ///< grid, or another kernel, where those change: one graph's
  kSame,
};

/// Compares what is passed; `parameter(i)` is the address of one, `same_more(bytes)` compares launch.more. The record
/// is one of a launch of the same kernel, or of one with the same parameters.
template <class Parameter, class More>
[[nodiscard, gnu::always_inline]] inline Sameness compare_parameters(const Launch& launch,
                                                                     const capture::OperationView& known,
                                                                     Parameter&& parameter, More&& same_more) noexcept {
  const capture::ArgumentDescriptor* argument = known.arguments().data();
  const std::byte* value = known.values().data();
  bool same = true;
  for (std::size_t i = 0; argument->kind != capture::ArgumentKind::kLocalMemory; ++i, ++argument) {
    const std::size_t size = argument->size;
    if (size == sizeof(std::uint64_t)) [[likely]] {
      same &= std::memcmp(value, parameter(i), sizeof(std::uint64_t)) == 0;
    } else if (size == sizeof(std::uint32_t)) {
      same &= std::memcmp(value, parameter(i), sizeof(std::uint32_t)) == 0;
    } else if (size != 0) {
      same = same && std::memcmp(value, parameter(i), size) == 0;
    }
    value += (size + 7U) & ~std::size_t{7U};
  }
  // What is behind the dynamic shared memory is `more`.
  const bool with_more = known.arguments().data() + known.header().argument_count - argument == 2;
  if (argument->size != launch.shared_bytes ||
      !same_more(std::span(value, with_more ? argument[1].size : std::size_t{0}))) {
    return Sameness::kOther;
  }
  return same ? Sameness::kSame : Sameness::kOtherValues;
}

[[nodiscard]] inline bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) noexcept {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

/// Where the parameters of a launch are, if they came in one piece. Null if it is not known for sure.
[[nodiscard]] inline const std::uint32_t* offsets_of(const Launch& launch, const FunctionState* function) noexcept {
  return function != nullptr && reason_not_to_hold(launch, function) == nullptr ? function->buffer_offsets.data()
                                                                                : nullptr;
}

/// If nobody knows the kernel of the launch any more by the number that it has in the record: null.
[[nodiscard]] inline const FunctionState* still_same(const FunctionState* function,
                                                     const capture::OperationView& known) noexcept {
  return function != nullptr && function->id == known.header().function ? function : nullptr;
}

/// Not inlined, and neither is only_changes(): hardly any launch needs them, and all others would save more registers.
[[nodiscard, gnu::hot, gnu::noinline]] inline Sameness compare_buffer(const Launch& launch,
                                                                      const capture::OperationView& known,
                                                                      const FunctionState* function) noexcept {
  const std::uint32_t* const offsets = offsets_of(launch, function);
  return offsets == nullptr ? Sameness::kOther
                            : compare_parameters(
                                  launch, known, [&](std::size_t i) { return launch.buffer.data() + offsets[i]; },
                                  [&](std::span<const std::byte> more) { return same_bytes(more, launch.more); });
}

/// Whether the record is one of a launch whose parameters are known.
[[nodiscard, gnu::always_inline]] inline bool is_launch(const Launch& launch,
                                                        const capture::OperationView& known) noexcept {
  const capture::OperationHeader& header = known.header();
  return header.kind == OperationKind::kKernel && header.argument_count != 0 && launch.unholdable == nullptr;
}

/// Whether the record is one of a launch of the same kernel.
[[nodiscard, gnu::always_inline]] inline bool same_function(const Launch& launch,
                                                            const capture::OperationView& known) noexcept {
  return is_launch(launch, known) && known.header().function_handle == launch.function;
}

/// Whether it is one with the same grid and block.
[[nodiscard, gnu::always_inline]] inline bool same_shape(const Launch& launch,
                                                         const capture::OperationView& known) noexcept {
  const auto& shape = known.as<capture::words::Kernel>();
  const backends::Grid& grid = launch.grid;
  const backends::Grid& block = launch.block;
  // Bit by bit and together: they hardly ever differ.
  return ((shape.local[0] ^ block.x) | (shape.local[1] ^ block.y) | (shape.local[2] ^ block.z) |
          (shape.global[0] ^ (std::uint64_t{grid.x} * block.x)) |
          (shape.global[1] ^ (std::uint64_t{grid.y} * block.y)) |
          (shape.global[2] ^ (std::uint64_t{grid.z} * block.z))) == 0;
}

/// Whether nothing but the grid differs from the record, or the kernel is another one of the same family, and may.
/// `function`: of the launch; `recorded`: that the record's handle stands for now. Null: not known.
[[nodiscard, gnu::noinline]] inline bool only_changes(const Launch& launch, const capture::OperationView& known,
                                                      const FunctionState* function,
                                                      const FunctionState* recorded) noexcept {
  const capture::OperationHeader& header = known.header();
  const auto& block = known.as<capture::words::Kernel>().local;
  if (function == nullptr || !function->family->launches.change() ||
      block != capture::words::Three{launch.block.x, launch.block.y, launch.block.z} ||
      !any_device_takes(launch, *function)) {
    return false;
  }
  if (recorded == nullptr || recorded->id != header.function || recorded->family != function->family) {
    return false;
  }
  return recorded == function ||
         (family_takes(launch, *function) && family_takes(launch, *recorded) &&
          recorded->state.load(std::memory_order_acquire) == function->state.load(std::memory_order_acquire));
}

/// Whether the record is one of a launch of the same kernel in the same way, or with another grid where grids change.
/// `find()`: the function of the launch, or null; only called in the second case.
template <class Find>
[[nodiscard, gnu::always_inline]] inline bool same_kernel(const Launch& launch, const capture::OperationView& known,
                                                          Find&& find) noexcept {
  if (!same_function(launch, known) || same_shape(launch, known)) {
    return same_function(launch, known);
  }
  const FunctionState* const function = find();
  return only_changes(launch, known, function, function);
}

/// Compares everything but the stream. `find()`: the function of the launch, `recorded()`: that the record's handle
/// stands for now, or null; only called if the parameters of the launch come in one piece (cuBLASLt's do), or its grid
/// or kernel is another one.
template <class Find, class Recorded>
[[nodiscard, gnu::always_inline]] inline Sameness compare(const Launch& launch, const capture::OperationView& known,
                                                          Find&& find, Recorded&& recorded) noexcept {
  const bool same = same_function(launch, known) && same_shape(launch, known);
  if (!same && (!is_launch(launch, known) || !only_changes(launch, known, find(), recorded()))) {
    return Sameness::kOther;
  }
  const Sameness sameness = launch.parameters != nullptr
                                ? compare_parameters(
                                      launch, known, [&](std::size_t i) { return launch.parameters[i]; },
                                      [&](std::span<const std::byte> more) { return same_bytes(more, launch.more); })
                                : compare_buffer(launch, known, same ? still_same(find(), known) : find());
  return sameness == Sameness::kSame && !same ? Sameness::kOtherValues : sameness;
}

/// Writes the launch's kernel, grid and parameters into a copy of the record that it was compared with; `function`: of
/// the launch, or null if it is the record's and the parameters did not come in one piece.
inline void write_launch(const Launch& launch, const FunctionState* function, std::byte* record) noexcept {
  if (function != nullptr) {
    auto& header = *reinterpret_cast<capture::OperationHeader*>(record);
    header.function = function->id;
    header.function_handle = launch.function;
  }
  const capture::OperationView known(record);
  const auto shape = backends::shape_of(launch.grid, launch.block);
  std::memcpy(record + sizeof(capture::OperationHeader), &shape, sizeof(shape));
  const std::uint32_t* const offsets = launch.parameters == nullptr ? offsets_of(launch, function) : nullptr;
  const capture::ArgumentDescriptor* argument = known.arguments().data();
  std::byte* value = record + (known.values().data() - record);
  for (std::size_t i = 0; argument->kind != capture::ArgumentKind::kLocalMemory; ++i, ++argument) {
    const void* const parameter = offsets != nullptr ? launch.buffer.data() + offsets[i] : launch.parameters[i];
    value = copy_parameter(value, parameter, argument->size);
  }
}

/// True if the launch is the one that the calling thread's lane expects, but for its parameters perhaps, and is held
/// now: nothing else has to be found out about it. Not inlined: where nothing is predicted, that is code that would
/// only lie in between.
template <class L>
[[nodiscard, gnu::hot, gnu::noinline]] bool hold_predicted(const Launch& launch, typename L::Api::StreamHandle stream,
                                                           DefaultStream by_default, StatusOf<L>* status) noexcept {
  replay::Lane& lane = *replay::Lane::current;
  const capture::OperationView known = lane.fetch_predicted();
  if (!known) {
    return false;  // another thread has flushed
  }
  const auto find = [&] { return L::function_of(launch.function); };
  const Sameness sameness =
      compare(launch, known, find, [&] { return L::objects().functions.find(known.header().function_handle); });
  if (sameness == Sameness::kOther ||
      !L::is_stream(backends::Stream<typename L::Api>::of(known.header().queue_handle), stream, by_default)) {
    lane.mispredicted();
    return false;
  }
  int error = 0;
  if (sameness == Sameness::kSame) [[likely]] {
    if (!lane.hold_predicted(&error)) {
      return false;
    }
  } else if (!lane.hold_predicted(&error, replay::Change([&](std::byte* record) {
               const bool needed = launch.parameters == nullptr || known.header().function_handle != launch.function;
               write_launch(launch, needed ? find() : nullptr, record);
             }))) {
    return false;
  }
  *status = static_cast<StatusOf<L>>(error);
  L::on_hold(*status);
  return true;
}

/// The same, only if the launch is exactly what is predicted; launch.more is not looked at, but `same_more` told what
/// it should be. What `launch` consists of stays in registers where this is inlined.
template <class L, class More>
[[nodiscard, gnu::always_inline]] inline bool hold_same(const Launch& launch, typename L::Api::StreamHandle stream,
                                                        DefaultStream by_default, More&& same_more,
                                                        StatusOf<L>* status) noexcept {
  replay::Lane& lane = *replay::Lane::current;
  const capture::OperationView known = lane.fetch_predicted();
  if (!known || !same_function(launch, known) || !same_shape(launch, known)) {
    return false;
  }
  if (launch.parameters != nullptr) {
    if (compare_parameters(
            launch, known, [&](std::size_t i) { return launch.parameters[i]; }, same_more) != Sameness::kSame) {
      return false;
    }
  } else {
    const std::uint32_t* const offsets = offsets_of(launch, still_same(L::function_of(launch.function), known));
    if (offsets == nullptr || compare_parameters(
                                  launch, known, [&](std::size_t i) { return launch.buffer.data() + offsets[i]; },
                                  same_more) != Sameness::kSame) {
      return false;
    }
  }
  int error = 0;
  if (!L::is_stream(backends::Stream<typename L::Api>::of(known.header().queue_handle), stream, by_default) ||
      !lane.hold_predicted(&error)) {
    return false;
  }
  *status = static_cast<StatusOf<L>>(error);
  L::on_hold(*status);
  return true;
}

/// Of launches that share a node: any parameters, any grid and kernel of a family where those change, one `more`.
/// `stretch`: Lane::stretch().
[[nodiscard, gnu::always_inline]] inline Token launch_token(const Launch& launch, const FunctionState* function,
                                                            std::uint64_t state, std::uint64_t stretch) noexcept {
  // As few steps as can be that wait for each other.
  constexpr Token kKernel = 0x8F2C1B7D5A3E6409ULL, kOdd = 0xA0761D6478BD642FULL;
  const Token first = mix(kKernel + (function == nullptr ? 0 : function->id) + state,
                          std::uint64_t{launch.grid.x} << 32U | launch.grid.y);
  const Token second =
      mix(std::uint64_t{launch.block.x} << 32U | launch.block.y, std::uint64_t{launch.block.z} << 32U | launch.grid.z);
  const Token token = mix(first + launch.shared_bytes * kOdd, second);
  if (function != nullptr && function->family->launches.note(token, stretch) && any_device_takes(launch, *function))
      [[unlikely]] {
    const Token block = std::uint64_t{launch.block.x} << 32U | launch.block.y << 16U | launch.block.z;
    const capture::FunctionId kernel = family_takes(launch, *function) ? ~function->family->id : function->id;
    return mix(kKernel - kernel - state, block + launch.shared_bytes * kOdd);
  }
  return token;
}

/// `more_token`: of launch.more.
template <class L, class Issue>
StatusOf<L> launch_kernel(const Launch& launch, Token more_token, StreamState<typename L::Api>* stream,
                          const FunctionState* function, Issue&& issue) noexcept {
  const replay::Engine* const running = L::any_engine();
  const std::uint64_t changes = running == nullptr ? 0 : running->state_changes().begun();
  const std::uint64_t state = function == nullptr ? 0 : function->state.load(std::memory_order_acquire);
  const Token token = launch_token(launch, function, state, current_stretch());
  const char* why_not = reason_not_to_hold(launch, function);
  const Call call{launch.entry_point,
                  OperationKind::kKernel,
                  launch.more.empty() ? token : mix(token, more_token),
                  why_not,
                  false,
                  changes,
                  state,
                  launch.others_wait || (function != nullptr && function->others_wait)};
  return submit<L>(
      call, stream,
      [&](capture::OperationWriter& writer, Token whole, bool) {
        describe_launch(launch, function, why_not == nullptr, writer, whole);
      },
      issue);
}

}  // namespace refrain::layer::streams
