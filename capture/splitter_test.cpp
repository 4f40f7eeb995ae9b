#include "capture/splitter.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "test/capture/records.h"

namespace refrain::capture {
namespace {

struct Collected : StretchSink {
  std::vector<std::vector<Token>> stretches;
  std::vector<std::uint32_t> ended_by;
  void stretch(std::span<const OperationView> operations, std::uint32_t by, std::uint64_t) override {
    auto& tokens = stretches.emplace_back();
    for (const OperationView& operation : operations) {
      tokens.push_back(operation.token());
    }
    ended_by.push_back(by);
  }
};

void feed(Splitter& splitter, TestRecord& record, Token token) {
  splitter.operation(record.other(token));
}

}  // namespace

TEST_CASE("a stretch lies between two host calls") {
  Collected sink;
  Splitter splitter(sink);
  TestRecord record;
  feed(splitter, record, 1);
  feed(splitter, record, 2);
  CHECK(splitter.open_count() == 2);
  CHECK(splitter.host_call(17, 100));
  CHECK_FALSE(splitter.host_call(18, 100));  // nothing since
  feed(splitter, record, 3);
  CHECK(splitter.host_call(18, 100));
  CHECK(sink.stretches == std::vector<std::vector<Token>>{{1, 2}, {3}});
  CHECK(sink.ended_by == std::vector<std::uint32_t>{17, 18});
}

TEST_CASE("endless loops are cut at a multiple of their period") {
  const std::size_t period = GENERATE(1, 2, 7, 10, 100, 511, 512);
  Collected sink;
  Splitter splitter(sink);
  TestRecord record;
  for (std::size_t i = 0; i < 50'000; ++i) {
    feed(splitter, record, 1000 + i % period);
  }
  const std::set<std::vector<Token>> different(sink.stretches.begin(), sink.stretches.end());
  CHECK(different.size() == 1);
  CHECK(sink.stretches.front().size() % period == 0);
  CHECK(sink.stretches.front().size() > 512);
  for (const std::uint32_t by : sink.ended_by) {
    CHECK(by == format::kEndedByLength);
  }
}

TEST_CASE("endless loops that are longer than a graph fall into step") {
  const std::size_t period = GENERATE(513, 1000, 1999, 20'000);
  Collected sink;
  Splitter splitter(sink);
  TestRecord record;
  for (std::size_t i = 0; i < 10; ++i) {
    feed(splitter, record, i);  // a beginning that never comes again
  }
  for (std::size_t i = 0; i < 50 * period; ++i) {
    feed(splitter, record, 1000 + i % period);
  }
  std::map<std::vector<Token>, int> counts;
  std::size_t total = 0;
  for (const auto& stretch : sink.stretches) {
    CHECK(stretch.size() <= format::kMaxStretch);
    ++counts[stretch];
    total += stretch.size();
  }
  CHECK(total + splitter.open_count() == 10 + 50 * period);
  CHECK(counts.size() <= 2 + 4 * (period / 512 + 1));
}

}  // namespace refrain::capture
