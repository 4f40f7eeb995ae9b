// --trace: a timeline for chrome://tracing and Perfetto. Three groups of tracks of each process: lanes with their
// stretches and calls, and for each device its queues. What can be counted is a number, so that a query can sum it.
// An arrow leads from each call that submits to what it gave its queue.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "capture/dump_formats.h"
#include "capture/json_writer.h"

namespace refrain::capture {
namespace {

/// Tracks of a lane: what Chrome calls a thread.
constexpr std::uint64_t kTracksOfLane = 2;

/// Numbers of processes, and of devices, which Chrome takes for processes: those of different hosts may be the same.
/// And of arrows, which lead anywhere.
class Numbers {
 public:
  std::uint64_t of_process(std::uint64_t wanted) {
    while (!taken_.insert(wanted).second) {
      ++wanted;
    }
    return wanted;
  }
  std::uint64_t of_device() { return of_process(kFirstDevice); }
  std::uint64_t of_arrow() { return ++arrows_; }

 private:
  /// No process has this number.
  static constexpr std::uint64_t kFirstDevice = std::uint64_t{1} << 30U;

  std::unordered_set<std::uint64_t> taken_;
  std::uint64_t arrows_ = 0;
};

/// The tracks of one process.
class Trace {
 public:
  /// `start_ns`: the beginning of the timeline, by the clock of the day.
  Trace(const Capture& capture, std::uint64_t start_ns, Numbers& numbers, JsonWriter& json)
      : capture_(capture),
        later_ns_(capture.start_realtime_ns - start_ns),
        numbers_(numbers),
        process_(numbers.of_process(capture.process)),
        json_(json) {}

  void run() {
    name_of_track("process_name", process_, 0, capture_.command.empty() ? "program" : capture_.command);
    for (const LaneHistory& lane : capture_.lanes) {
      const std::uint64_t track = kTracksOfLane * lane.lane;
      name_of_track("thread_name", process_, track, "lane " + std::to_string(lane.lane));
      // Where a part ends depends on the first item of the next one.
      std::vector<HistoryItem> before;
      lane.for_each_part([&](std::span<const HistoryItem> part) {
        items(track, before, part.front().first_ns, true);
        before.assign(part.begin(), part.end());
      });
      items(track, before, ~std::uint64_t{0}, true);
    }
    calls();
  }

 private:
  void name_of_track(const char* what, std::uint64_t process, std::uint64_t track, const std::string& name) {
    json_.begin_object();
    json_.member("ph", "M");
    json_.member("name", what);
    json_.member("pid", process);
    json_.member("tid", track);
    json_.key("args");
    json_.begin_object();
    json_.member("name", name);
    json_.end_object();
    json_.end_object();
  }

  double microseconds(std::uint64_t time) const {
    // Times before the file was opened are possible and become negative.
    return static_cast<double>(static_cast<std::int64_t>(time - capture_.start_steady_ns + later_ns_)) / 1e3;
  }

  void begin_slice(std::string_view name, const char* category, std::uint64_t process, std::uint64_t track,
                   std::uint64_t first, std::uint64_t last) {
    json_.begin_object();
    json_.member("ph", "X");
    json_.member("name", name);
    json_.member("cat", category);
    json_.member("pid", process);
    json_.member("tid", track);
    json_.member("ts", microseconds(first));
    json_.member("dur", static_cast<double>(last - first) / 1e3);
    json_.key("args");
    json_.begin_object();
  }
  void end_slice() {
    json_.end_object();
    json_.end_object();
  }
  /// `direction`: the arrow leaves the slice ("flow_out"), or comes in ("flow_in"). Events of its own would take more
  /// room.
  void end_slice(std::uint64_t arrow, const char* direction) {
    json_.end_object();
    json_.member("bind_id", fmt::format("{:#x}", arrow));
    json_.member(direction, true);
    json_.end_object();
  }

  // Loops are slices around their first turn. Slices must not overlap their neighbours, and lie inside the loop around
  // them.
  void items(std::uint64_t track, std::span<const HistoryItem> all, std::uint64_t limit, bool outermost) {
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
      slice(track, item, last);
      if (item.body != 0) {
        items(track, all.subspan(i + 1, item.body), last, false);
      }
      i = next;
    }
  }

  void slice(std::uint64_t track, const HistoryItem& item, std::uint64_t last) {
    const std::string name = item.body != 0 ? "loop x " + grouped(item.repeat)
                                            : "graph " + std::to_string(item.graph) + ": " + label(item.graph) +
                                                  (item.repeat > 1 ? ", x " + grouped(item.repeat) : "");
    begin_slice(name, item.body != 0 ? "loop" : "stretch", process_, track, item.first_ns, last);
    if (item.body != 0) {
      json_.member("turns", item.total);
      json_.member("shown inside", "the first turn");
    } else {
      json_.member("graph", item.graph);
      if (item.set != format::kSetNotStored) {
        json_.member("argument_set", item.set);
      }
      json_.member("operations", capture_.graphs[item.graph].size());
      json_.member("runs", item.total);
      json_.member("ended_by", capture_.ended_by(item.ended_by));
      json_.member("driver_calls_ns", item.host_ns);
      json_.member("mean_ns", item.span_ns / std::max<std::uint64_t>(1, item.total));
    }
    end_slice();
  }

  /// The calls of each lane, and once more, those that submit, in their queue.
  void calls() {
    for (const LaneCalls& lane : capture_.calls) {
      const std::uint64_t track = kTracksOfLane * lane.lane + 1;
      name_of_track("thread_name", process_, track, "lane " + std::to_string(lane.lane) + ": calls");
      lane.for_each([&](const TimedCall& call) {
        if (call.what.is_host_call()) {
          begin_slice(capture_.ended_by(call.what.entry_point), "host call", process_, track, call.begin_ns,
                      call.end_ns);
          json_.member("took_ns", call.end_ns - call.begin_ns);
          end_slice();
          return;
        }
        const std::uint64_t arrow = numbers_.of_arrow();
        submission(call, lane.lane, process_, track);
        end_slice(arrow, "flow_out");
        submission(call, lane.lane, track_of(call.what.queue), call.what.queue);
        end_slice(arrow, "flow_in");
      });
    }
  }

  /// Up to the end of its slice.
  void submission(const TimedCall& call, std::uint64_t lane, std::uint64_t process, std::uint64_t track) {
    begin_slice(name_of_call(call.what), "submission", process, track, call.begin_ns, call.end_ns);
    json_.member("lane", lane);
    json_.member("queue", call.what.queue);
    json_.member("took_ns", call.end_ns - call.begin_ns);
    json_.member("blocking", call.what.blocking ? 1 : 0);
  }

  std::string_view name_of_call(const CallKind& what) const {
    const std::string_view kernel = what.function == 0 ? std::string_view() : capture_.function_name(what.function);
    return kernel.empty() ? name_of(what.kind) : kernel.substr(0, kMaxLabel);
  }

  /// The group of a queue's track, its device; both are named when they are met.
  std::uint64_t track_of(ObjectId queue) {
    const auto known = capture_.queues.find(queue);
    const ObjectId device = known == capture_.queues.end() ? 0 : known->second.device;
    const auto [place, is_new] = devices_.try_emplace(device);
    if (is_new) {
      place->second = numbers_.of_device();
      capture_.charge(64);
      const auto info = std::ranges::find(capture_.devices, device, &DeviceInfo::id);
      name_of_track("process_name", place->second, 0,
                    info == capture_.devices.end() ? "device " + std::to_string(device) : info->name);
    }
    if (queues_.try_emplace(queue, place->second).second) {
      capture_.charge(64);
      name_of_track("thread_name", place->second, queue,
                    "queue " + std::to_string(queue) + ": calls that gave it work");
    }
    return place->second;
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
  const std::uint64_t later_ns_;  ///< than the beginning of the timeline; may have wrapped around
  Numbers& numbers_;
  const std::uint64_t process_;
  JsonWriter& json_;
  std::unordered_map<std::uint32_t, std::string> labels_;
  std::unordered_map<ObjectId, std::uint64_t> devices_, queues_;
};

}  // namespace

void dump_trace(std::span<const Capture> captures, DumpOutput& out) {
  JsonWriter json(out);
  json.begin_object();
  json.member("displayTimeUnit", "ns");
  json.key("traceEvents");
  json.begin_array();
  Numbers numbers;
  for (const Capture& capture : captures) {
    Trace(capture, captures.front().start_realtime_ns, numbers, json).run();
  }
  json.end_array();
  json.end_object();
}

}  // namespace refrain::capture
