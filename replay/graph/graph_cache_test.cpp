#include "replay/graph/graph_cache.h"

#include <catch2/catch.hpp>
#include <map>

#include "replay/engine_test_support.h"
#include "replay/graph/graph_builder.h"
#include "replay/graph/submit.h"

namespace refrain::replay {
namespace {

/// Graphs of 100 kernels each, built and launched without an engine.
class Graphs {
 public:
  explicit Graphs(const env::Settings& settings)
      : budget_(settings),
        cache(settings, hooks_),
        builder(settings, backend_, hooks_, changes_, cache, budget_, discarder_) {
    queue_.id = queue_.handle = 1;
  }

  /// The graph named `first`: kernels `first`, `first` + 1 …
  std::shared_ptr<GraphEntry> entry(capture::FunctionId first) {
    std::vector<capture::Token> tokens;
    for (std::size_t i = 0; i < kLength; ++i) {
      tokens.push_back(first + i);
    }
    auto result = cache.entry_for(tokens, false);
    if (cache.take_sweep_due()) {
      builder.request_sweep();
    }
    return result;
  }
  /// Occurrences come by, of which a graph is asked for several times.
  std::shared_ptr<GraphEntry> ask_for(capture::FunctionId first) {
    auto result = entry(first);
    const Occurrence work = occurrence(first);
    for (int i = 0; i < 10; ++i) {
      if (result->recorded(views(work), 1000, true) == GraphEntry::Wish::kBuild) {
        REQUIRE(builder.start());
        REQUIRE(builder.request(result, work));
        builder.wait_idle();
      }
    }
    return result;
  }
  StateChanges& changes() noexcept { return changes_; }
  test::TestHooks& hooks() noexcept { return hooks_; }
  test::ArithmeticBackend& backend() noexcept { return backend_; }
  /// Occurrences come by until the graph is built and ready.
  std::shared_ptr<GraphEntry> build(capture::FunctionId first) {
    auto result = entry(first);
    const Occurrence work = occurrence(first);
    cache.name(result, work);
    for (int i = 0; i < 20 && result->state() == GraphEntry::State::kRecording; ++i) {
      if (result->recorded(views(work), 1000, true) == GraphEntry::Wish::kBuild) {
        REQUIRE(builder.start());
        REQUIRE(builder.request(result, work));
        builder.wait_idle();
      }
    }
    REQUIRE(result->state() == GraphEntry::State::kReady);
    return result;
  }
  Launched launch(capture::FunctionId first) {
    const Occurrence work = occurrence(first);
    WindowEvents window;
    return entry(first)->launch({backend_, hooks_, window}, views(work), 0, false).launch;
  }

 private:
  using OperationView = capture::OperationView;
  static constexpr std::size_t kLength = 100;

  static std::vector<OperationView> views(const Occurrence& work) {
    std::vector<OperationView> operations;
    for (std::size_t i = 0; i < work.size(); ++i) {
      operations.push_back(work.operation(i));
    }
    return operations;
  }

 public:
  Occurrence occurrence(capture::FunctionId first) const {
    Occurrence result;
    for (std::size_t i = 0; i < kLength; ++i) {
      capture::RecordBytes bytes;
      capture::OperationWriter writer(bytes);
      auto& header = writer.begin(capture::OperationKind::kKernel, first + i);
      header.function = first + i;
      header.queue = queue_.id;
      writer.words(capture::words::Kernel{.dimensions = 1, .offset = {}, .global = {64, 1, 1}, .local = {}});
      writer.argument_handle(capture::ArgumentKind::kBuffer, 7, 7);
      const std::uint64_t scalar = i;
      writer.argument(capture::ArgumentKind::kValue, 0, std::as_bytes(std::span(&scalar, 1)));
      writer.finish();
      result.add(OperationView(bytes.data()));
    }
    result.queues.push_back(queue_);
    return result;
  }

 private:
  test::ArithmeticBackend backend_;
  test::TestHooks hooks_{backend_};
  StateChanges changes_;
  capture::QueueInfo queue_;
  TrialBudget budget_;
  Discarder discarder_{backend_};

 public:
  GraphCache cache;
  GraphBuilder builder;
};

TEST_CASE("no graph is made of operations from before a setter, or while one is at the driver") {
  env::Settings settings;
  settings.gate = false;
  Graphs graphs(settings);
  graphs.changes().begin();
  CHECK(graphs.ask_for(1000)->state() == GraphEntry::State::kRecording);
  graphs.changes().end();
  graphs.hooks().current = false;
  CHECK(graphs.ask_for(1000)->state() == GraphEntry::State::kRecording);
  graphs.hooks().current = true;
  const auto entry = graphs.build(1000);
  CHECK(entry->state() == GraphEntry::State::kReady);
  CHECK(entry->summary().builds == 1);
  // Nor is it predicted, whose records nobody compares by their tokens.
  CHECK(entry->predicted(graphs.changes(), graphs.hooks()) != nullptr);
  graphs.changes().begin();
  CHECK(entry->predicted(graphs.changes(), graphs.hooks()) == nullptr);
  graphs.changes().end();
  CHECK(entry->predicted(graphs.changes(), graphs.hooks()) != nullptr);
  graphs.changes().begin();
  graphs.changes().end();
  graphs.hooks().current = false;
  CHECK(entry->predicted(graphs.changes(), graphs.hooks()) == nullptr);
  graphs.hooks().current = true;
  CHECK(entry->predicted(graphs.changes(), graphs.hooks()) != nullptr);
  graphs.changes().begin();
  graphs.changes().end();
  graphs.hooks().outdated = 1005;  // one of its kernels
  CHECK(entry->predicted(graphs.changes(), graphs.hooks()) == nullptr);
}

TEST_CASE("what happens while a graph is recorded: a setter, or memory that goes") {
  env::Settings settings;
  settings.gate = false;
  Graphs graphs(settings);
  graphs.backend().in_record = [&] {
    graphs.changes().begin();
    graphs.changes().end();
  };
  const auto entry = graphs.ask_for(1000);
  CHECK(entry->state() == GraphEntry::State::kRecording);
  CHECK(entry->summary().builds == 0);
  graphs.backend().in_record = [&] { graphs.cache.object_gone(7); };
  const auto another = graphs.ask_for(2000);
  CHECK(another->state() != GraphEntry::State::kReady);
  CHECK(graphs.backend().live_buffers == 0);
  graphs.backend().in_record = nullptr;
  CHECK(graphs.build(3000)->state() == GraphEntry::State::kReady);  // 7 is another object's number now
}

TEST_CASE("a graph that cannot be recorded at this moment is asked for again, and declined for nothing") {
  env::Settings settings;
  settings.gate = false;
  Graphs graphs(settings);
  graphs.backend().bad_moment = true;
  const auto entry = graphs.ask_for(1000);
  CHECK(entry->state() == GraphEntry::State::kRecording);
  CHECK(entry->summary().reason.empty());
  graphs.backend().bad_moment = false;
  CHECK(graphs.build(1000) == entry);
  CHECK(entry->state() == GraphEntry::State::kReady);
}

TEST_CASE("what is asked for and not begun at the end gives back what it names") {
  env::Settings settings;
  Graphs graphs(settings);
  const Occurrence work = graphs.occurrence(1000);
  const auto request = [&] { REQUIRE(graphs.builder.request(graphs.entry(1000), work)); };
  request();  // no thread was started that would begin with it
  request();
  CHECK(graphs.builder.oldest_request() == work.size());
  CHECK(graphs.hooks().retained == static_cast<int>(2 * work.size()));
  graphs.builder.stop();
  CHECK(graphs.hooks().retained == 0);
  request();  // too late
  CHECK(graphs.hooks().retained == 0);
}

TEST_CASE("the graphs not used for longest make room, however often they were used before") {
  env::Settings settings;
  settings.gate = false;
  settings.graph_memory_mb = 1;
  Graphs graphs(settings);
  const std::size_t size = graphs.build(1000)->memory();
  const std::size_t room = (std::size_t{1} << 20U) / size + 1;  // room is made before a graph is built
  REQUIRE(room >= 3);
  for (std::size_t i = 2; i <= room; ++i) {
    graphs.build(1000 * i);
    for (int n = 0; n < 10; ++n) {
      REQUIRE(graphs.launch(1000 * i) == Launched::kDone);
    }
  }
  // All are there; the first was launched less often than any other, but last.
  REQUIRE(graphs.launch(1000) == Launched::kDone);
  graphs.build(1000 * (room + 1));
  CHECK(graphs.entry(1000)->memory() == size);
  CHECK(graphs.entry(2000)->memory() == 0);
  CHECK(graphs.entry(3000)->memory() == size);
  CHECK(graphs.entry(1000 * (room + 1))->memory() == size);
  CHECK(graphs.launch(2000) == Launched::kIssue);
}

TEST_CASE("a table that is full of stretches that have gone by gives their places to others") {
  env::Settings settings;
  settings.gate = false;
  settings.max_graphs = 16;
  Graphs graphs(settings);
  graphs.build(1000);
  for (std::size_t i = 2; i <= 16; ++i) {
    REQUIRE(graphs.entry(1000 * i) != nullptr);
  }
  const auto gone = graphs.entry(2000);
  CHECK(graphs.entry(17'000) == nullptr);
  // One of them still comes, and so do others, for which there is no room yet.
  std::size_t asked = 0;
  for (; graphs.entry(17'000 + asked % 3 * 1000) == nullptr && asked < 1000; ++asked) {
    REQUIRE(graphs.launch(1000) == Launched::kDone);
    graphs.builder.wait_idle();
  }
  CHECK(asked > 12);
  CHECK(asked < 96);
  CHECK(graphs.launch(1000) == Launched::kDone);
  CHECK(gone->gone());
  CHECK(graphs.entry(2000) != gone);  // it may come again
  CHECK(graphs.cache.size() >= 14);
}

TEST_CASE("what is not replayed makes room first, and no more of it than is asked for") {
  env::Settings settings;
  settings.gate = false;
  settings.max_graphs = 16;
  Graphs graphs(settings);
  std::vector<std::shared_ptr<GraphEntry>> entries;
  for (std::size_t i = 1; i <= 16; ++i) {
    entries.push_back(i % 4 == 0 ? graphs.entry(1000 * i) : graphs.build(1000 * i));
  }
  const auto ask = [&](capture::FunctionId first) {
    for (int asked = 0; graphs.entry(first) == nullptr; ++asked) {
      REQUIRE(asked < 100);
      graphs.builder.wait_idle();
    }
  };
  ask(17'000);
  CHECK(graphs.cache.size() >= 14);
  ask(18'000);
  ask(19'000);
  ask(20'000);
  std::size_t gone = 0;
  for (std::size_t i = 1; i <= 16; ++i) {
    INFO(i);
    gone += entries[i - 1]->gone() ? 1 : 0;
    CHECK((i % 4 == 0 || !entries[i - 1]->gone()));
  }
  CHECK(gone >= 2);
}

TEST_CASE("a few more stretches than places: those that have one keep it") {
  env::Settings settings;
  settings.gate = false;
  settings.max_graphs = 16;
  Graphs graphs(settings);
  for (int round = 0; round < 100; ++round) {
    for (std::size_t i = 1; i <= 20; ++i) {
      if (const auto entry = graphs.entry(1000 * i); entry != nullptr) {
        entry->bypassed();
      }
      graphs.builder.wait_idle();
      REQUIRE((graphs.entry(1000 * i) != nullptr) == (i <= 16));
    }
  }
  CHECK(graphs.cache.entries_gone() == 0);
}

TEST_CASE("what is known of a kernel or a queue goes with it") {
  env::Settings settings;
  settings.gate = false;
  Graphs graphs(settings);
  const auto first = graphs.build(1000);
  const auto second = graphs.build(2000);
  graphs.cache.identity_gone(1005);
  CHECK(first->gone());
  CHECK(first->memory() == 0);
  CHECK_FALSE(second->gone());
  CHECK(graphs.cache.size() == 1);
  CHECK(graphs.launch(2000) == Launched::kDone);
  graphs.cache.identity_gone(1);  // the queue of all
  CHECK(second->gone());
  CHECK(graphs.cache.size() == 0);
  // They are told of all the same, but not for ever.
  REQUIRE(graphs.cache.summaries().size() == 2);
  CHECK(graphs.cache.summaries()[1].launched == 1);
  CHECK(graphs.cache.gone().entries == 0);
  for (std::size_t i = 1; i <= 1000; ++i) {
    const auto entry = graphs.entry(10'000 * i);
    graphs.cache.name(entry, graphs.occurrence(10'000 * i));
    graphs.cache.identity_gone(10'000 * i + 1);
    REQUIRE(entry->gone());
  }
  const auto told = graphs.cache.summaries();
  CHECK(told.size() == 256);
  CHECK(std::ranges::count(told, std::uint64_t{1}, &GraphEntry::Summary::launched) == 1);  // it stands for most
  CHECK(graphs.cache.gone().entries == 1002 - 256);
}

TEST_CASE("entries are told of by their devices, whatever queues call them") {
  env::Settings settings;
  Graphs graphs(settings);
  const auto name = [&](capture::FunctionId first, std::vector<capture::ObjectId> devices) {
    Occurrence work = graphs.occurrence(first);
    for (const capture::ObjectId device : devices) {
      work.queues.push_back({});
      work.queues.back().device = device;
    }
    work.queues.erase(work.queues.begin());
    graphs.cache.name(graphs.entry(first), work);
  };
  CHECK(graphs.cache.devices().empty());
  name(1000, {5});
  name(2000, {7});
  name(3000, {15, 5});  // another context of the first device
  name(4000, {5, 7, 5});
  CHECK(graphs.cache.devices() == std::vector<std::string>{"a device", "a device"});
  std::map<capture::Fingerprint, std::uint32_t> device;
  for (const GraphEntry::Summary& graph : graphs.cache.summaries()) {
    device[graph.fingerprint] = graph.device;
  }
  CHECK(device.at(graphs.entry(1000)->summary().fingerprint) == 0);
  CHECK(device.at(graphs.entry(2000)->summary().fingerprint) == 1);
  CHECK(device.at(graphs.entry(3000)->summary().fingerprint) == 0);
  CHECK(device.at(graphs.entry(4000)->summary().fingerprint) == GraphEntry::Summary::kSeveral);
}

TEST_CASE("entries that have gone are not kept by what named them") {
  env::Settings settings;
  settings.gate = false;
  Graphs graphs(settings);
  std::vector<std::weak_ptr<GraphEntry>> gone;
  for (std::size_t i = 1; i <= 1000; ++i) {  // kernels come and go, and their queue stays
    const auto entry = graphs.entry(10'000 * i);
    graphs.cache.name(entry, graphs.occurrence(10'000 * i));
    graphs.cache.identity_gone(10'000 * i + 1);
    REQUIRE(entry->gone());
    gone.push_back(entry);
  }
  CHECK(std::ranges::count_if(gone, [](const auto& entry) { return !entry.expired(); }) < 100);
}

}  // namespace
}  // namespace refrain::replay
