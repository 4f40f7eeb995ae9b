// What the writer's thread keeps of each lane: the stream it drains, the open stretch, the folded history.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/call_times.h"
#include "capture/capture_window.h"
#include "capture/encode.h"
#include "capture/format.h"
#include "capture/graph_deduplicator.h"
#include "capture/history.h"
#include "capture/lane_stream.h"
#include "capture/region_uses.h"
#include "capture/splitter.h"

namespace refrain::capture {

/// Host calls by name: numbers for the file and counts.
class HostCalls {
 public:
  std::uint32_t number_of(const char* name);
  HostCallCount& count(std::uint32_t number) {
    changed_ = true;
    return counts_[number];
  }
  std::vector<encode::NamedEntryPoint> take_names() { return std::exchange(new_names_, {}); }
  [[nodiscard]] const std::vector<HostCallCount>& counts() const noexcept { return counts_; }
  bool take_changed() { return std::exchange(changed_, false); }

 private:
  std::unordered_map<const void*, std::uint32_t> by_address_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::vector<HostCallCount> counts_;
  std::vector<encode::NamedEntryPoint> new_names_;
  bool changed_ = false;
};

/// One lane as the writer sees it.
class LaneWriter final : public StretchSink {
 public:
  LaneWriter(std::uint64_t lane, WriterSignal& signal, std::size_t max_behind, GraphDeduplicator& graphs,
             HostCalls& calls, RegionUses& regions, CallAllowance& timed, CaptureWindow& window)
      : stream_(lane, signal, max_behind),
        graphs_(graphs),
        calls_(calls),
        regions_(regions),
        window_(window),
        times_(lane, timed),
        splitter_(*this) {}

  LaneStream& stream() noexcept { return stream_; }

  bool drain() {
    const bool any = stream_.drain(*this);
    idle_ = !any;
    return any;
  }
  // From the stream.
  void operation(const OperationView& operation);
  void host_call(const char* name, std::uint64_t time_ns);
  void cut(const char* why, std::uint64_t time_ns);
  void host_call_done(std::uint64_t time_ns) { times_.host_call_done(time_ns); }
  void region(const env::Region* region) noexcept { region_ = region; }
  // From the splitter.
  void stretch(std::span<const OperationView> operations, std::uint32_t ended_by, std::uint64_t end_ns) override;

  [[nodiscard]] bool changed() const noexcept { return changed_; }
  [[nodiscard]] std::size_t open_items() const noexcept { return history_.open().size(); }
  [[nodiscard]] bool has_open_stretch() const noexcept { return splitter_.open_count() != 0; }
  /// There is an open stretch that the file does not tell about yet.
  [[nodiscard]] bool has_unwritten() const noexcept { return splitter_.open_count() != 0 && !open_written_; }
  /// … and nothing came since the last look.
  [[nodiscard]] bool is_idle() const noexcept { return idle_ && has_unwritten(); }

  /// Those that were not left out.
  [[nodiscard]] std::uint64_t submissions() const noexcept { return submissions_; }

  CallTimes& times() noexcept { return times_; }

  /// Appends what is new, in as many parts as records are needed for it.
  void take_news(bool with_open_stretch, std::vector<encode::LaneNews>& news);

 private:
  bool skips(std::uint64_t now_ns);
  HostCallCount& end_stretch(const char* name, std::uint64_t time_ns);

  LaneStream stream_;
  GraphDeduplicator& graphs_;
  HostCalls& calls_;
  RegionUses& regions_;
  CaptureWindow& window_;
  bool skipping_ = false;                           ///< what came since the last host call is not captured
  const env::Region* region_ = nullptr;             ///< that the lane is in
  const env::Region* region_of_stretch_ = nullptr;  ///< that the open stretch began in
  CallTimes times_;
  Splitter splitter_;
  HistoryFolder history_;
  std::uint64_t closed_ = 0;
  std::uint64_t submissions_ = 0;
  bool idle_ = false;
  bool changed_ = false;
  bool open_written_ = false;
};

}  // namespace refrain::capture
