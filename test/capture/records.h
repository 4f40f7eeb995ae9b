// Records for tests of capture/, as a layer would write them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "capture/operation.h"
#include "capture/recorder.h"

namespace refrain::capture {

/// Builds one record at a time; a view is valid until the next one.
class TestRecord {
 public:
  struct Kernel {
    FunctionId function = 1;
    ObjectId queue = 1;
    std::initializer_list<ObjectId> buffers = {};
    std::initializer_list<std::int32_t> scalars = {};
    std::uint64_t global = 1024;
    std::initializer_list<WaitRef> waits = {};
    std::uint64_t sequence = 0;
    std::uint64_t time_ns = 0;
    std::uint32_t host_ns = 0;
  };

  OperationView kernel(const Kernel& kernel) {
    OperationWriter writer = begin(OperationKind::kKernel, 100 + kernel.function);
    OperationHeader& header = writer.header();
    header.function = kernel.function;
    header.queue = kernel.queue;
    header.sequence = kernel.sequence;
    header.time_ns = kernel.time_ns;
    header.host_ns = kernel.host_ns;
    writer.words(words::Kernel{.dimensions = 1, .offset = {}, .global = {kernel.global, 1, 1}, .local = {64, 1, 1}});
    for (const ObjectId buffer : kernel.buffers) {
      writer.argument_handle(ArgumentKind::kBuffer, buffer, 0xB000 + buffer);
    }
    for (const std::int32_t scalar : kernel.scalars) {
      writer.argument(ArgumentKind::kValue, 0, std::as_bytes(std::span(&scalar, 1)));
    }
    for (const WaitRef wait : kernel.waits) {
      writer.wait(wait);
    }
    writer.finish();
    return OperationView(bytes_.data());
  }

  OperationView other(Token token, OperationKind kind = OperationKind::kOther, std::uint16_t flags = 0,
                      std::uint64_t sequence = 0, std::uint64_t time_ns = 0) {
    OperationWriter writer = begin(kind, token);
    writer.header().queue = 1;
    writer.header().flags = flags;
    writer.header().sequence = sequence;
    writer.header().time_ns = time_ns;
    for (int i = 0; i < word_count_of(kind); ++i) {
      writer.word(64);
    }
    writer.finish();
    return OperationView(bytes_.data());
  }

  /// With what a layer says of it: `reason` is Recorder::reason()'s number.
  OperationView told(OperationKind kind, std::uint16_t flags, std::uint16_t reason) {
    static_cast<void>(other(7, kind, flags));
    reinterpret_cast<OperationHeader*>(bytes_.data())->reason = reason;
    return OperationView(bytes_.data());
  }

 private:
  OperationWriter begin(OperationKind kind, Token token) {
    bytes_.clear();
    OperationWriter writer(bytes_);
    writer.begin(kind, token);
    return writer;
  }
  RecordBytes bytes_;
};

inline void describe_program(Recorder& recorder) {
  DeviceInfo device;
  device.id = 1;
  device.api = "opencl";
  device.platform = "Test platform";
  device.name = "Test device";
  device.driver = "1.0";
  device.native = "cl_khr_command_buffer 0.9.0";
  recorder.define(device);
  for (const ObjectId id : {ObjectId{1}, ObjectId{2}}) {
    QueueInfo queue;
    queue.id = id;
    queue.handle = 0xC000 + id;
    queue.context = 1;
    queue.device = 1;
    queue.role = static_cast<std::uint32_t>(id - 1);
    queue.in_order = id == 1;
    recorder.define(queue);
  }
  static constexpr std::string_view source = "kernel void stencil(global float* a, global float* b, int step) {}";
  CodeInfo code;
  code.id = 77;
  code.bytes = std::as_bytes(std::span(source.data(), source.size()));
  recorder.code(code);
  const char* const names[] = {"stencil", "residual", "axpy"};
  for (FunctionId id = 1; id <= 3; ++id) {
    recorder.define(FunctionInfo{id, 77, names[id - 1], "-cl-fast-relaxed-math"});
  }
  for (ObjectId id = 1; id <= 4; ++id) {
    BufferInfo buffer;
    buffer.id = id;
    buffer.context = 1;
    buffer.size = 4096;
    recorder.define(buffer);
  }
}

}  // namespace refrain::capture
