// A device on which objects of a capture are made again, of an API whose queues are streams: what CUDA and HIP have in
// common. What they call differently is in virtual functions; Api is as in streams/stream.h.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/built_code.h"
#include "backends/standalone_device.h"
#include "backends/streams/stream.h"

namespace refrain::backends {

template <class Api, class Module, class Function>
class StandaloneStreamDevice : public StandaloneDevice {
 public:
  using Driver = typename Api::Driver;
  using ApiStatus = typename Api::Status;

  StandaloneStreamDevice(const Driver& driver, typename Api::ContextHandle context)
      : driver_(driver), context_(context) {}
  StandaloneStreamDevice(const StandaloneStreamDevice&) = delete;
  StandaloneStreamDevice& operator=(const StandaloneStreamDevice&) = delete;

  const capture::DeviceInfo& info() const noexcept override { return info_; }

  bool make_queue(const capture::QueueInfo& wanted, capture::QueueInfo* made, std::string* why) override {
    auto stream = std::make_unique<Stream<Api>>();
    stream->context = context_;
    ApiStatus status = Api::kSuccess;
    switch (wanted.default_order) {
      case capture::DefaultOrder::kIsDefault:
        stream->kind = StreamKind::kLegacy;
        stream->handle = Api::legacy_stream();
        break;
      case capture::DefaultOrder::kWithDefault:
        stream->kind = StreamKind::kBlocking;
        status = Api::create_blocking_stream(driver_, &stream->handle);
        break;
      default: status = Api::create_stream(driver_, &stream->handle); break;
    }
    if (status != Api::kSuccess) {
      *why = "the device refuses a stream" + reason(status);
      return false;
    }
    stream->id.store(wanted.id, std::memory_order_release);
    *made = wanted;
    made->handle = reinterpret_cast<capture::Handle>(stream.get());
    streams_.push_back(std::move(stream));
    return true;
  }

  capture::Handle make_memory(const capture::BufferInfo& wanted, capture::Handle /*parent*/,
                              std::string* why) override {
    const auto place = wanted.description.empty() ? capture::MemoryPlace::kDevice
                                                  : static_cast<capture::MemoryPlace>(wanted.description[0]);
    std::uint64_t address = 0;
    if (const ApiStatus status = allocate(place, wanted.size, &address); status != Api::kSuccess) {
      *why = "the device refuses " + std::to_string(wanted.size) + " bytes of memory" + reason(status);
      return 0;
    }
    memory_.emplace_back(address, place == capture::MemoryPlace::kHost);
    return address;
  }

  capture::Handle make_function(const capture::FunctionInfo& function, capture::CodeKind kind,
                                std::span<const std::byte> code, std::string* why) override {
    if (const auto found = functions_.find(function.id); found != functions_.end()) {
      return reinterpret_cast<capture::Handle>(found->second);
    }
    // A module, whatever the program had: what this device cannot run is refused here, not later.
    const Module module = modules_.find_or_build(function.code, function.build_options, why,
                                                 [&](std::string* why_not) { return load(kind, code, why_not); });
    if (module == nullptr) {
      return 0;
    }
    Function made = nullptr;
    if (const ApiStatus status = find_function(module, function.name, &made); status != Api::kSuccess) {
      *why = is_of_other_gpu(status) ? other_gpu()
             : is_not_found(status)  ? "the captured code has no kernel '" + function.name + "'"
                                     : "the kernel '" + function.name + "' cannot be used here" + reason(status);
      return 0;
    }
    functions_[function.id] = made;
    return reinterpret_cast<capture::Handle>(made);
  }

  void release_memory() noexcept override {
    synchronize();
    for (const auto& [address, host] : memory_) {
      release(address, host);
    }
    memory_.clear();
    for (const auto& stream : streams_) {
      if (stream->id.exchange(0) != 0 && stream->kind != StreamKind::kLegacy) {
        (void)Api::destroy_stream(driver_, stream->handle);
      }
    }
  }

 protected:
  /// What a destructor begins with, as it is the last that has the functions below.
  void release_everything() noexcept {
    release_memory();
    modules_.for_each([this](Module module) { unload(module); });
  }
  /// " (CUDA_ERROR_…)", and what to do if it is the consequence of something else.
  [[nodiscard]] std::string reason(ApiStatus status) const {
    return std::string(" (") + Api::error_name(driver_, status) + ")" +
           (is_lost(status)
                ? ": an earlier graph left the device unusable for this process; bench this one with --graph"
                : "");
  }

  virtual ApiStatus allocate(capture::MemoryPlace place, std::uint64_t bytes, std::uint64_t* address) = 0;
  virtual void release(std::uint64_t address, bool of_host) noexcept = 0;
  virtual void synchronize() noexcept = 0;
  /// The image that the bytes begin with, as large as its own headers say, which the driver believes; empty, and `why`,
  /// if it is none.
  virtual std::span<const std::byte> image_in(capture::CodeKind kind, std::span<const std::byte> code,
                                              std::string* why) = 0;
  virtual ApiStatus load(std::span<const std::byte> image, Module* module) = 0;
  virtual void unload(Module module) noexcept = 0;
  virtual ApiStatus find_function(Module module, const std::string& name, Function* function) = 0;
  [[nodiscard]] virtual bool is_of_other_gpu(ApiStatus status) const noexcept = 0;
  [[nodiscard]] virtual bool is_not_found(ApiStatus status) const noexcept = 0;
  /// Whether nothing works in this process any more.
  [[nodiscard]] virtual bool is_lost(ApiStatus status) const noexcept = 0;
  [[nodiscard]] virtual std::string other_gpu() const = 0;

  const Driver& driver_;
  const typename Api::ContextHandle context_;
  capture::DeviceInfo info_;

 private:
  Module load(capture::CodeKind kind, std::span<const std::byte> code, std::string* why) {
    const std::span<const std::byte> image = image_in(kind, code, why);
    if (image.empty()) {
      return nullptr;
    }
    Module made = nullptr;
    const ApiStatus status = load(image, &made);
    if (status == Api::kSuccess) {
      return made;
    }
    *why = is_of_other_gpu(status) ? other_gpu() : "the driver does not take the captured code" + reason(status);
    return nullptr;
  }

  std::vector<std::unique_ptr<Stream<Api>>> streams_;   // as long as we live: command buffers name them
  std::vector<std::pair<std::uint64_t, bool>> memory_;  // and whether it is the host's
  BuiltCode<Module> modules_;
  std::map<capture::FunctionId, Function> functions_;
};

}  // namespace refrain::backends
