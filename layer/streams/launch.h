// Kernel launches as records; see backends/streams/operation.h for their form.
#pragma once

#include <cstring>
#include <span>

#include "backends/streams/operation.h"
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
  Token more_token = 0;
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
  if (launch.parameters == nullptr && !function->offsets.empty()) {
    const std::size_t last = function->offsets.size() - 1;
    if (launch.buffer.size() < function->buffer_offsets[last] + function->descriptors[last].size) {
      return "its argument buffer does not fit the kernel";
    }
  }
  return nullptr;
}

inline void describe_launch(const Launch& launch, const FunctionState* function, bool readable,
                            capture::OperationWriter& writer, Token token) {
  const auto words = backends::shape_words(launch.grid, launch.block);
  capture::ArgumentDescriptor more;
  more.kind = capture::ArgumentKind::kValue;
  more.size = static_cast<std::uint32_t>(launch.more.size());
  const std::span<const capture::ArgumentDescriptor> descriptors =
      readable ? std::span<const capture::ArgumentDescriptor>(function->descriptors)
               : std::span<const capture::ArgumentDescriptor>();
  const bool with_more = readable && !launch.more.empty();
  const std::size_t bytes = readable ? function->value_bytes : 0;
  const std::span<std::byte> values =
      writer.begin_kernel_values(token, words, descriptors, {&more, with_more ? std::size_t{1} : std::size_t{0}},
                                 bytes + (with_more ? more.stored_bytes() : 0));
  capture::OperationHeader& header = writer.header();
  header.function = function != nullptr ? function->id : 0;
  header.function_handle = launch.function;
  if (readable) {
    for (std::size_t i = 0; i < function->offsets.size(); ++i) {
      const void* from =
          launch.parameters != nullptr ? launch.parameters[i] : launch.buffer.data() + function->buffer_offsets[i];
      std::memcpy(values.data() + function->offsets[i], from, function->descriptors[i].size);
    }
    if (with_more) {
      std::memcpy(values.data() + bytes, launch.more.data(), launch.more.size());
    }
    // The dynamic shared memory is the descriptor behind the parameters'.
    auto* written = reinterpret_cast<capture::ArgumentDescriptor*>(
        values.data() - (descriptors.size() + (with_more ? 1 : 0)) * sizeof(more));
    written[descriptors.size() - 1].size = launch.shared_bytes;
  }
  writer.finish();
}

/// To be called when short_way() said to go on.
template <class L, class Issue>
StatusOf<L> launch_kernel(const Launch& launch, StreamState<typename L::Api>* stream, const FunctionState* function,
                          Issue&& issue) noexcept {
  // Two chains, so that the processor can work on both at once.
  const Token first = mix(mix(static_cast<Token>(OperationKind::kKernel), function == nullptr ? 0 : function->id),
                          std::uint64_t{launch.grid.x} << 32U | launch.grid.y);
  const Token second = mix(
      mix(std::uint64_t{launch.block.x} << 32U | launch.block.y, std::uint64_t{launch.block.z} << 32U | launch.grid.z),
      launch.shared_bytes);
  const Token token = mix(first, second);
  const char* why_not = reason_not_to_hold(launch, function);
  const Call call{launch.entry_point, OperationKind::kKernel,
                  launch.more.empty() ? token : mix(token, launch.more_token), why_not};
  return submit<L>(
      call, stream,
      [&](capture::OperationWriter& writer, Token whole, bool) {
        describe_launch(launch, function, why_not == nullptr, writer, whole);
      },
      issue);
}

}  // namespace refrain::layer::streams
