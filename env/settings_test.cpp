#include "env/settings.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

namespace refrain::env {
namespace {

using Catch::Contains;

Settings load(const std::vector<std::string>& variables, std::vector<SettingProblem>& problems) {
  std::vector<const char*> environment;
  for (const std::string& variable : variables) environment.push_back(variable.c_str());
  environment.push_back(nullptr);
  return load_settings(environment.data(), problems);
}

// Loads one bad variable, checks that it changed nothing, and returns the one message about it.
std::string complaint(const std::string& variable) {
  std::vector<SettingProblem> problems;
  const Settings settings = load({variable}, problems);
  const Settings defaults;
  for (const SettingInfo& info : setting_table()) {
    CHECK(get(settings, info.name) == get(defaults, info.name));
  }
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].source == "environment");
  return problems[0].message;
}

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_((std::filesystem::temp_directory_path() / ("refrain_settings_" + std::to_string(::getpid()))).string()) {
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST_CASE("defaults are those of the table") {
  std::vector<SettingProblem> problems;
  const Settings settings = load({"PATH=/bin", "REFRAINED=1"}, problems);
  CHECK(problems.empty());
  CHECK(settings.mode == Mode::kReplay);
  for (const SettingInfo& info : setting_table()) {
    CAPTURE(info.name);
    CHECK(get(settings, info.name) == info.default_value);
    Settings copy;
    CHECK_FALSE(set(copy, info.name, info.default_value, "test"));
    CHECK_FALSE(info.help.empty());
  }
}

TEST_CASE("every setting has an example that can be given and changes something") {
  for (const SettingInfo& info : setting_table()) {
    CAPTURE(info.name);
    Settings settings;
    CHECK_FALSE(set(settings, info.name, info.example, "test"));
    CHECK(get(settings, info.name) == info.example);
    CHECK(info.example != info.default_value);
  }
}

TEST_CASE("an example as an option") {
  const auto example_of = [](std::string_view name) {
    const auto table = setting_table();
    return example_option(*std::find_if(table.begin(), table.end(), [&](const auto& row) { return row.name == name; }));
  };
  CHECK(example_of("hold_limit_us") == "--hold-limit-us 500");
  CHECK(example_of("portable") == "--portable");
  CHECK(example_of("report") == "--no-report");
  CHECK(example_of("programs") == "--programs 'python*, !nvidia-smi'");  // as a shell takes it
}

TEST_CASE("every kind of value is taken from the environment") {
  std::vector<SettingProblem> problems;
  const Settings settings =
      load({"REFRAIN_MODE=Capture", "REFRAIN_GATE=No", "REFRAIN_HOLD_LIMIT_US= 50 ", "REFRAIN_CAPTURE_FILE=a b=c.rfn",
            "REFRAIN_LOG_LEVEL=trace", "REFRAIN_CHUNK_MAX=16384", "REFRAIN_LOG_FILE="},
           problems);
  CHECK(problems.empty());
  CHECK(settings.mode == Mode::kCapture);
  CHECK_FALSE(settings.gate);
  CHECK(settings.hold_limit_us == 50);
  CHECK(settings.capture_file == "a b=c.rfn");
  CHECK(settings.log_level == LogLevel::kTrace);
  CHECK(settings.chunk_max == 16384);
}

TEST_CASE("every choice can be set and read back") {
  for (const SettingInfo& info : setting_table()) {
    if (info.type != "choice") continue;
    std::string_view rest = info.range;
    while (!rest.empty()) {
      const std::string value(rest.substr(0, rest.find('|')));
      rest.remove_prefix(std::min(rest.size(), value.size() + 1));
      Settings settings;
      CHECK_FALSE(set(settings, info.name, value, "test"));
      CHECK(get(settings, info.name) == value);
    }
  }
}

TEST_CASE("bad values are reported and ignored") {
  CHECK_THAT(complaint("REFRAIN_MODE=reply"), Contains("REFRAIN_MODE: 'reply'") && Contains("nearest is 'replay'") &&
                                                  Contains("'replay' stays in force"));
  CHECK_THAT(complaint("REFRAIN_MODE="), Contains("not one of off, observe, capture, replay, verify"));
  CHECK_THAT(complaint("REFRAIN_GATE=maybe"), Contains("neither on"));
  CHECK_THAT(complaint("REFRAIN_GATE="), Contains("neither on"));
  CHECK_THAT(complaint("REFRAIN_GATE=2"), Contains("neither on"));
  CHECK_THAT(complaint("REFRAIN_HOLD_LIMIT_US=49"), Contains("out of range (50..1000000 us)"));
  CHECK_THAT(complaint("REFRAIN_HOLD_LIMIT_US=1000001"), Contains("out of range"));
  CHECK_THAT(complaint("REFRAIN_HOLD_LIMIT_US=-50"), Contains("out of range"));
  CHECK_THAT(complaint("REFRAIN_HOLD_LIMIT_US=99999999999999999999"), Contains("out of range"));
  CHECK_THAT(complaint("REFRAIN_HOLD_LIMIT_US=2ms"), Contains("not a whole number"));
  CHECK_THAT(complaint("REFRAIN_HOLD_LIMIT_US=0x50"), Contains("not a whole number"));
  CHECK_THAT(complaint("REFRAIN_HOLD_LIMIT_US=1e3"), Contains("not a whole number"));
  CHECK_THAT(complaint("REFRAIN_HOLD_LIMIT_US="), Contains("not a whole number"));
  CHECK_THAT(complaint("REFRAIN_CAPTURE_FILE=a\nb"), Contains("line break"));
}

TEST_CASE("unknown names are reported with the nearest one") {
  CHECK_THAT(complaint("REFRAIN_MOD=off"), Contains("no setting REFRAIN_MOD;") && Contains("nearest is REFRAIN_MODE"));
  CHECK_THAT(complaint("REFRAIN_HOLDLIMIT=5"), Contains("nearest is REFRAIN_HOLD_LIMIT_US"));
  // Nothing is proposed that nobody can have meant.
  for (const std::string& far : {std::string("REFRAIN_=5"), "REFRAIN_" + std::string(100000, 'X') + "=1"}) {
    CHECK_THAT(complaint(far), Contains("no setting REFRAIN_") && !Contains("nearest"));
  }
}

TEST_CASE("variables that refrain run sets itself are not unknown") {
  std::vector<SettingProblem> problems;
  for (const std::string_view name : kHelperVariables) {
    if (name != "REFRAIN_CONFIG") load({std::string(name) + "=1"}, problems);
  }
  CHECK(problems.empty());
}

TEST_CASE("a file that is always written always has a name, the others are switched off without one") {
  Settings settings;
  CHECK(set(settings, "capture_file", "", "environment").has_value());
  CHECK(settings.capture_file == "refrain.%p.rfn");
  settings.report_file = settings.profile = settings.log_file = "x";
  for (const char* name : {"report_file", "profile", "log_file"}) CHECK_FALSE(set(settings, name, "", "environment"));
  CHECK((settings.report_file + settings.profile + settings.log_file).empty());
}

TEST_CASE("the config file is read, and the environment wins over it") {
  const TemporaryFile file(
      "# Refrain\n"
      "\n"
      "mode = verify   # compare\n"
      "  hold-limit-us=77\n"
      "log_file = \"a # b.log\"\r\n"
      "report_file = x#y.json\n"
      "chunk_max = 99999\n"
      "chunk_maxx = 5\n"
      "[section]\n"
      "= 4\n");
  std::vector<SettingProblem> problems;
  const Settings settings = load({"REFRAIN_MODE=off", "REFRAIN_CONFIG=" + file.path()}, problems);
  CHECK(settings.mode == Mode::kOff);
  CHECK(settings.hold_limit_us == 77);
  CHECK(settings.log_file == "a # b.log");
  CHECK(settings.report_file == "x#y.json");
  CHECK(settings.chunk_max == Settings().chunk_max);
  REQUIRE(problems.size() == 4);
  CHECK(problems[0].source == file.path() + ":7");
  CHECK_THAT(problems[0].message, Contains("chunk_max: '99999' is out of range (0..16384 operations)"));
  CHECK_THAT(problems[1].message, Contains("chunk_maxx; the nearest is chunk_max;"));
  CHECK_THAT(problems[2].message, Contains("is not 'name = value'"));
  CHECK_THAT(problems[3].message, Contains("is not 'name = value'"));
}

TEST_CASE("a config file that can't be used is reported, whatever it is") {
  std::vector<SettingProblem> problems;
  CHECK(load({"REFRAIN_CONFIG="}, problems).mode == Mode::kReplay);
  CHECK(problems.empty());
  load({"REFRAIN_CONFIG=/nowhere/refrain.conf"}, problems);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].source == "/nowhere/refrain.conf");
  CHECK_THAT(problems[0].message, Contains("No such file"));
  problems.clear();
  for (const char* odd : {"/dev/zero", "/tmp"}) load({std::string("REFRAIN_CONFIG=") + odd}, problems);
  const std::string pipe = "/tmp/refrain_settings_pipe_" + std::to_string(::getpid());
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  load({"REFRAIN_CONFIG=" + pipe}, problems);  // must not wait for a writer
  ::unlink(pipe.c_str());
  CHECK(problems.size() == 3);
}

TEST_CASE("what is no config file is given up soon, and told of briefly") {
  const std::string file = "/tmp/refrain_settings_odd_" + std::to_string(::getpid());
  {
    std::ofstream out(file);
    for (int line = 0; line < 100'000; ++line) out << "a=b\n";
  }
  std::vector<SettingProblem> problems;
  load({"REFRAIN_CONFIG=" + file}, problems);
  REQUIRE(problems.size() == 101);
  CHECK_THAT(problems.back().message, Contains("the rest of the config file is ignored"));
  std::ofstream(file) << "mode = " << std::string(1'000'000, 'x');
  problems.clear();
  load({"REFRAIN_CONFIG=" + file}, problems);
  ::unlink(file.c_str());
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].message.size() < 1000);
}

TEST_CASE("without follow_children only the process that run started is active") {
  std::vector<SettingProblem> problems;
  const std::string self = "REFRAIN_ROOT_PID=" + std::to_string(::getpid());
  CHECK(load({"REFRAIN_FOLLOW_CHILDREN=off", self}, problems).mode == Mode::kReplay);
  CHECK(load({"REFRAIN_FOLLOW_CHILDREN=off", "REFRAIN_ROOT_PID=1"}, problems).mode == Mode::kOff);
  CHECK(load({"REFRAIN_FOLLOW_CHILDREN=on", "REFRAIN_ROOT_PID=1"}, problems).mode == Mode::kReplay);
  CHECK(load({"REFRAIN_FOLLOW_CHILDREN=off"}, problems).mode == Mode::kReplay);
  CHECK(problems.empty());
}

TEST_CASE("names in all their spellings") {
  CHECK(environment_name("hold_limit_us") == "REFRAIN_HOLD_LIMIT_US");
  CHECK(option_name("hold_limit_us") == "--hold-limit-us");
  Settings settings;
  CHECK_FALSE(set(settings, "Hold-Limit-US", "60", "command line"));
  CHECK(settings.hold_limit_us == 60);
  const std::vector<std::string> names{"dump", "doctor", "run"};
  CHECK(nearest_name("docter", names) == "doctor");
  CHECK(suggestion("docter", names) == "; the nearest is 'doctor'");
  for (const char* const far : {"", "x", "xyzzy", "fly"}) CHECK(suggestion(far, names).empty());
  CHECK(nearest_name("x", {}).empty());
}

}  // namespace
}  // namespace refrain::env
