#include "layer/common/captured_memory.h"

#include <atomic>
#include <cstring>

#include "capture/limits.h"
#include "env/log.h"

namespace refrain::layer::common {
namespace {

using backends::LiveMemory;

/// No memory is below, and every address that a device knows is a canonical one of user space.
constexpr std::uint64_t kLowestAddress = 0x10000;
constexpr std::uint64_t kHighestAddress = std::uint64_t{1} << 57U;
/// Values that turned out to be no addresses; forgotten when there are too many.
constexpr std::size_t kMostOthers = 1U << 16U;

}  // namespace

std::vector<LiveMemory> CapturedMemory::tell(capture::Recorder& recorder, ObjectId context,
                                             const capture::OperationView& operation) {
  using capture::ArgumentKind;
  std::vector<LiveMemory> fresh;
  const env::MutexLock guard(mutex_);
  const std::byte* value = operation.values().data();
  for (const capture::ArgumentDescriptor& argument : operation.arguments()) {
    if (argument.kind == ArgumentKind::kValue || argument.kind == ArgumentKind::kPointer) {
      // What a parameter means is not known: any aligned word of it may be an address.
      for (std::size_t at = 0; at + sizeof(std::uint64_t) <= argument.size; at += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, value + at, sizeof(word));
        if (word >= kLowestAddress && word < kHighestAddress) {
          tell_of(recorder, context, word, &fresh);
        }
      }
    }
    value += argument.stored_bytes();
  }
  return fresh;
}

void CapturedMemory::tell_of(capture::Recorder& recorder, ObjectId context, std::uint64_t address,
                             std::vector<LiveMemory>* fresh) {
  if (const std::uint64_t changes = known_.changes(); others_at_ != changes || others_.size() >= kMostOthers) {
    others_.clear();
    others_at_ = changes;
  }
  if (others_.contains(address)) {
    return;
  }
  const std::optional<LiveMemory> memory = known_.find(address);
  if (!memory) {
    others_.insert(address);
    return;
  }
  if (!told_.insert(memory->id).second) {
    return;
  }
  capture::BufferInfo info;
  info.id = memory->id;
  info.context = context;
  info.size = memory->bytes;
  info.address = memory->start;
  info.description = {static_cast<std::uint64_t>(memory->place), static_cast<std::uint64_t>(memory->device)};
  recorder.define(info);
  fresh->push_back(*memory);
}

void tell_contents(capture::Recorder& recorder, std::span<const LiveMemory> memory,
                   const std::function<bool(const LiveMemory& memory, std::vector<std::byte>* into)>& read) {
  for (const LiveMemory& each : memory) {
    if (each.bytes > capture::format::kMaxContents) {
      recorder.leave_out_contents(each.bytes);
      continue;
    }
    std::vector<std::byte> contents(each.bytes);
    if (read(each, &contents)) {
      recorder.contents(each.id, contents);
      continue;
    }
    static std::atomic<bool> said{false};
    if (!said.exchange(true)) {
      env::log_warning("capture: the contents of some memory could not be read; the bench makes them up");
    }
  }
}

void say_that_buffers_are_missing() noexcept {
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) {
    env::log_error("out of memory: the capture lacks some buffers and cannot be benchmarked");
  }
}

}  // namespace refrain::layer::common
