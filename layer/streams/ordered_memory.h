// Memory that is allocated and freed in stream order.
//
// A free is held behind what its lane holds (replay/lane/trailing_calls.h), and an allocation of the same size, from
// the same pool in the same stream, gets that memory: both calls vanish, and what the driver would have given is given.
// All other allocations are issued at once, before what is held: lifetimes only grow.
//
// A driver may let an allocation wait for a free in another stream, whose place must be the program's then. So this is
// done only while all such memory is of one stream, with which no other one is in order.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

#include "layer/streams/memory.h"
#include "layer/streams/ordered_blocks.h"
#include "layer/streams/ordered_stream.h"
#include "layer/streams/stream_table.h"
#include "layer/streams/submission.h"

namespace refrain::layer::streams {

/// APIs have addresses as numbers, or as pointers.
template <class Address>
std::uint64_t number_of(Address address) noexcept {
  if constexpr (std::is_pointer_v<Address>) {
    return reinterpret_cast<std::uint64_t>(address);
  } else {
    return address;
  }
}
template <class Address>
Address address_of(std::uint64_t number) noexcept {
  if constexpr (std::is_pointer_v<Address>) {
    return reinterpret_cast<Address>(number);
  } else {
    return number;
  }
}

inline const char* const kMemoryOrder =
    "memory is allocated or freed in stream order, and cannot come in another place";

/// A call that allocates or frees in stream order.
template <class L>
struct OrderedCall {
  const replay::EntryPoint& entry_point;
  typename L::Api::StreamHandle stream;
  DefaultStream by_default;

  /// Null: it was not seen yet.
  [[nodiscard]] StreamState<typename L::Api>* known() const noexcept {
    return find_known_stream<L>(stream, by_default);
  }
  /// The stream, if this may come in another place than the program's. To be asked at each such call. A capture is told
  /// of none of these either.
  [[nodiscard]] StreamState<typename L::Api>* movable() const noexcept {
    const replay::Engine* const running = L::engine();
    if (running == nullptr || (!L::runtime().replays && L::runtime().recorder == nullptr)) {
      return nullptr;
    }
    const bool looked_at = common::dormant_lane<Protocol<L>>() == nullptr && !passing<L>();
    auto* const its = looked_at ? find_stream<L>(stream, by_default) : known();
    return OrderedStream<L>::the().is(*running, its) && looked_at && its->unholdable == nullptr ? its : nullptr;
  }
  template <class Issue>
  StatusOf<L> submit(Issue&& issue) const noexcept {
    return submit_unheld<L>(entry_point, OperationKind::kOther, kMemoryOrder, stream, by_default, issue);
  }
};

/// Behind a call that allocates: if the driver has no memory left it is asked once more, with nothing held.
template <class L, class Issue>
StatusOf<L> or_without_held(const replay::EntryPoint& entry_point, StatusOf<L> status, Issue&& issue) noexcept {
  const replay::Engine* const running = L::engine();
  if (status != L::Api::kOutOfMemory || running == nullptr || !running->anything_held() ||
      L::runtime().captures.load(std::memory_order_relaxed) != 0) [[likely]] {
    return status;
  }
  HostCall<L> host_call(entry_point);
  return host_call.done(issue(), false);
}

/// The held free. (TrailingCall::make)
template <class L>
int free_now(const replay::TrailingCall& call) noexcept {
  const auto& stream = backends::Stream<typename L::Api>::of(call.queue);
  ordered_blocks<L>().forget(call.what);
  const typename L::Api::Scope scope(L::runtime().driver, stream.context);
  const StatusOf<L> status = scope.status() != L::Api::kSuccess
                                 ? scope.status()
                                 : freeing_in_order<L>(call.what, L::id_to_free(call.what),
                                                       [&] { return L::free_in_order(call.what, stream.handle); });
  return static_cast<int>(status);
}

/// `address`: where the program wants it; `pool`: as of OrderedBlocks::Block, and null if the program named none.
template <class L, class Address, class Issue>
StatusOf<L> allocate_in_order(const OrderedCall<L>& call, Address* address, std::uint64_t bytes,
                              const std::uint64_t* pool, Issue&& issue) noexcept {
  const auto allocate = [&] {
    const StatusOf<L> status = OrderedStream<L>::the().allocate(pool, call.known(), issue);
    allocated_in_order<L>(status, status == L::Api::kSuccess && address != nullptr ? number_of(*address) : 0);
    return status;
  };
  const NotCancelled during(true);
  auto* const stream = call.movable();
  if (StatusOf<L> status = L::Api::kSuccess;
      short_way<L>(call.entry_point, {call.stream, call.by_default}, &status, allocate)) {
    return status;
  }
  replay::Engine* const running = L::engine();
  if (running == nullptr || stream == nullptr || address == nullptr || (pool != nullptr && *pool == 0)) {
    return or_without_held<L>(call.entry_point, call.submit(allocate), allocate);
  }
  const OrderedBlocks::Block block{bytes, pool == nullptr ? 0 : *pool, stream->slot.info.id, false};
  replay::Lane& lane = running->lane();
  if (std::uint64_t start = 0;
      lane.take_back({&free_now<L>, handle_of(&stream->stream), block.pool, bytes, 0}, &start)) {
    ordered_blocks<L>().set_held(start, false);
    *address = address_of<Address>(start);
    L::on_hold(L::Api::kSuccess);
    return L::Api::kSuccess;
  }
  const StatusOf<L> status = or_without_held<L>(call.entry_point, lane.beside(allocate), allocate);
  if (status == L::Api::kSuccess) {
    ordered_blocks<L>().add(number_of(*address), block);
  }
  Protocol<L>::answer(status, status);
  return status;
}

template <class L, class Issue>
StatusOf<L> free_in_order(const OrderedCall<L>& call, std::uint64_t start, Issue&& issue) noexcept {
  OrderedBlocks& blocks = ordered_blocks<L>();
  const auto free = [&] { return freeing_in_order<L>(start, L::id_to_free(start), issue); };
  const auto forget_and_free = [&] {
    if (L::engine() != nullptr) {
      blocks.forget(start);
    }
    return free();
  };
  const NotCancelled during(true);
  auto* const stream = call.movable();
  if (StatusOf<L> status = L::Api::kSuccess;
      short_way<L>(call.entry_point, {call.stream, call.by_default}, &status, forget_and_free)) {
    return status;
  }
  replay::Engine* const running = L::engine();
  const auto block = running == nullptr || stream == nullptr ? std::nullopt : blocks.find(start);
  if (blocks.is_held(start)) {  // it is freed twice, which the driver is to refuse
    HostCall<L> host_call(call.entry_point);
    return host_call.done(free(), false);
  }
  if (!block || block->stream != stream->slot.info.id) {
    return call.submit(forget_and_free);
  }
  flush_holders(*running, *stream);
  replay::Lane& lane = running->lane();
  // Whoever submits to the stream next has it made, if that is another thread.
  if (!L::runtime().replays || !lane.may_trail() || stream->slot.newest.load(std::memory_order_relaxed) != &lane) {
    blocks.forget(start);
    const StatusOf<L> status = freeing_in_order<L>(start, L::id_to_free(start), [&] { return lane.beside(issue); });
    Protocol<L>::answer(status, status);
    return status;
  }
  blocks.set_held(start, true);
  if (lane.trail({&free_now<L>, handle_of(&stream->stream), block->pool, block->bytes, start})) {
    L::on_hold(L::Api::kSuccess);
    return L::Api::kSuccess;
  }
  blocks.set_held(start, false);
  HostCall<L> host_call(call.entry_point, common::flush_no_other);  // too many are held
  return host_call.done(forget_and_free(), false);
}

/// A question about what an address belongs to: neutral, unless for the program that is freed memory.
template <class L, class Ask>
StatusOf<L> ask_of_memory(const replay::EntryPoint& entry_point, std::uint64_t address, Ask&& ask) noexcept {
  if (!ordered_blocks<L>().is_held(address)) [[likely]] {
    return ask();
  }
  HostCall<L> host_call(entry_point);
  return host_call.done(ask(), false);
}

/// A call after which the memory at `address` (kAny: any) is not like other memory of its pool, or pools are others.
template <class L, class Change>
StatusOf<L> change_memory(const replay::EntryPoint& entry_point, std::uint64_t address, Change&& change) {
  HostCall<L> host_call(entry_point);
  if (L::engine() != nullptr) {
    address == backends::NamedMemory::kAny ? ordered_blocks<L>().forget_all() : ordered_blocks<L>().forget(address);
  }
  return host_call.done(change(), false);
}

}  // namespace refrain::layer::streams
