// The reader's inside: takes the records of one file, checks every field, and fills the model. Only for
// capture/reader*.cpp; everybody else uses capture/reader.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/model.h"
#include "capture/record_file.h"
#include "format_generated.h"

namespace refrain::capture {

template <typename T>
std::size_t size_of(const T* vector) {
  return vector != nullptr ? vector->size() : 0;
}

/// Takes the records of one file. A friend of the model's classes.
class CaptureReader {
 public:
  explicit CaptureReader(const std::string& name) : file_(name) { capture_.file = name; }

  Capture read();

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Refused("the record at offset " + std::to_string(position_) + " makes no sense: " + why);
  }
  void expect(bool condition, const char* why) const {
    if (!condition) {
      refuse(why);
    }
  }
  /// Counts memory that the model takes because of this file.
  void charge(std::uint64_t bytes) {
    budget_used_ += bytes;
    expect(budget_used_ <= budget_, "it would take more memory than a file of this size may");
  }
  template <typename Table>
  const Table& table() const {
    flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(raw_.data()), raw_.size(), 16, 1U << 22U);
    expect(verifier.VerifyBuffer<Table>(nullptr), "its fields are not where they should be");
    return *flatbuffers::GetRoot<Table>(raw_.data());
  }

  /// Number of elements. The verifier does not look at where in memory 8-byte elements begin.
  template <typename Vector>
  std::size_t aligned(const Vector* vector) const {
    if (vector == nullptr || vector->size() == 0) {
      return 0;
    }
    expect(reinterpret_cast<std::uintptr_t>(vector->Data()) % alignof(std::uint64_t) == 0,
           "its fields are not where they should be");
    return vector->size();
  }

  void read_header();
  void take(format::RecordType type);
  void take_meta(const wire::Meta& meta);
  void take_devices(const wire::Devices& devices);
  void take_queues(const wire::Queues& queues);
  void take_code(const wire::Code& code);
  void take_functions(const wire::Functions& functions);
  void take_buffers(const wire::Buffers& buffers);
  void take_contents();
  void take_entry_points(const wire::EntryPoints& entry_points);
  void take_graph(const wire::Graph& graph);
  void take_set(const wire::ArgumentSet& set);
  void take_statistics(const wire::Statistics& statistics);
  void take_history(const wire::History& history);
  void take_host_calls(const wire::HostCalls& calls);
  void check_arguments(const StoredGraph& graph, std::span<const std::uint64_t> arguments) const;
  std::vector<HistoryItem> items_of(const flatbuffers::Vector<const wire::HistoryItem*>* items) const;
  static std::size_t outermost(const std::vector<HistoryItem>& items);

  struct Lane {
    std::vector<HistoryItem> settled, open;
    std::uint64_t settled_count = 0;  // outermost ones
  };

  RecordFile file_;
  Capture capture_;
  std::uint64_t position_ = 0;
  std::uint64_t budget_ = 0, budget_used_ = 0;
  std::vector<std::byte> stored_, raw_;
  std::shared_ptr<std::unordered_map<ObjectId, QueueInfo>> queues_ =
      std::make_shared<std::unordered_map<ObjectId, QueueInfo>>();
  std::vector<std::uint64_t> lane_order_;
  std::unordered_map<std::uint64_t, Lane> lanes_;
};

}  // namespace refrain::capture
