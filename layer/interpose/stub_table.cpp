#include "layer/interpose/stub_table.h"

namespace refrain::layer::interpose {
namespace {

/// Stubs tell no more than their number.
const StubTable* stubs_of_this_layer = nullptr;

}  // namespace

void StubTable::take_over(const Starter& starter) noexcept {
  starter_ = &starter;
  stubs_of_this_layer = this;
  HostStubs::replace_call(&anonymous_call);
  *starter.host_call = &host_call;
}

void StubTable::set_target(std::uint32_t index, void* target) noexcept {
  __atomic_store_n(&starter_->targets[index], target, __ATOMIC_RELEASE);
}

void* StubTable::target(std::uint32_t index) const noexcept {
  return __atomic_load_n(&starter_->targets[index], __ATOMIC_ACQUIRE);
}

void StubTable::set_inner_target(std::uint32_t index, void* target) noexcept {
  starter_->inner_targets[index] = target;
}

void StubTable::set_inner_code(std::span<const std::byte> real, std::span<const std::byte> own) noexcept {
  InnerCode& code = *starter_->inner_code;
  code.real_begin = reinterpret_cast<std::uint64_t>(real.data());
  code.own_begin = reinterpret_cast<std::uint64_t>(own.data());
  __atomic_store_n(&code.real_bytes, real.size(), __ATOMIC_RELEASE);
  __atomic_store_n(&code.own_bytes, own.size(), __ATOMIC_RELEASE);
}

void StubTable::set_watching(bool watching) noexcept {
  HostStubs::set_watching(watching);
  __atomic_store_n(starter_->watching, watching ? 1U : 0U, __ATOMIC_RELEASE);
}

bool StubTable::from_inside(std::uint64_t caller) const noexcept {
  const InnerCode* const code = starter_->inner_code;
  return code != nullptr &&
         (caller - code->real_begin < code->real_bytes || caller - code->own_begin < code->own_bytes);
}

void* StubTable::host_call(std::uint32_t index, std::uint64_t caller) noexcept {
  const StubTable& stubs = *stubs_of_this_layer;
  if (stubs.from_inside(caller)) {
    return stubs.starter_->inner_targets[index];
  }
  HostStubs::call_hook(stubs.entries_[index].entry);
  return stubs.target(index);
}

void* StubTable::anonymous_call(std::uint32_t index, std::uint64_t caller) noexcept {
  if (!stubs_of_this_layer->from_inside(caller)) {
    HostStubs::call_hook(HostStubs::entry_point(index));
  }
  return HostStubs::target(index);
}

}  // namespace refrain::layer::interpose
