#include "replay/bench/extract.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <stdexcept>

#include "capture/file_recorder.h"
#include "capture/format.h"
#include "capture/limits.h"
#include "capture/reader.h"
#include "env/own_file.h"
#include "replay/bench/bench_addresses.h"

namespace refrain::replay {
namespace {

using capture::ObjectId;

/// What the wanted graphs name.
struct Named {
  std::set<ObjectId> queues, buffers;
  std::set<capture::FunctionId> functions;
  std::set<std::uint16_t> reasons;
};

class Extraction {
 public:
  explicit Extraction(const capture::Capture& capture) : capture_(capture), addresses_(capture) {}

  /// `graph`: index in Capture::graphs.
  void want(std::uint32_t graph) {
    const capture::StoredGraph& stored = capture_.graphs[graph];
    graphs_.emplace(graph, Place{});
    told_.argument_sets += stored.argument_sets();
    for (std::uint32_t set = 0; set < stored.argument_sets(); ++set) {
      const capture::Graph made = stored.materialise(set);
      for (capture::NodeIndex node = 0; node < made.size(); ++node) {
        look_at(made.operation(node));
      }
    }
  }

  void find_places() {
    for (const capture::LaneHistory& lane : capture_.lanes) {
      capture::for_each_leaf(lane, [&](const capture::HistoryItem& item) {
        const auto found = graphs_.find(item.graph);
        if (found != graphs_.end() && !found->second.found) {
          const bool by_call = item.ended_by >= capture::format::kFirstEntryPoint;
          found->second = {true, lane.lane, by_call ? capture_.ended_by(item.ended_by).data() : "refrain extract"};
        }
      });
    }
    for (const BenchAddresses::Region& region : addresses_.join()) {
      named_.buffers.insert(region.buffers.begin(), region.buffers.end());
    }
  }

  [[nodiscard]] bool has_contents() const {
    return std::ranges::any_of(named_.buffers, [&](ObjectId buffer) { return capture_.has_contents(buffer); });
  }

  void write(capture::Recorder& recorder) {
    define(recorder);
    std::map<std::uint64_t, capture::Stream*> streams;
    for (const auto& [graph, place] : graphs_) {
      capture::Stream*& stream = streams[place.lane];
      if (stream == nullptr) {
        stream = &recorder.open_stream(place.lane);
      }
      const capture::StoredGraph& stored = capture_.graphs[graph];
      for (std::uint32_t set = 0; set < stored.argument_sets(); ++set) {
        const capture::Graph made = stored.materialise(set);
        for (capture::NodeIndex node = 0; node < made.size(); ++node) {
          stream->operation(made.operation(node));
        }
        stream->host_call(place.ended_by, 0);
      }
      // In this order, whatever lane they are of.
      recorder.flush();
    }
    told_.graphs = graphs_.size();
  }

  [[nodiscard]] const Extracted& told() const noexcept { return told_; }

 private:
  /// Where the graph was first.
  struct Place {
    bool found = false;
    std::uint64_t lane = 1;
    const char* ended_by = "refrain extract";  ///< the host call; lives as long as the capture
  };

  void look_at(const capture::OperationView& operation) {
    named_.queues.insert(operation.header().queue);
    named_.reasons.insert(operation.header().reason);
    if (operation.kind() == capture::OperationKind::kKernel) {
      named_.functions.insert(operation.header().function);
    }
    for (const capture::ArgumentDescriptor& argument : operation.arguments()) {
      for (auto found = capture_.buffers.find(argument.object);
           found != capture_.buffers.end() && named_.buffers.insert(found->first).second;
           found = capture_.buffers.find(found->second.parent)) {
      }
    }
    for_each_address(operation, [&](std::size_t, std::uint64_t word) { addresses_.use(word); });
  }

  void define(capture::Recorder& recorder) {
    for (const capture::DeviceInfo& device : capture_.devices) {
      recorder.define(device);
    }
    for (const ObjectId queue : named_.queues) {
      if (const auto found = capture_.queues.find(queue); found != capture_.queues.end()) {
        recorder.define(found->second);
      }
    }
    for (const std::uint16_t reason : named_.reasons) {
      if (const auto found = capture_.reasons.find(reason); found != capture_.reasons.end()) {
        recorder.define(found->second);
      }
    }
    for (const capture::FunctionId id : named_.functions) {
      const auto found = capture_.functions.find(id);
      if (found == capture_.functions.end()) {
        continue;
      }
      ++told_.kernels;
      if (const auto code = capture_.code.find(found->second.code); code != capture_.code.end()) {
        const std::vector<std::byte> bytes = capture_.read_code(code->first);
        recorder.code({code->first, code->second.kind, bytes});
      }
      recorder.define(found->second);
    }
    for (const ObjectId buffer : named_.buffers) {
      const capture::BufferInfo& info = capture_.buffers.at(buffer);
      ++told_.buffers;
      recorder.define(info);
      if (capture_.has_contents(buffer) && info.size != 0) {  // of some images nobody knows how many bytes they have
        if (info.size > capture::format::kMaxContents) {
          throw std::runtime_error("buffer " + std::to_string(buffer) + " has more contents than any capture holds");
        }
        ++told_.with_contents;
        std::vector<std::byte> contents(info.size);
        std::string error;
        if (!capture_.read_contents(buffer, contents, &error)) {
          throw std::runtime_error(error);
        }
        recorder.contents(buffer, contents);
      }
    }
  }

  const capture::Capture& capture_;
  BenchAddresses addresses_;
  std::map<std::uint32_t, Place> graphs_;
  Named named_;
  Extracted told_;
};

/// Whether a file of this name may be replaced.
bool replaceable(const std::string& name) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::symlink_status(name, error);
  if (!std::filesystem::exists(status)) {
    return true;
  }
  if (!std::filesystem::is_regular_file(status)) {
    return false;
  }
  return std::filesystem::file_size(name, error) == 0 || capture::is_capture(name);
}

/// As a pattern that stands for itself.
std::string literally(const std::string& name) {
  std::string pattern;
  for (const char letter : name) {
    pattern.append(letter == '%' ? 2 : 1, letter);
  }
  return pattern;
}

std::atomic<const char*> unfinished{nullptr};

void remove_unfinished(int number) {
  if (const char* const name = unfinished.load(); name != nullptr) {
    ::unlink(name);
  }
  static_cast<void>(::raise(number));  // when this handler returns, with its default action
}

/// A file that is gone if it does not get its name, also where a signal ends the process. One at a time.
class Unfinished {
 public:
  explicit Unfinished(const std::string& name) : name_(name + "." + std::to_string(::getpid()) + ".part") {
    unfinished.store(name_.c_str());
    for (const int number : {SIGHUP, SIGINT, SIGTERM}) {
      struct sigaction action {};
      if (::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) {
        action.sa_handler = &remove_unfinished;
        action.sa_flags = static_cast<int>(SA_RESETHAND);
        ::sigaction(number, &action, nullptr);
      }
    }
  }
  ~Unfinished() {
    unfinished.store(nullptr);
    std::error_code error;
    std::filesystem::remove(name_, error);
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  std::string name_;
};

}  // namespace

Extracted extract(const ExtractOptions& options) {
  if (!replaceable(options.output)) {
    throw std::runtime_error("'" + options.output + "' is there already, and not a capture; it stays as it is");
  }
  if (const std::error_code why = env::OwnFile::obstacle_to_replace(options.output)) {
    throw std::runtime_error("can't write '" + options.output + "': " + why.message());
  }
  std::string error;
  const auto capture = capture::read_capture(options.file, &error);
  if (!capture) {
    throw std::runtime_error(error);
  }
  if (const std::string why = capture->why_not_trusted(); !why.empty() && !options.trust) {
    throw std::runtime_error(
        "'" + options.file + "' is not taken: " + why +
        ". A capture is code, and the new one would be your own. If you know where it comes from: --trust");
  }
  Extraction extraction(*capture);
  for (const std::uint32_t graph : options.graphs) {
    if (graph >= capture->graphs.size()) {
      throw std::runtime_error("'" + options.file + "' has no graph " + std::to_string(graph) + "; it has " +
                               std::to_string(capture->graphs.size()) + ", numbered from 0");
    }
  }
  for (const std::uint32_t graph : std::set(options.graphs.begin(), options.graphs.end())) {
    extraction.want(graph);
  }
  extraction.find_places();

  const Unfinished file(options.output);
  {
    capture::FileRecorderOptions recording;
    recording.file = literally(file.name());
    recording.contents = extraction.has_contents();
    recording.command = capture->command;
    const auto recorder = capture::open_file_recorder(recording, &error);
    if (recorder == nullptr) {
      throw std::runtime_error(error);
    }
    extraction.write(*recorder);
    if (recorder->file() != std::filesystem::absolute(file.name())) {
      throw std::runtime_error("can't write '" + options.output + "'");  // the log says why
    }
  }
  Extracted told = extraction.told();
  told.cut_short = capture->cut_short;
  std::error_code failure;
  told.bytes = std::filesystem::file_size(file.name(), failure);
  if (!failure) {
    std::filesystem::rename(file.name(), options.output, failure);
  }
  if (failure) {
    throw std::runtime_error("can't write '" + options.output + "': " + failure.message());
  }
  return told;
}

}  // namespace refrain::replay
