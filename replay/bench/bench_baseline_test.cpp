#include "replay/bench/bench_baseline.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "replay/bench/bench_sweep.h"
#include "test/capture/temporary_file.h"

namespace refrain::replay {
namespace {

using nlohmann::json;

/// Medians that are known to 2 %.
BenchTime known(double median) {
  return {median, median * 0.9, median * 1.2, Interval{median * 0.98, median * 1.02}};
}

BenchRow row(std::uint32_t graph, capture::Fingerprint fingerprint, std::uint32_t chunk, double eager, double native) {
  BenchRow made;
  made.graph = graph;
  made.fingerprint = fingerprint;
  made.chunk = chunk;
  made.eager = known(eager);
  made.native = known(native);
  return made;
}

BenchResult result_of(std::vector<BenchRow> rows) {
  BenchResult result;
  result.device.api = "opencl";
  result.device.platform = "platform";
  result.device.name = "device";
  result.device.driver = "1.0";
  result.rows = std::move(rows);
  return result;
}

std::string printed(const BenchResult& result, void (*print)(const BenchResult&, const BenchOptions&, std::FILE*)) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* out = ::open_memstream(&text, &size);
  REQUIRE(out != nullptr);
  print(result, {}, out);
  std::fclose(out);
  std::string all(text, size);
  std::free(text);
  return all;
}

Baseline read(const std::string& content) {
  const capture::TemporaryFile file;
  std::ofstream(file.name()) << content;
  return read_baseline(file.name());
}

/// What is wrong with a file of that content.
std::string refused(const std::string& content) {
  const capture::TemporaryFile file;
  std::ofstream(file.name()) << content;
  try {
    read_baseline(file.name());
  } catch (const std::runtime_error& error) {
    const std::string said = error.what();
    CHECK(said.find("'" + file.name() + "'") != std::string::npos);
    return said.substr(said.find(": ") + 2);
  }
  return "nothing";
}

}  // namespace

TEST_CASE("bench baseline: what bench prints can be read back, with all that a comparison needs") {
  BenchResult before = result_of({row(1, 0xAB, 8, 10, 20), row(2, 0xFFFFFFFFFFFFFFFF, 0, 30, 40)});
  before.rows[1].native.interval.reset();  // too few repetitions
  const Baseline baseline = read(printed(before, print_json));
  CHECK(baseline.api == "opencl");
  CHECK(baseline.device == "device");
  CHECK_FALSE(baseline.fewest_parts);
  REQUIRE(baseline.rows.size() == 2);
  CHECK(baseline.rows[0].graph == 1);
  CHECK(baseline.rows[0].fingerprint == 0xAB);
  CHECK(baseline.rows[0].chunk == 8);
  CHECK(baseline.rows[0].eager.median == 10);
  REQUIRE(baseline.rows[0].native.interval);
  CHECK(baseline.rows[0].native.interval->low == Approx(19.6));
  CHECK(baseline.rows[1].fingerprint == 0xFFFFFFFFFFFFFFFF);
  CHECK_FALSE(baseline.rows[1].native.interval);
}

TEST_CASE("bench baseline: graphs are matched by fingerprint and chunk size, not by number or place") {
  const Baseline baseline = read(printed(
      result_of({row(1, 0xA, 0, 100, 100), row(2, 0xB, 0, 100, 50), row(2, 0xB, 8, 100, 80), row(3, 0xC, 0, 9, 9)}),
      print_json));
  const BenchComparison compared =
      compare(baseline,
              result_of({row(7, 0xB, 8, 100, 40), row(7, 0xB, 0, 100, 51), row(8, 0xA, 0, 100, 130),
                         row(9, 0xA, 4, 100, 100), row(9, 0xD, 0, 100, 100)}),
              false, 0);
  CHECK(compared.notes.empty());
  REQUIRE(compared.rows.size() == 3);
  CHECK(compared.rows[0].what.graph == 7);
  CHECK(compared.rows[0].native.old_us == 80);
  CHECK(compared.rows[0].native.new_us == 40);
  CHECK(compared.rows[0].native.ratio.value == 0.5);
  CHECK(compared.rows[0].verdict == Verdict::kFaster);
  CHECK(compared.rows[1].native.old_us == 50);
  CHECK(compared.rows[1].verdict == Verdict::kNoDifference);
  CHECK(compared.rows[2].verdict == Verdict::kSlower);
  REQUIRE(compared.only_in_baseline.size() == 1);
  CHECK(compared.only_in_baseline[0].fingerprint == 0xC);
  REQUIRE(compared.only_here.size() == 2);
  CHECK(compared.only_here[0].chunk == 4);
  CHECK(compared.only_here[1].fingerprint == 0xD);
}

TEST_CASE("bench baseline: what slows eager runs down as well is not the graph") {
  const Baseline baseline = read(printed(result_of({row(0, 1, 0, 100, 100)}), print_json));
  const auto verdict = [&](double eager, double native, double tolerance = 0) {
    return compare(baseline, result_of({row(0, 1, 0, eager, native)}), false, tolerance).rows.at(0).verdict;
  };
  CHECK(verdict(100, 150) == Verdict::kSlower);
  CHECK(verdict(150, 150) == Verdict::kAsEager);
  CHECK(verdict(150, 200) == Verdict::kSlower);
  CHECK(verdict(60, 60) == Verdict::kAsEager);
  CHECK(verdict(60, 100) == Verdict::kNoDifference);  // eager runs are faster, and graphs what they were
  CHECK(verdict(100, 150, 0.6) == Verdict::kNoDifference);
}

TEST_CASE("bench baseline: of graphs with equal fingerprints each is compared with one") {
  const Baseline baseline = read(printed(result_of({row(1, 5, 0, 1, 10), row(2, 5, 0, 1, 20)}), print_json));
  const BenchComparison compared =
      compare(baseline, result_of({row(1, 5, 0, 1, 10), row(2, 5, 0, 1, 20), row(3, 5, 0, 1, 30)}), false, 0);
  REQUIRE(compared.rows.size() == 2);
  CHECK(compared.rows[1].native.old_us == 20);
  CHECK(compared.only_here.size() == 1);
  CHECK(compared.only_in_baseline.empty());
}

TEST_CASE("bench baseline: another device, driver or way to split is said") {
  const Baseline baseline = read(printed(result_of({row(1, 5, 0, 1, 10)}), print_json));
  BenchResult now = result_of({row(1, 5, 0, 1, 10)});
  now.device.name = "other";
  now.device.driver = "2.0";
  const std::vector<std::string> notes = compare(baseline, now, true, 0).notes;
  REQUIRE(notes.size() == 3);
  CHECK(notes[0] == "the baseline's device is device, this one's is other");
  CHECK(notes[1] == "the baseline's driver is 1.0, this one's is 2.0");
  CHECK(notes[2].find("fewest parts") != std::string::npos);
}

TEST_CASE("bench baseline: what can't be used is refused by name, with the place") {
  const std::string good = printed(result_of({row(1, 0xAB, 8, 10, 20)}), print_json);
  REQUIRE(refused(good) == "nothing");
  CHECK(refused("") == "it is no JSON, or cut short");
  CHECK(refused(good.substr(0, good.size() / 2)) == "it is no JSON, or cut short");
  CHECK(refused(std::string(1000000, '[')) == "it is no JSON, or cut short");
  CHECK(refused("[]") == "it is not what `refrain bench --json` prints");
  CHECK(refused(R"({"share_replayed": 1})") == "it is not what `refrain bench --json` prints");
  CHECK_THROWS_WITH(read_baseline("/nowhere.json"), Catch::Contains("/nowhere.json"));
  CHECK_THROWS_WITH(read_baseline("/dev/zero"), Catch::Contains("/dev/zero"));

  const auto without = [&](const char* path, const json& value = nullptr) {
    json all = json::parse(good);
    json& place = all[json::json_pointer(path)];
    place = value;
    return refused(all.dump());
  };
  json old = json::parse(good);
  old.erase("confidence");
  CHECK(refused(old.dump()).find("an older Refrain printed it") != std::string::npos);
  CHECK(without("/confidence", 0.5).find("99 %") != std::string::npos);
  CHECK(without("/api") == "it.api is not a text");
  CHECK(without("/results", 3) == "it.results is not a list");
  CHECK(without("/results/0", "x") == "it.results[0] has no member graph");
  CHECK(without("/results/0/graph", -1) == "it.results[0].graph is not a whole number of 32 bits");
  CHECK(without("/results/0/chunk", 1e30) == "it.results[0].chunk is not a whole number of 32 bits");
  CHECK(without("/results/0/chunk", 1ULL << 40U) == "it.results[0].chunk is not a whole number of 32 bits");
  CHECK(without("/results/0/fingerprint", "xyz") == "it.results[0].fingerprint is not a fingerprint");
  CHECK(without("/results/0/fingerprint", std::string(17, 'f')) == "it.results[0].fingerprint is not a fingerprint");
  CHECK(without("/results/0/native_us/median", -5) == "it.results[0].native_us.median is not a time, 0 or more");
  CHECK(without("/results/0/native_us/median", 100) == "it.results[0].native_us is not a median between low and high");
  CHECK(without("/results/0/eager_us", json::object()) == "it.results[0].eager_us has no member median");
}

TEST_CASE("bench baseline: a damaged file is refused or read, and what is read can be compared and printed") {
  BenchResult now = result_of({row(1, 0xAB, 8, 10, 20), row(2, 0xCD, 0, 10, 20)});
  const std::string good = printed(now, print_json);
  std::mt19937 random(1);
  const std::string letters = "0123456789-.eE\"{}[],: \nu\\\x01\xff";
  int accepted = 0;
  for (int trial = 0; trial < 500; ++trial) {
    std::string damaged = good;
    for (int i = 0; i < 1 + trial % 3; ++i) {
      damaged[random() % damaged.size()] = letters[random() % letters.size()];
    }
    const capture::TemporaryFile file;
    std::ofstream(file.name()) << damaged;
    try {
      now.comparison = compare(read_baseline(file.name()), now, false, 0);
      ++accepted;
    } catch (const std::runtime_error& error) {
      CHECK(std::string(error.what()).starts_with("the baseline '"));
      continue;
    }
    CHECK(json::parse(printed(now, print_json)).contains("baseline"));
    CHECK(printed(now, print_table).find("Against ") != std::string::npos);
  }
  CHECK(accepted > 0);
  CHECK(accepted < 500);
}

TEST_CASE("bench baseline: the comparison is told as text and as JSON") {
  const Baseline baseline = read(printed(result_of({row(1, 0xA, 0, 100, 100), row(2, 0xB, 0, 100, 50)}), print_json));
  BenchResult now = result_of({row(4, 0xA, 0, 100, 150), row(5, 0xD, 8, 100, 1)});
  now.device.name = "evil\033\n";
  now.comparison = compare(baseline, now, false, 0.01);
  const std::string text = printed(now, print_table);
  INFO(text);
  CHECK(text.find("note: the baseline's device is device, this one's is evil\\x1b\\n") != std::string::npos);
  CHECK(text.find("1.500 (1.458-1.543)") != std::string::npos);
  CHECK(text.find("1 slower; 0 faster; 0 different, as eager may be; 0 no difference") != std::string::npos);
  CHECK(text.find("smaller than 1 % are none") != std::string::npos);
  CHECK(text.find("as there:\n  graph 2, 000000000000000b, chunk all\n") != std::string::npos);
  CHECK(text.find("Only here:\n  graph 5, 000000000000000d, chunk 8\n") != std::string::npos);

  const json told = json::parse(printed(now, print_json)).at("baseline");
  INFO(told.dump(1));
  CHECK(told["compared"].size() == 1);
  CHECK(told["compared"][0]["verdict"] == "slower");
  CHECK(told["compared"][0]["native"]["ratio"] == 1.5);
  CHECK(told["compared"][0]["native"]["low"].get<double>() == Approx(1.458).epsilon(0.001));
  CHECK(told["compared"][0]["relative"]["ratio"] == 1.5);
  CHECK(told["only_in_baseline"][0]["fingerprint"] == "000000000000000b");
  CHECK(told["only_here"][0]["chunk"] == 8);
  CHECK(told["tolerance"] == 0.01);
}

TEST_CASE("bench sweep: the best size of each graph, how far the others are, and which are no worse") {
  BenchResult result = result_of({row(1, 0xA, 1, 120, 200), row(1, 0xA, 8, 120, 100), row(1, 0xA, 16, 120, 101),
                                  row(1, 0xA, 0, 120, 110), row(2, 0xB, 0, 100, 50)});
  const std::vector<BestChunk> best = best_chunks(result.rows);
  REQUIRE(best.size() == 1);  // of graph 2 there is nothing to choose from
  CHECK(best[0].best.chunk == 8);
  CHECK(best[0].eager.value == 1.2);
  REQUIRE(best[0].others.size() == 3);
  CHECK(best[0].others[0].chunk == 16);
  CHECK(best[0].others[2].chunk == 1);
  CHECK(best[0].others[2].ratio.value == 2);
  CHECK(text_of(best[0]) ==
        "graph 1: chunk 8, 100.0 us; eager: 1.200 (1.167-1.234) times as long; 16: 1.010 (0.982-1.039) times; "
        "all: 1.100 (1.069-1.132) times; no difference that can be told: 16");
  CHECK(printed(result, print_table).find(text_of(best[0])) != std::string::npos);

  const json told = json::parse(printed(result, print_json));
  REQUIRE(told["best"].size() == 1);
  CHECK(told["best"][0]["fingerprint"] == "000000000000000a");
  CHECK(told["best"][0]["chunk"] == 8);
  CHECK(told["best"][0]["others"][0]["told_apart"] == false);
  CHECK(told["best"][0]["others"][1]["told_apart"] == true);
  result.rows.resize(1);
  CHECK_FALSE(json::parse(printed(result, print_json)).contains("best"));
}

}  // namespace refrain::replay
