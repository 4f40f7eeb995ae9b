// The reader's inside: takes the records of one file, checks every field, and fills the model. Only for
// capture/reader*.cpp; everybody else uses capture/reader.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/model.h"
#include "capture/record_view.h"
#include "format_generated.h"

namespace refrain::capture {

/// A graph as the file tells it, checked. Points into the record.
struct CheckedGraph {
  std::vector<OperationHeader> headers;      ///< per node, queue number in `queue`
  std::vector<std::vector<WaitRef>> waits;   ///< per node
  const std::uint64_t* arguments = nullptr;  ///< queue ids, then comparable parts
  std::size_t words = 0;                     ///< of them
  std::uint32_t queue_count = 0;
};

/// Checks everything that later code relies on.
CheckedGraph checked_graph(RecordView& record, const wire::Graph& graph);

/// The items of a history, checked but for what they name.
std::vector<HistoryItem> checked_items(RecordView& record, const flatbuffers::Vector<const wire::HistoryItem*>* items);

/// Calls `visit` for each call of a record, all of which is checked but for what it names.
void checked_calls(RecordView& record, const wire::Times& content, const std::function<void(const TimedCall&)>& visit);

/// A record of the file again, and a view of it that tells its offset.
template <typename Table>
class AgainRead {
 public:
  AgainRead(CaptureStore& store, const RecordPlace& place, format::RecordType type)
      : record_(store.record(place, type)),
        view_(place.position, record_->raw),
        root_(&view_.root<Table>(record_->verified)) {
    record_->verified = true;
  }
  RecordView& view() noexcept { return view_; }
  /// Element `index` of one of its vectors: the file may be another one by now.
  template <typename Vector>
  const auto& at(const Vector* vector, std::size_t index) const {
    view_.expect(vector != nullptr && index < vector->size(), "it was changed since it was opened");
    return *vector->Get(static_cast<flatbuffers::uoffset_t>(index));
  }
  const Table& root() const noexcept { return *root_; }

 private:
  std::shared_ptr<const CaptureStore::Record> record_;
  RecordView view_;
  const Table* root_;
};

/// Takes the records of one file. A friend of the model's classes.
class CaptureReader {
 public:
  CaptureReader(const std::string& name, std::uint64_t max_memory)
      : store_(std::make_shared<CaptureStore>(name, max_memory)) {
    capture_.file = name;
    capture_.store_ = store_;
  }

  Capture read();

 private:
  void read_header();
  void take(format::RecordType type, RecordView& record);
  void take_meta(RecordView& record);
  void take_code(RecordView& record);
  void take_contents(RecordView& record);
  void take_contents_references(RecordView& record);
  void take_entry_points(RecordView& record);
  void take_graphs(RecordView& record);
  void take_sets(RecordView& record);
  void take_statistics(RecordView& record);
  void take_history(RecordView& record);
  void take_times(RecordView& record);
  void take_host_calls(RecordView& record);
  void take_regions(RecordView& record);
  void check_items(RecordView& record, const std::vector<HistoryItem>& items) const;
  LaneHistory& lane_of(std::uint64_t lane);
  [[nodiscard]] RecordPlace place(std::size_t index = 0) const {
    return {position_, static_cast<std::uint32_t>(capture_.records), static_cast<std::uint32_t>(index)};
  }

  std::shared_ptr<CaptureStore> store_;
  Capture capture_;
  std::uint64_t position_ = 0;
  std::vector<std::byte> stored_, raw_;
  std::vector<Capture::Piece> pieces_;                             // of each Contents record
  std::unordered_map<std::uint64_t, std::size_t> lane_numbers_;    // in Capture::lanes
  std::unordered_map<std::uint64_t, std::size_t> calls_numbers_;   // in Capture::calls
  std::unordered_map<std::uint32_t, std::size_t> region_numbers_;  // in Capture::regions
};

}  // namespace refrain::capture
