// Makes records for tests. The records live as long as the maker.
#pragma once

#include <deque>
#include <functional>
#include <initializer_list>
#include <span>
#include <vector>

#include "capture/graph.h"
#include "capture/operation.h"

namespace refrain::test {

using capture::ArgumentKind;
using capture::OperationKind;
using capture::OperationView;
using capture::OperationWriter;

class RecordMaker {
 public:
  explicit RecordMaker(const capture::QueueInfo& queue) : queue_(queue) {}

  template <capture::words::Structure Numbers>
  OperationView make(OperationKind kind, const Numbers& numbers, const std::function<void(OperationWriter&)>& arguments,
                     std::uint16_t flags = 0, capture::FunctionId function = 0, capture::Handle function_handle = 0) {
    return make(kind, std::span<const std::uint64_t>(capture::words::in_order(numbers)), arguments, flags, function,
                function_handle);
  }
  OperationView make(OperationKind kind, std::initializer_list<std::uint64_t> words,
                     const std::function<void(OperationWriter&)>& arguments, std::uint16_t flags = 0,
                     capture::FunctionId function = 0, capture::Handle function_handle = 0) {
    return make(kind, std::span(words.begin(), words.size()), arguments, flags, function, function_handle);
  }
  OperationView make(OperationKind kind, std::span<const std::uint64_t> words,
                     const std::function<void(OperationWriter&)>& arguments, std::uint16_t flags = 0,
                     capture::FunctionId function = 0, capture::Handle function_handle = 0) {
    auto& storage = storage_.emplace_back();
    OperationWriter writer(storage);
    auto& header = writer.begin(kind, static_cast<capture::Token>(kind) + 1);
    header.queue = queue_.id;
    header.queue_handle = queue_.handle;
    header.sequence = ++sequence_;
    header.flags = flags;
    header.function = function;
    header.function_handle = function_handle;
    for (const std::uint64_t word : words) {
      writer.word(word);
    }
    arguments(writer);
    writer.finish();
    return OperationView(storage.data());
  }

  template <typename T>
  static void value(OperationWriter& writer, const T& value) {
    writer.argument(ArgumentKind::kValue, 0, std::as_bytes(std::span(&value, 1)));
  }

  [[nodiscard]] const capture::QueueInfo& queue() const { return queue_; }

 private:
  capture::QueueInfo queue_;
  std::uint64_t sequence_ = 0;
  std::deque<capture::RecordBytes> storage_;
};

/// Operations in order on one queue; `edges` by hand.
inline capture::Graph make_graph(const capture::QueueInfo& queue, std::initializer_list<OperationView> operations,
                                 std::initializer_list<std::pair<capture::NodeIndex, capture::NodeIndex>> edges = {}) {
  capture::GraphBuilder builder;
  builder.declare_queue(queue);
  for (const OperationView& operation : operations) {
    builder.add(operation);
  }
  for (const auto& [from, to] : edges) {
    builder.then(from, to);
  }
  return builder.finish();
}

inline std::vector<capture::NodeIndex> all_nodes(const capture::Graph& graph) {
  std::vector<capture::NodeIndex> nodes(graph.size());
  for (capture::NodeIndex node = 0; node < nodes.size(); ++node) {
    nodes[node] = node;
  }
  return nodes;
}

}  // namespace refrain::test
