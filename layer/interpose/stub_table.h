// The stubs of a library whose place a starter takes (layer/starter): where those that it exports lead, and what the
// anonymous ones (anonymous_stubs.h) do.
//
// NEUTRAL and typed stubs are a jump to their target. HOST stubs first look at one flag, and while it is set call a
// hook. A library may call some of its own functions by their names, which lead here: where stubs are guarded such
// calls, known by where they come from, go straight to the real function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "layer/interpose/entry_point.h"
#include "layer/interpose/host_stubs.h"
#include "layer/starter/starter.h"

namespace refrain::layer::interpose {

/// One in each layer; constant-initialised, because other libraries' constructors may call us before ours have run.
class StubTable {
 public:
  /// `entries`: in the order of the stubs.
  explicit constexpr StubTable(std::span<const EntryDescription> entries) noexcept : entries_(entries) {}

  /// What was preloaded, and had this library opened: its stubs call us from now on.
  void take_over(const Starter& starter) noexcept;
  [[nodiscard]] const Starter& starter() const noexcept { return *starter_; }
  [[nodiscard]] std::span<const EntryDescription> entries() const noexcept { return entries_; }

  /// Of stub `index`: what programs may be given in place of the library's function.
  [[nodiscard]] void* address(std::uint32_t index) const noexcept { return stub_of(*starter_, index); }
  /// What stub `index` jumps to from now on.
  void set_target(std::uint32_t index, void* target) noexcept;
  [[nodiscard]] void* target(std::uint32_t index) const noexcept;

  /// Whether calls from inside the real library are told from others. If so: what they get, and then the code of that
  /// library and of this one.
  [[nodiscard]] bool guarded() const noexcept { return starter_->inner_code != nullptr; }
  void set_inner_target(std::uint32_t index, void* target) noexcept;
  void set_inner_code(std::span<const std::byte> real, std::span<const std::byte> own) noexcept;

  /// Whether HOST stubs and anonymous ones call the hook at all. Off until somebody sets it.
  void set_watching(bool watching) noexcept;

 private:
  static void* host_call(std::uint32_t index, std::uint64_t caller) noexcept;
  static void* anonymous_call(std::uint32_t index, std::uint64_t caller) noexcept;
  [[nodiscard]] bool from_inside(std::uint64_t caller) const noexcept;

  std::span<const EntryDescription> entries_;
  const Starter* starter_ = nullptr;
};

}  // namespace refrain::layer::interpose
