#include "env/page/timeline_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "capture/analysis.h"
#include "env/escape.h"
#include "env/kernel_name.h"
#include "env/page/base64.h"

namespace refrain::page {
namespace {

using capture::CallKind;
using capture::Capture;
using capture::TimedCall;
using nlohmann::json;

constexpr std::uint64_t kMostExact = 150'000;  // calls that are told one by one
constexpr std::size_t kMostLanes = 64;         // those with most calls
constexpr std::size_t kMostQueues = 64;        // the first ones that are named
constexpr std::size_t kMostBins = 65536;
constexpr std::size_t kBytesOfBins = 2'500'000;  // of all lanes and queues
constexpr std::size_t kMostNames = 65536;

enum State : std::uint8_t { kSubmission, kBlocking, kHostCall, kStretch };
constexpr std::size_t kCallStates = 3;

State state_of(const CallKind& kind) {
  return kind.is_host_call() ? kHostCall : kind.blocking ? kBlocking : kSubmission;
}

/// What calls are called, each name once.
class Names {
 public:
  explicit Names(const Capture& capture) : capture_(capture) {}

  std::size_t of(const CallKind& kind) {
    const auto [known, is_new] = known_.try_emplace(kind, list_.size());
    if (is_new && list_.size() < kMostNames) {
      list_.push_back({label_of(kind), state_of(kind), kind.is_host_call() ? -1 : queue(kind.queue)});
    }
    return std::min(known->second, kMostNames - 1);
  }
  std::size_t of_stretch(const std::string& text) {
    list_.push_back({text, kStretch, -1});
    return list_.size() - 1;
  }
  /// The place of a queue; -1: there are too many.
  int queue(capture::ObjectId id) {
    const auto [known, is_new] = queues_.try_emplace(id, static_cast<int>(queues_.size()));
    if (is_new && queues_.size() <= kMostQueues) {
      queue_list_.push_back({std::to_string(id), device_of(id)});
    }
    return known->second < static_cast<int>(kMostQueues) ? known->second : -1;
  }
  [[nodiscard]] std::size_t queues() const { return queue_list_.size(); }
  void put(json& into) {
    into["names"] = std::move(list_);
    into["queues"] = std::move(queue_list_);
  }

 private:
  [[nodiscard]] std::string label_of(const CallKind& kind) const {
    if (kind.is_host_call()) {
      return std::string(capture_.ended_by(kind.entry_point));
    }
    const std::string_view name = kind.function == 0 ? std::string_view() : capture_.function_name(kind.function);
    return name.empty() ? std::string(capture::name_of(kind.kind))
                        : env::shortened(env::short_name(name), capture::kMaxLabel);
  }
  [[nodiscard]] std::string device_of(capture::ObjectId queue) const {
    const auto known = capture_.queues.find(queue);
    if (known == capture_.queues.end()) {
      return {};
    }
    const auto device = std::ranges::find(capture_.devices, known->second.device, &capture::DeviceInfo::id);
    return device == capture_.devices.end() ? std::string() : device->name;
  }

  const Capture& capture_;
  std::map<CallKind, std::size_t> known_;
  std::map<capture::ObjectId, int> queues_;
  json list_ = json::array(), queue_list_ = json::array();
};

/// Slices of one lane, one by one.
struct Exact {
  std::vector<std::uint32_t> begin, took;
  std::vector<std::uint16_t> what;

  void add(std::uint64_t begin_units, std::uint64_t took_units, std::size_t name) {
    begin.push_back(static_cast<std::uint32_t>(begin_units));
    took.push_back(static_cast<std::uint32_t>(took_units));
    what.push_back(static_cast<std::uint16_t>(name));
  }
  void put(json& into) const {
    into["begin"] = base64_of(begin);
    into["took"] = base64_of(took);
    into["what"] = base64_of(what);
  }
};

/// How much of each part of the time something took.
class Bins {
 public:
  Bins(std::size_t count, std::uint64_t length_ns)
      : length_ns_(std::max<std::uint64_t>(1, (length_ns + count - 1) / count)), ns_(count), counts_(count) {}

  void add(std::uint64_t begin_ns, std::uint64_t end_ns) {
    std::size_t bin = std::min<std::size_t>(begin_ns / length_ns_, ns_.size() - 1);
    counts_[bin] = static_cast<std::uint16_t>(std::min<std::uint32_t>(counts_[bin] + 1U, 0xFFFF));
    for (; bin < ns_.size() && begin_ns < end_ns; ++bin) {
      const std::uint64_t here = std::min(end_ns, (bin + 1) * length_ns_) - begin_ns;
      ns_[bin] += here;
      begin_ns += here;
    }
  }
  /// 0: nothing, 255: all of it; a little is not nothing.
  [[nodiscard]] std::vector<std::uint8_t> shares() const {
    std::vector<std::uint8_t> shares;
    shares.reserve(ns_.size());
    for (const std::uint64_t ns : ns_) {
      shares.push_back(
          static_cast<std::uint8_t>(std::min<std::uint64_t>(255, (ns * 255 + length_ns_ - 1) / length_ns_)));
    }
    return shares;
  }
  [[nodiscard]] const std::vector<std::uint16_t>& counts() const { return counts_; }

 private:
  std::uint64_t length_ns_;
  std::vector<std::uint64_t> ns_;
  std::vector<std::uint16_t> counts_;
};

class Timeline {
 public:
  explicit Timeline(const Capture& capture) : capture_(capture), names_(capture) {
    std::uint64_t end_ns = 0;
    bool any = false;
    for (const capture::LaneCalls& lane : capture.calls) {
      lanes_.push_back(&lane);
      calls_ += lane.count;
      begin_ns_ = any ? std::min(begin_ns_, lane.begin_ns) : lane.begin_ns;
      end_ns = std::max(end_ns, lane.end_ns);
      any = true;
    }
    length_ns_ = end_ns - begin_ns_;
    std::ranges::stable_sort(lanes_, std::greater(), &capture::LaneCalls::count);
    left_out_ = lanes_.size() - std::min(lanes_.size(), kMostLanes);
    lanes_.resize(lanes_.size() - left_out_);
    std::ranges::sort(lanes_, {}, &capture::LaneCalls::lane);
  }

  json made() {
    json result = {{"from", "calls"}, {"calls", calls_}, {"lanes_left_out", left_out_}};
    if (calls_ == 0) {
      result["from"] = "stretches";
      result["lanes"] = stretches();
    } else {
      result["lanes"] = calls_ <= kMostExact ? exact() : binned(result);
    }
    result["unit_ns"] = unit_ns();
    result["length_ns"] = length_ns_;
    names_.put(result);
    return result;
  }

 private:
  using Sums = std::array<std::array<std::uint64_t, 2>, kCallStates>;  // calls and time of each state

  [[nodiscard]] std::uint64_t unit_ns() const { return length_ns_ / 0xFFFF'FFFFU + 1; }

  static json row_of(const capture::LaneCalls& lane, const Sums& sums) {
    return {{"lane", lane.lane}, {"calls", lane.count}, {"states", sums}};
  }

  template <typename Visit>
  Sums for_each(const capture::LaneCalls& lane, Visit visit) {
    Sums sums{};
    lane.for_each([&](const TimedCall& call) {
      auto& [count, ns] = sums[state_of(call.what)];
      ++count;
      ns += call.end_ns - call.begin_ns;
      visit(call, call.begin_ns - begin_ns_, call.end_ns - begin_ns_);
    });
    return sums;
  }

  json exact() {
    json rows = json::array();
    for (const capture::LaneCalls* lane : lanes_) {
      Exact slices;
      const Sums sums = for_each(*lane, [&](const TimedCall& call, std::uint64_t begin, std::uint64_t end) {
        slices.add(begin / unit_ns(), (end - begin) / unit_ns(), names_.of(call.what));
      });
      slices.put(rows.emplace_back(row_of(*lane, sums)));
    }
    return rows;
  }

  json binned(json& result) {
    for (const auto& [id, queue] : capture_.queues) {
      names_.queue(id);
    }
    const std::size_t bytes = lanes_.size() * 5 + names_.queues() * 3;
    const std::size_t bins = std::clamp<std::size_t>(kBytesOfBins / bytes, 1024, kMostBins);
    std::vector<Bins> queues(names_.queues(), Bins(bins, length_ns_));
    json rows = json::array();
    for (const capture::LaneCalls* lane : lanes_) {
      std::array<Bins, kCallStates> states{Bins(bins, length_ns_), Bins(bins, length_ns_), Bins(bins, length_ns_)};
      Bins all(bins, length_ns_);
      const Sums sums = for_each(*lane, [&](const TimedCall& call, std::uint64_t begin, std::uint64_t end) {
        states[state_of(call.what)].add(begin, end);
        all.add(begin, begin);
        const int queue = call.what.is_host_call() ? -1 : names_.queue(call.what.queue);
        if (queue >= 0 && static_cast<std::size_t>(queue) < queues.size()) {
          queues[static_cast<std::size_t>(queue)].add(begin, end);
        }
      });
      json& row = rows.emplace_back(row_of(*lane, sums));
      row["shares"] = {base64_of(states[0].shares()), base64_of(states[1].shares()), base64_of(states[2].shares())};
      row["counts"] = base64_of(all.counts());
    }
    result["bins"] = bins;
    for (const Bins& queue : queues) {
      result["queue_shares"].push_back(base64_of(queue.shares()));
      result["queue_counts"].push_back(base64_of(queue.counts()));
    }
    return rows;
  }

  /// Of a file without times: what is outermost in each lane's history.
  json stretches() {
    struct Slice {
      std::uint64_t first_ns, last_ns;
      std::string name;
    };
    std::vector<std::pair<std::uint64_t, std::vector<Slice>>> lanes;
    std::uint64_t last_ns = 0, slices = 0;
    begin_ns_ = ~std::uint64_t{0};
    for (const capture::LaneHistory& lane : capture_.lanes) {
      std::vector<Slice>& list = lanes.emplace_back(lane.lane, std::vector<Slice>()).second;
      lane.for_each_part([&](std::span<const capture::HistoryItem> items) {
        for (std::size_t i = 0; i < items.size() && slices < kMostNames;
             i += items[i].body + std::size_t{1}, ++slices) {
          const capture::HistoryItem& item = items[i];
          list.push_back({item.first_ns, std::max(item.first_ns, item.last_ns),
                          item.body != 0     ? fmt::format("loop × {}", item.repeat)
                          : item.repeat == 1 ? fmt::format("graph {}", item.graph)
                                             : fmt::format("graph {} × {}", item.graph, item.repeat)});
          begin_ns_ = std::min(begin_ns_, item.first_ns);
          last_ns = std::max(last_ns, list.back().last_ns);
        }
      });
    }
    length_ns_ = slices == 0 ? 0 : last_ns - begin_ns_;
    json rows = json::array();
    for (const auto& [number, list] : lanes) {
      Exact exact;
      for (const Slice& slice : list) {
        exact.add((slice.first_ns - begin_ns_) / unit_ns(), (slice.last_ns - slice.first_ns) / unit_ns(),
                  names_.of_stretch(slice.name));
      }
      exact.put(rows.emplace_back(json{{"lane", number}, {"calls", list.size()}, {"states", json::array()}}));
    }
    return rows;
  }

  const Capture& capture_;
  Names names_;
  std::vector<const capture::LaneCalls*> lanes_;
  std::size_t left_out_ = 0;
  std::uint64_t calls_ = 0, begin_ns_ = 0, length_ns_ = 0;
};

}  // namespace

json timeline_data(const Capture& capture) {
  return Timeline(capture).made();
}

}  // namespace refrain::page
