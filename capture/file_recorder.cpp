#include "capture/file_recorder.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <numeric>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "capture/encode.h"
#include "capture/file_writer.h"
#include "capture/fork_safe.h"
#include "capture/graph_deduplicator.h"
#include "capture/lane_writer.h"
#include "capture/pending_definitions.h"
#include "env/file_name.h"
#include "env/log.h"
#include "env/mutex.h"
#include "env/own_thread.h"

namespace refrain::capture {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxNews = std::size_t{8} << 20U;
constexpr std::size_t kMaxPendingDefinitions = std::size_t{64} << 20U;
constexpr std::size_t kManyOpenItems = 8192;
constexpr std::size_t kManyCalls = 2 * format::kMaxCalls;

std::uint64_t nanoseconds(std::chrono::milliseconds time) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count());
}

class FileRecorder final : public Recorder {
 public:
  explicit FileRecorder(const FileRecorderOptions& options)
      : options_(options),
        timed_(options.timed_calls),
        window_(options.skipped_stretches, nanoseconds(options.length)) {}
  ~FileRecorder() override;

  bool start(std::string* error);

  void define_all(const Definitions& definitions) noexcept override;
  std::uint16_t reason(const char* why) noexcept override;
  void code(const CodeInfo& info) noexcept override;
  void contents(ObjectId buffer, std::span<const std::byte> bytes) noexcept override;
  void leave_out_contents(std::uint64_t bytes) noexcept override;
  [[nodiscard]] bool wants_contents() const noexcept override { return options_.contents && signal_.alive(); }
  Stream& open_stream(std::uint64_t lane) override;
  void flush() noexcept override;
  void finish() noexcept override;
  [[nodiscard]] std::string file() const override {
    const env::MutexLock lock(work_mutex_);
    return failed_ || submissions() == 0 ? std::string() : writer_.name();
  }
  [[nodiscard]] bool own_process() const noexcept { return signal_.own_process(); }

 private:
  enum class Extent { kNews, kEverything };

  /// Runs `add`, which looks at what was seen and adds to what is pending. Writes that, if it became too much.
  template <typename Add>
  void tell(Add&& add) noexcept;
  /// The analysis does not know that the graphs and calls are only named here.
  void add_lane(std::uint64_t lane) REFRAIN_REQUIRES(lanes_mutex_) REFRAIN_NO_THREAD_SAFETY_ANALYSIS {
    lanes_.push_back(
        std::make_unique<LaneWriter>(lane, signal_, options_.max_behind, graphs_, calls_, regions_, timed_, window_));
  }
  void run() noexcept;
  /// Everything is in the file. Returns the number of submissions in it.
  std::uint64_t complete() noexcept;
  /// Captured by now.
  [[nodiscard]] std::uint64_t submissions() const REFRAIN_REQUIRES(work_mutex_) REFRAIN_EXCLUDES(lanes_mutex_);
  void say_if_out_of_memory() noexcept;
  void end_if_over() REFRAIN_REQUIRES(work_mutex_);
  void drain() REFRAIN_REQUIRES(work_mutex_);
  void write(Extent extent) REFRAIN_REQUIRES(work_mutex_);
  void declare_queues() REFRAIN_REQUIRES(work_mutex_, definitions_mutex_);
  void write_definitions() REFRAIN_REQUIRES(work_mutex_);
  void write_code(std::vector<PendingDefinitions::OwnedCode>& code) REFRAIN_REQUIRES(work_mutex_);
  void append(format::RecordType type, const encode::Payload& payload) REFRAIN_REQUIRES(work_mutex_) {
    append(type, std::span(payload.data(), payload.size()));
  }
  void append(format::RecordType type, std::span<const std::uint8_t> payload) REFRAIN_REQUIRES(work_mutex_);
  template <typename Item, typename Encode, typename Bytes>
  void append_in_batches(format::RecordType type, const std::vector<Item>& items, Encode encode, Bytes bytes_of)
      REFRAIN_REQUIRES(work_mutex_);
  void fail(std::initializer_list<std::string_view> message) noexcept;
  /// Runs `work` under the writer's lock; what it throws ends the capture.
  template <typename Work>
  void guarded(Work&& work) noexcept;

  FileRecorderOptions options_;
  WriterSignal signal_;
  env::OwnThread thread_;
  std::atomic<bool> stopping_{false};

  env::Mutex definitions_mutex_;
  PendingDefinitions pending_ REFRAIN_GUARDED_BY(definitions_mutex_);

  mutable env::Mutex lanes_mutex_;
  std::vector<std::unique_ptr<LaneWriter>> lanes_ REFRAIN_GUARDED_BY(lanes_mutex_);

  /// Also of what is in `lanes_`, but for the streams.
  mutable env::Mutex work_mutex_ REFRAIN_ACQUIRED_BEFORE(definitions_mutex_, lanes_mutex_);
  FileWriter writer_ REFRAIN_GUARDED_BY(work_mutex_);
  GraphDeduplicator graphs_ REFRAIN_GUARDED_BY(work_mutex_);
  HostCalls calls_ REFRAIN_GUARDED_BY(work_mutex_);
  RegionUses regions_ REFRAIN_GUARDED_BY(work_mutex_);
  CallAllowance timed_ REFRAIN_GUARDED_BY(work_mutex_);
  CaptureWindow window_ REFRAIN_GUARDED_BY(work_mutex_);
  std::atomic<bool> failed_{false};
  std::atomic<bool> finished_{false};
  const Clock::time_point started_ = Clock::now();
  Clock::time_point written_ REFRAIN_GUARDED_BY(work_mutex_) = started_;
};

FileRecorder::~FileRecorder() {
  if (thread_.running()) {
    stopping_.store(true, std::memory_order_relaxed);
    sem_post(&signal_.wake);
    thread_.join();
    flush();
    if (!finished_) {
      complete();
    }
  }
  signal_.stopped.store(true, std::memory_order_relaxed);
}

std::uint64_t FileRecorder::complete() noexcept {
  flush();
  std::uint64_t captured = 0;
  guarded([&]() REFRAIN_REQUIRES(work_mutex_) {
    captured = submissions();
    if (window_.to_skip() != 0) {
      env::log_warning("capture: nothing was captured: the program ended " + std::to_string(window_.to_skip()) +
                       " stretches before the " + std::to_string(options_.skipped_stretches) +
                       " that capture_skip leaves out were over");
    }
    const env::MutexLock lock(definitions_mutex_);
    if (const StoredContents& contents = pending_.contents(); contents.left_out_buffers() != 0) {
      env::log_warning({"capture: the contents of ", std::to_string(contents.left_out_buffers()), " buffers, ",
                        std::to_string(contents.left_out_bytes() >> 20U), " MiB, were left out"});
    }
  });
  return captured;
}

void FileRecorder::finish() noexcept {
  if (finished_.exchange(true)) {
    return;
  }
  const std::uint64_t captured = complete();
  guarded([&]() REFRAIN_REQUIRES(work_mutex_) {
    const env::LogLevel level = options_.tells ? env::LogLevel::kInfo : env::LogLevel::kDebug;
    if (captured != 0) {
      env::log(level, "capture: wrote '" + writer_.name() + "': " + std::to_string(captured) + " submissions, " +
                          std::to_string(writer_.bytes_written()) + " bytes");
      return;
    }
    signal_.stopped.store(true, std::memory_order_relaxed);
    writer_.discard();
    env::log(level, "capture: no file is written: nothing was captured");
  });
}

std::uint64_t FileRecorder::submissions() const {
  const env::MutexLock lock(lanes_mutex_);
  return std::accumulate(lanes_.begin(), lanes_.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& lane) { return sum + lane->submissions(); });
}

bool FileRecorder::start(std::string* error) {
  const env::MutexLock lock(work_mutex_);
  if (!writer_.open(options_.file, options_.mode, error, options_.older)) {
    return false;
  }
  const auto meta = encode::meta("refrain " REFRAIN_VERSION, options_.command);
  if (!writer_.append(format::RecordType::kMeta, std::span(meta.data(), meta.size()), error)) {
    return false;
  }
  const env::FileName wanted(options_.file);
  if (!wanted.counted() && writer_.name() != std::filesystem::absolute(wanted.text())) {
    env::log_info("capture: '" + wanted.text() + "' is there already; writing '" + writer_.name() + "'");
  }
  if (!thread_.start<&FileRecorder::run>("refrain-capture", *this)) {
    *error = "cannot write the capture file '" + options_.file + "': no thread for the writer";
    return false;
  }
  return true;
}

template <typename Work>
void FileRecorder::guarded(Work&& work) noexcept {
  try {
    const env::MutexLock lock(work_mutex_);
    if (!failed_) {
      work();
    }
  } catch (const std::exception& problem) {
    fail({"cannot write the capture file '", options_.file, "': ", problem.what()});
  }
}

void FileRecorder::fail(std::initializer_list<std::string_view> message) noexcept {
  signal_.stopped.store(true, std::memory_order_relaxed);
  if (!failed_.exchange(true)) {
    env::log_error(message);
  }
}

template <typename Add>
void FileRecorder::tell(Add&& add) noexcept {
  if (!signal_.alive()) {
    return;
  }
  bool too_much = false;
  try {
    const env::MutexLock lock(definitions_mutex_);
    add();
    too_much = pending_.bytes() > kMaxPendingDefinitions;
  } catch (const std::exception&) {
    signal_.out_of_memory();
  }
  if (too_much) {
    guarded([this]() REFRAIN_REQUIRES(work_mutex_) { write_definitions(); });
  }
}

void FileRecorder::define_all(const Definitions& definitions) noexcept {
  tell([&]() REFRAIN_REQUIRES(definitions_mutex_) { pending_.add(definitions); });
}

std::uint16_t FileRecorder::reason(const char* why) noexcept {
  std::uint16_t number = 0;
  tell([&]() REFRAIN_REQUIRES(definitions_mutex_) { number = pending_.reason(why); });
  return number;
}

void FileRecorder::code(const CodeInfo& info) noexcept {
  tell([&]() REFRAIN_REQUIRES(definitions_mutex_) { pending_.add(info); });
}

void FileRecorder::contents(ObjectId buffer, std::span<const std::byte> bytes) noexcept {
  if (!wants_contents()) {
    return;
  }
  std::vector<StoredContents::Piece> pieces;
  try {
    for (const auto piece : pieces_of(bytes)) {
      pieces.push_back({piece, hash_of(piece)});  // while nobody has to wait for it
    }
  } catch (const std::exception&) {
    signal_.out_of_memory();
    return;
  }
  bool wanted = false;
  tell([&]() REFRAIN_REQUIRES(definitions_mutex_) { wanted = pending_.begin_contents(buffer, pieces); });
  // Piece by piece, so that never more than the limit waits in memory.
  for (std::size_t i = 0; i < pieces.size() && wanted; ++i) {
    tell([&]() REFRAIN_REQUIRES(definitions_mutex_) {
      pending_.add_piece(buffer, i * format::kContentsPiece, pieces[i]);
    });
  }
}

void FileRecorder::leave_out_contents(std::uint64_t bytes) noexcept {
  if (wants_contents()) {
    tell([&]() REFRAIN_REQUIRES(definitions_mutex_) { pending_.leave_out_contents(bytes); });
  }
}

Stream& FileRecorder::open_stream(std::uint64_t lane) {
  const env::MutexLock lock(lanes_mutex_);
  const auto known =
      std::find_if(lanes_.begin(), lanes_.end(), [&](const auto& entry) { return entry->stream().lane() == lane; });
  if (known != lanes_.end()) {
    return (*known)->stream();
  }
  add_lane(lane);
  return lanes_.back()->stream();
}

void FileRecorder::flush() noexcept {
  if (signal_.alive()) {
    guarded([this]() REFRAIN_REQUIRES(work_mutex_) {
      drain();
      write(Extent::kEverything);
    });
  }
}

void FileRecorder::run() noexcept {
  auto next = Clock::now() + options_.flush_interval;
  while (!stopping_.load(std::memory_order_relaxed)) {
    const auto wake_at = std::chrono::duration_cast<std::chrono::nanoseconds>(next.time_since_epoch()).count();
    const timespec deadline{static_cast<time_t>(wake_at / 1'000'000'000), static_cast<long>(wake_at % 1'000'000'000)};
    if (sem_clockwait(&signal_.wake, CLOCK_MONOTONIC, &deadline) == 0) {
      while (sem_trywait(&signal_.wake) == 0) {
      }
    }
    say_if_out_of_memory();
    const auto now = Clock::now();
    guarded([&]() REFRAIN_REQUIRES(work_mutex_) {
      drain();
      if (now >= next) {
        write(Extent::kNews);
      }
      end_if_over();
    });
    if (now >= next) {
      next = Clock::now() + options_.flush_interval;
    }
  }
  say_if_out_of_memory();
}

/// Where no more will be captured, lanes need not tell any more.
void FileRecorder::end_if_over() {
  if (!window_.over() || signal_.stopped.load(std::memory_order_relaxed)) {
    return;
  }
  {
    const env::MutexLock lock(lanes_mutex_);
    if (std::ranges::any_of(lanes_, [](const auto& lane) { return lane->has_open_stretch(); })) {
      return;
    }
  }
  write(Extent::kEverything);
  signal_.stopped.store(true, std::memory_order_relaxed);
  env::log_info("capture: the time of capture_seconds is over; '" + writer_.name() + "' is complete");
}

void FileRecorder::say_if_out_of_memory() noexcept {
  if (signal_.no_memory.load(std::memory_order_relaxed)) {
    const env::MutexLock lock(work_mutex_);
    fail({"cannot write the capture file '", options_.file, "': out of memory"});
  }
}

void FileRecorder::drain() {
  // A queue is told before the operations that name it: mark, look at queues, then take what was marked.
  std::vector<LaneWriter*> lanes;
  {
    const env::MutexLock lock(lanes_mutex_);
    for (const auto& lane : lanes_) {
      lane->stream().mark();
      lanes.push_back(lane.get());
    }
  }
  {
    const env::MutexLock lock(definitions_mutex_);
    declare_queues();
  }
  for (LaneWriter* lane : lanes) {
    lane->drain();
    if (graphs_.news_bytes() > kMaxNews || lane->open_items() > kManyOpenItems || lane->times().count() > kManyCalls) {
      write(Extent::kNews);
    }
  }
}

void FileRecorder::declare_queues() {
  for (const QueueInfo& queue : pending_.queues()) {
    graphs_.declare_queue(queue);
  }
}

void FileRecorder::write_definitions() {
  PendingDefinitions::Taken taken;
  {
    const env::MutexLock lock(definitions_mutex_);
    declare_queues();
    taken = pending_.take();
  }
  const auto write = [&]<typename Info>(const std::vector<Info>& infos) REFRAIN_REQUIRES(work_mutex_) {
    if constexpr (std::is_same_v<Info, FunctionInfo>) {
      write_code(taken.code);  // which they name
    }
    encode_definitions(infos, [this](format::RecordType type, std::span<const std::uint8_t> payload)
                                  REFRAIN_REQUIRES(work_mutex_) { append(type, payload); });
  };
  std::apply([&](const auto&... infos) REFRAIN_REQUIRES(work_mutex_) { (write(infos), ...); }, taken.definitions);
  for (const auto& payload : taken.contents) {
    append(format::RecordType::kContents, payload);
  }
  append_in_batches(format::RecordType::kContentsReferences, taken.references, encode::contents_references,
                    [](const ContentsReference&) { return sizeof(ContentsReference); });
}

void FileRecorder::write_code(std::vector<PendingDefinitions::OwnedCode>& code) {
  for (PendingDefinitions::OwnedCode& owned : code) {
    owned.info.bytes = owned.bytes;
    append(format::RecordType::kCode, encode::code(owned.info));
  }
}

template <typename Item, typename Encode, typename Bytes>
void FileRecorder::append_in_batches(format::RecordType type, const std::vector<Item>& items, Encode encode,
                                     Bytes bytes_of) {
  for (std::span<const Item> rest = items; !rest.empty();) {
    const auto batch = encode::first_batch(rest, bytes_of);
    append(type, encode(batch));
    rest = rest.subspan(batch.size());
  }
}

void FileRecorder::write(Extent extent) {
  const auto now = Clock::now();
  std::vector<LaneWriter*> lanes;
  bool due = extent == Extent::kEverything || graphs_.has_news();
  {
    const env::MutexLock lock(lanes_mutex_);
    for (const auto& lane : lanes_) {
      due = due || lane->open_items() > 2 * HistoryFolder::kMaxBody || lane->is_idle() ||
            lane->times().count() > kManyCalls;
      lanes.push_back(lane.get());
    }
  }
  // Where only repeat counts grow, the file grows with the logarithm of time.
  const auto patience =
      std::clamp<Clock::duration>((now - started_) / 100, options_.flush_interval,
                                  std::max<Clock::duration>(options_.flush_interval, std::chrono::seconds(10)));
  due = due || now - written_ >= patience;
  write_definitions();
  if (!due) {
    return;
  }
  written_ = now;
  // Histories name graphs and host calls: those are told first.
  std::vector<encode::LaneNews> news;
  for (LaneWriter* lane : lanes) {
    const bool with_open = extent == Extent::kEverything ? lane->has_unwritten() : lane->is_idle();
    if (lane->changed() || with_open) {
      lane->take_news(with_open, news);
    }
  }
  using format::RecordType;
  if (const auto names = calls_.take_names(); !names.empty()) {
    append_in_batches(RecordType::kEntryPoints, names, encode::entry_points,
                      [](const encode::NamedEntryPoint& entry) { return 64 + entry.name.size(); });
  }
  append_in_batches(RecordType::kGraphs, graphs_.take_graphs(), encode::graphs, [](const NewGraph& graph) {
    return graph.nodes.size() * (sizeof(NodeShape) + sizeof(std::uint16_t)) +
           (graph.waits.size() + graph.outside.size()) * 4 + graph.arguments.size() * 8;
  });
  append_in_batches(RecordType::kArguments, graphs_.take_sets(), encode::argument_sets,
                    [](const NewArgumentSet& set) { return 64 + set.places.size() * 12; });
  append_in_batches(RecordType::kStatistics, graphs_.take_figures(extent == Extent::kEverything), encode::statistics,
                    [](const GraphFigures& figures) { return 64 + figures.slots.size() * 48; });
  for (const encode::LaneNews& lane : news) {
    append(RecordType::kHistory, encode::history(lane));
  }
  for (LaneWriter* lane : lanes) {
    for (const CallBatch& batch : lane->times().take()) {
      append(RecordType::kTimes, encode::times(batch));
    }
  }
  if (calls_.take_changed()) {
    append(RecordType::kHostCalls, encode::host_calls(calls_.counts()));
  }
  append_in_batches(RecordType::kRegions, regions_.take_changed(), encode::regions,
                    [](const RegionUse& region) { return 128 + region.graphs.size() * 16; });
  if (std::string error; !failed_ && !news.empty() && !writer_.settle(&error)) {
    fail({error});
  }
}

void FileRecorder::append(format::RecordType type, std::span<const std::uint8_t> payload) {
  if (std::string error; !failed_ && !writer_.append(type, payload, &error)) {
    fail({error});
  }
}

}  // namespace

std::unique_ptr<Recorder> open_file_recorder(const FileRecorderOptions& options, std::string* error) {
  auto recorder = std::make_unique<FileRecorder>(options);
  std::string problem;
  if (!recorder->start(&problem)) {
    if (error != nullptr) {
      *error = problem;
    }
    return nullptr;
  }
  return std::make_unique<ForkSafe<FileRecorder>>(std::move(recorder));
}

}  // namespace refrain::capture
