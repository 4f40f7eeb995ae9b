// --trace: a timeline for chrome://tracing and Perfetto.
#include <algorithm>
#include <unordered_map>

#include "capture/dump_formats.h"
#include "capture/json_writer.h"

namespace refrain::capture {
namespace {

/// Loops are slices around their first turn.
class Trace {
 public:
  Trace(const Capture& capture, DumpOutput& out) : capture_(capture), json_(out) {}

  void run() {
    json_.begin_object();
    json_.member("displayTimeUnit", "ns");
    json_.key("traceEvents");
    json_.begin_array();
    name_of_track("process_name", 0, capture_.command.empty() ? "program" : capture_.command);
    for (const LaneHistory& lane : capture_.lanes) {
      name_of_track("thread_name", lane.lane, "lane " + std::to_string(lane.lane));
      // Where a part ends depends on the first item of the next one.
      std::vector<HistoryItem> before;
      lane.for_each_part([&](std::span<const HistoryItem> part) {
        items(lane.lane, before, part.front().first_ns, true);
        before.assign(part.begin(), part.end());
      });
      items(lane.lane, before, ~std::uint64_t{0}, true);
    }
    json_.end_array();
    json_.end_object();
  }

 private:
  void name_of_track(const char* what, std::uint64_t lane, const std::string& name) {
    json_.begin_object();
    json_.member("ph", "M");
    json_.member("name", what);
    json_.member("pid", capture_.process);
    json_.member("tid", lane);
    json_.key("args");
    json_.begin_object();
    json_.member("name", name);
    json_.end_object();
    json_.end_object();
  }

  double microseconds(std::uint64_t time) const {
    // Times before the file was opened are possible and become negative.
    return static_cast<double>(static_cast<std::int64_t>(time - capture_.start_steady_ns)) / 1e3;
  }

  // Slices must not overlap their neighbours, and lie inside the loop around them.
  void items(std::uint64_t lane, std::span<const HistoryItem> all, std::uint64_t limit, bool outermost) {
    for (std::size_t i = 0; i < all.size();) {
      const HistoryItem& item = all[i];
      const std::size_t next = i + item.body + 1;
      std::uint64_t stop = limit;
      if (next < all.size()) {
        stop = std::min(stop, std::max(item.first_ns, all[next].first_ns));
      }
      std::uint64_t last = item.last_ns;
      if (!outermost && item.body == 0 && item.total != 0) {
        // The times cover all turns of the loop: the first turn took about the mean.
        last = item.first_ns +
               static_cast<std::uint64_t>(static_cast<__uint128_t>(item.span_ns) * item.repeat / item.total);
      }
      last = std::clamp(last, item.first_ns, std::max(item.first_ns, stop));
      slice(lane, item, last);
      if (item.body != 0) {
        items(lane, all.subspan(i + 1, item.body), last, false);
      }
      i = next;
    }
  }

  void slice(std::uint64_t lane, const HistoryItem& item, std::uint64_t last) {
    json_.begin_object();
    json_.member("ph", "X");
    if (item.body != 0) {
      json_.member("name", "loop x " + grouped(item.repeat));
    } else {
      json_.member("name", "graph " + std::to_string(item.graph) + ": " + label(item.graph) +
                               (item.repeat > 1 ? ", x " + grouped(item.repeat) : ""));
    }
    json_.member("pid", capture_.process);
    json_.member("tid", lane);
    json_.member("ts", microseconds(item.first_ns));
    json_.member("dur", static_cast<double>(last - item.first_ns) / 1e3);
    json_.key("args");
    json_.begin_object();
    if (item.body != 0) {
      json_.member("turns", item.total);
      json_.member("shown inside", "the first turn");
    } else {
      json_.member("graph", item.graph);
      json_.member("argument set", item.set == format::kSetNotStored ? "not stored" : std::to_string(item.set));
      json_.member("submissions each", capture_.graphs[item.graph].size());
      json_.member("runs", item.total);
      json_.member("ended by", capture_.ended_by(item.ended_by));
      json_.member("driver calls", duration(static_cast<double>(item.host_ns)));
      json_.member("mean length", duration(static_cast<double>(item.span_ns) /
                                           static_cast<double>(std::max<std::uint64_t>(1, item.total))));
    }
    json_.end_object();
    json_.end_object();
  }

  // The same few words in every slice of a graph.
  const std::string& label(std::uint32_t graph) {
    constexpr std::size_t kBytes = 100;
    auto& known = labels_[graph];
    if (known.empty()) {
      capture_.charge(kBytes);
      known = env::shortened(label_of(capture_, capture_.graphs[graph].graph()), kBytes);
    }
    return known;
  }

  const Capture& capture_;
  JsonWriter json_;
  std::unordered_map<std::uint32_t, std::string> labels_;
};

}  // namespace

void dump_trace(const Capture& capture, DumpOutput& out) {
  Trace(capture, out).run();
}

}  // namespace refrain::capture
