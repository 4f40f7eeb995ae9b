#include "test/conformance/support.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "capture/reader.h"
#include "test/support/child.h"

extern char** environ;

namespace conformance {
namespace {

constexpr int kTries = 15;

const nlohmann::json& entry() {
  static const nlohmann::json all = nlohmann::json::parse(std::ifstream(PATHS_FILE));
  return all.at(api());
}

std::string slug(const std::string& text) {
  std::string result;
  for (const char c : text.substr(0, 80)) {
    result += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  return result;
}

Run run(const std::string& program, const nlohmann::json& variables, const Settings& settings, int seed) {
  std::map<std::string, std::string> all;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string text = *each;
    const auto end = text.find('=');
    const std::string name = text.substr(0, end);
    if (name.rfind("REFRAIN_", 0) != 0 && name.rfind("SIM_", 0) != 0 && name != "LD_PRELOAD" &&
        name != "OPENCL_LAYERS") {
      all[name] = end == std::string::npos ? "" : text.substr(end + 1);
    }
  }
  for (const auto& [name, value] : variables.items()) {
    all[name] = value.get<std::string>();
  }
  const std::string log = child::scratch("calls.log");
  std::filesystem::remove(log);
  all["SIM_SEED"] = std::to_string(seed);
  all["SIM_LOG"] = log;
  all["SIM_WORKERS"] = "4";  // host functions that sleep must not stop the device
  for (const auto& [name, value] : settings) {
    all[name] = value;
  }
  std::vector<std::string> environment;
  for (const auto& [name, value] : all) {
    environment.push_back(name + "=" + value);
  }
  const child::Result done = child::run({entry().at("conformance").get<std::string>(), program}, environment, 240);
  Run result;
  result.exit_code = done.exit_code;
  result.output = done.output;
  result.errors = done.errors;
  result.report = nlohmann::json::parse(std::ifstream(child::scratch("report.json")), nullptr, false);
  std::ifstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    result.calls.push_back(line.substr(0, line.find(' ')));
  }
  return result;
}

void check_clean(const Run& run) {
  INFO("output: " << run.output.substr(0, 2000));
  INFO("errors: " << run.errors.substr(0, 4000));
  REQUIRE(run.exit_code == 0);
  REQUIRE(run.errors.find("violation") == std::string::npos);
  REQUIRE(run.errors.find("[refrain] error") == std::string::npos);
  REQUIRE(run.output.find("end") != std::string::npos);
}

}  // namespace

const std::string& api() {
  static const std::string name = [] {
    const char* given = std::getenv("CONFORMANCE_API");
    return std::string(given == nullptr ? "opencl" : given);
  }();
  return name;
}

bool simulated() {
  return entry().at("simulated").get<bool>();
}

const char* cannot(Feature feature) {
  static const std::vector<std::string> reasons = [] {
    std::vector<std::string> list;
    std::istringstream lines(run("cannot", entry().at("plain"), {}, 1).output);
    for (std::string line; std::getline(lines, line);) {
      list.push_back(line.substr(line.find(' ') + 1));
    }
    REQUIRE(list.size() == static_cast<std::size_t>(portable::kFeatures));
    return list;
  }();
  const std::string& reason = reasons[static_cast<std::size_t>(feature)];
  return reason.empty() ? nullptr : reason.c_str();
}

long Run::number(const char* name) const {
  const auto found = report.is_object() ? report.find(name) : report.end();
  return report.is_object() && found != report.end() && found->is_number() ? found->get<long>() : 0;
}

std::size_t Run::calls_of(const std::string& prefix, double share) const {
  const auto first = static_cast<std::ptrdiff_t>(static_cast<double>(calls.size()) * (1.0 - share));
  return static_cast<std::size_t>(std::count_if(calls.begin() + first, calls.end(),
                                                [&](const std::string& call) { return call.rfind(prefix, 0) == 0; }));
}

Run run_plain(const std::string& program, int seed) {
  return run(program, entry().at("plain"), {}, seed);
}

Run run_layer(const std::string& program, const Settings& settings, int seed) {
  Settings all{{"REFRAIN_GATE", "0"},
               {"REFRAIN_MIN_GRAPH", "1"},
               {"REFRAIN_MODE", "replay"},
               {"REFRAIN_TRIAL_BUDGET_PERMILLE", "1000"},
               {"REFRAIN_CAPTURE_FILE", child::scratch("capture.rfn")}};
  for (const auto& [name, value] : settings) {
    all[name] = value;
  }
  return run(program, entry().at("layer"), all, seed);
}

Run same(const std::string& program, long least_replayed, const Settings& settings) {
  const Run plain = run_plain(program);
  check_clean(plain);
  Run best;
  for (int i = 0; i < kTries; ++i) {
    // Graphs are built in the background: on a busy machine a short program may end before.
    Run run = run_layer(program, settings, i);
    CAPTURE(program, i);
    check_clean(run);
    REQUIRE(run.output == plain.output);
    REQUIRE(run.report.is_object());  // the proof that the layer was in
    if (best.exit_code < 0 || run.number("replayed") > best.number("replayed")) {
      best = std::move(run);
    }
    if (i >= 1 && best.number("replayed") >= least_replayed) {
      break;
    }
  }
  REQUIRE(best.number("replayed") >= least_replayed);
  return best;
}

std::string offered_changes(const Run& run) {
  const std::string before = "mutable dispatch offers ";
  const auto text = run.report.at("notes").at(0).get<std::string>();
  const auto start = text.find(before);
  REQUIRE(start != std::string::npos);
  return text.substr(start + before.size(), text.find(';', start) - start - before.size());
}

capture::Capture captured(const std::string& program) {
  const std::string file = child::scratch("capture.rfn");
  std::filesystem::remove(file);
  const Run plain = run_plain(program);
  const Run run = run_layer(program, {{"REFRAIN_MODE", "capture"}, {"REFRAIN_CAPTURE_FILE", file}});
  check_clean(run);
  REQUIRE(run.output == plain.output);
  std::string error;
  auto capture = capture::read_capture(file, &error);
  INFO(error);
  REQUIRE(capture.has_value());
  REQUIRE(capture->cut_short.empty());
  return std::move(*capture);
}

const capture::StoredGraph& most_frequent(const capture::Capture& capture, std::size_t nodes) {
  const capture::StoredGraph* best = nullptr;
  for (const capture::StoredGraph& graph : capture.graphs) {
    if (graph.size() >= nodes && (best == nullptr || graph.occurrences > best->occurrences)) {
      best = &graph;
    }
  }
  REQUIRE(best != nullptr);
  return *best;
}

void Verdict::set(const char* status, const std::string& note) {
  status_ = status;
  note_ = note;
}

bool Verdict::lacks(Feature feature) {
  if (const char* why = conformance::cannot(feature); why != nullptr) {
    cannot_express(why);
    return true;
  }
  return false;
}

Verdict::~Verdict() {
  if (std::uncaught_exceptions() > 0) {
    status_ = "FAILS";
  }
  try {
    write();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "the verdict on \"%s\" cannot be written: %s\n", words_.c_str(), error.what());
  }
}

void Verdict::write() const {
  const char* const column = std::getenv("CONFORMANCE_COLUMN");
  const std::filesystem::path place = std::filesystem::path(RESULTS_FOLDER) / (column == nullptr ? api() : column);
  std::error_code ignored;
  std::filesystem::create_directories(place, ignored);
  const nlohmann::json result{
      {"section", section_}, {"row", words_}, {"api", api()}, {"status", status_}, {"note", note_}};
  std::ofstream(place / (slug(section_ + " " + words_) + ".json")) << result.dump(2) << "\n";
}

}  // namespace conformance
