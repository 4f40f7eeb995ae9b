#include "capture/history.h"

#include <catch2/catch.hpp>
#include <random>
#include <utility>

namespace refrain::capture {
namespace {

HistoryItem leaf(std::uint32_t graph, std::uint64_t time) {
  HistoryItem item;
  item.graph = graph;
  item.ended_by = 16;
  item.repeat = item.total = 1;
  item.first_ns = time;
  item.last_ns = time + 5;
  item.span_ns = 5;
  item.host_ns = 2;
  return item;
}

// What the items say happened, one by one.
void expand(const std::vector<HistoryItem>& items, std::size_t begin, std::size_t end,
            std::vector<std::uint32_t>& into) {
  for (std::size_t i = begin; i < end; i += items[i].body + std::size_t{1}) {
    for (std::uint64_t turn = 0; turn < items[i].repeat; ++turn) {
      if (items[i].body == 0) {
        into.push_back(items[i].graph);
      } else {
        expand(items, i + 1, i + 1 + items[i].body, into);
      }
    }
  }
}

struct Run {
  HistoryFolder folder;
  std::vector<Folded> closed;
  std::vector<std::uint32_t> told;
  void add(std::uint32_t graph) {
    folder.add(leaf(graph, 10 * told.size()));
    told.push_back(graph);
    if (told.size() % 97 == 0) {
      for (Folded& item : folder.take_closed()) {
        closed.push_back(std::move(item));
      }
    }
  }
  std::vector<HistoryItem> items() const {
    std::vector<HistoryItem> flat;
    flatten(closed, flat);
    flatten(folder.open(), flat);
    return flat;
  }
  void check() const {
    const auto flat = items();
    std::vector<std::uint32_t> got;
    expand(flat, 0, flat.size(), got);
    REQUIRE(got == told);
    std::uint64_t total = 0, span = 0, host = 0;
    for (const HistoryItem& item : flat) {
      if (item.body == 0) {
        total += item.total;
        span += item.span_ns;
        host += item.host_ns;
        REQUIRE(item.last_ns >= item.first_ns);
      }
    }
    CHECK(total == told.size());
    CHECK(span == 5 * told.size());
    CHECK(host == 2 * told.size());
  }
};

}  // namespace

TEST_CASE("a repeated occurrence becomes one item") {
  Run run;
  for (int i = 0; i < 100'000; ++i) {
    run.add(3);
  }
  CHECK(run.items().size() == 1);
  CHECK(run.items()[0].repeat == 100'000);
  CHECK(run.items()[0].last_ns == 10 * 99'999 + 5);
  run.check();
}

TEST_CASE("loops and loops within loops become a few items") {
  Run run;
  for (int outer = 0; outer < 500; ++outer) {
    for (int inner = 0; inner < 10; ++inner) {
      run.add(1);
      run.add(2);
    }
    run.add(3);
    run.add(3);
    run.add(4);
  }
  CHECK(run.items().size() < 20);
  run.check();
}

TEST_CASE("a loop of many different stretches") {
  Run run;
  for (int outer = 0; outer < 300; ++outer) {
    for (std::uint32_t i = 0; i < 200; ++i) {
      run.add(i);
    }
  }
  CHECK(run.items().size() < 800);
  run.check();
}

TEST_CASE("a loop of more items than a file may have stays unfolded") {
  Run run;
  for (int outer = 0; outer < 3; ++outer) {
    for (std::uint32_t loop = 0; loop < 180; ++loop) {
      for (int turn = 0; turn < 2; ++turn) {
        for (std::uint32_t i = 0; i < 50; ++i) {
          run.add(50 * loop + i);
        }
      }
    }
  }
  run.check();
  CHECK(run.items().size() < 3 * 180 * 52);  // the small ones are loops
  for (const std::vector<Folded>* part : {&std::as_const(run.closed), &run.folder.open()}) {
    for (const Folded& item : *part) {
      CHECK(item.items <= format::kMaxLoopItems);
    }
  }
}

TEST_CASE("anything is told exactly, and memory stays bounded") {
  std::mt19937 engine(7);
  const auto random = [&] { return static_cast<std::uint32_t>(engine()); };
  for (int round = 0; round < 20; ++round) {
    Run run;
    const std::uint32_t symbols = 1 + random() % 5;
    for (int i = 0; i < 20'000; ++i) {
      if (random() % 100 == 0) {  // stretches of noise between loops
        for (std::uint32_t j = random() % 40; j > 0; --j) {
          run.add(random() % symbols);
        }
      }
      run.add(static_cast<std::uint32_t>(i) % (symbols + 1));
      REQUIRE(run.folder.open().size() <= 2 * HistoryFolder::kMaxBody + 1 + 97 + 40);
    }
    run.check();
  }
}

}  // namespace refrain::capture
