// Work for tests of what knows one stretch only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "replay/graph/executable.h"

namespace refrain::replay::test {

/// Kernels 100, 101 and so on of one queue, whose arguments are the buffer and one of the scalars. `address`: the
/// buffer's; 0: one that no other buffer has.
inline Occurrence kernels(const std::vector<std::uint64_t>& scalars, std::uint64_t buffer = 7, std::size_t items = 64,
                          std::uint64_t address = 0) {
  Occurrence result;
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    capture::RecordBytes bytes;
    capture::OperationWriter writer(bytes);
    auto& header = writer.begin(capture::OperationKind::kKernel, 10 + i);
    header.function = 100 + i;
    header.queue = 1;
    writer.words(capture::words::Kernel{.dimensions = 1, .offset = {}, .global = {items, 1, 1}, .local = {}});
    writer.argument_handle(capture::ArgumentKind::kBuffer, buffer, address == 0 ? buffer : address);
    writer.argument(capture::ArgumentKind::kValue, 0, std::as_bytes(std::span(&scalars[i], 1)));
    writer.finish();
    result.add(capture::OperationView(bytes.data()));
  }
  capture::QueueInfo queue;
  queue.id = queue.handle = 1;
  result.queues.push_back(queue);
  return result;
}

/// Valid as long as `work` is.
inline std::vector<capture::OperationView> views(const Occurrence& work) {
  std::vector<capture::OperationView> operations;
  for (std::size_t i = 0; i < work.size(); ++i) {
    operations.push_back(work.operation(i));
  }
  return operations;
}

}  // namespace refrain::replay::test
