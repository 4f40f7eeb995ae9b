// Files, descriptors, limits, signals and the end of a process stay the program's own, and what Refrain writes is
// whole.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "process_programs.h"
#include "test/capture/capture_files.h"
#include "test/support/child.h"
#include "test/support/scratch_folder.h"

extern char** environ;

namespace {

using child::Result;
using Words = std::vector<std::string>;

const nlohmann::json& apis() {
  static const nlohmann::json all = nlohmann::json::parse(std::ifstream(PATHS_FILE));
  return all;
}

const std::map<std::string, std::string> kPrograms{PROGRAMS};
const std::map<std::string, std::string> kLookingPrograms{LOOKING_PROGRAMS};
const std::map<std::string, std::string> kNamesPrograms{NAMES_PROGRAMS};

/// Of the API's own variables nothing but what the program needs to find its driver.
Result run(const std::string& api, Words command, const Words& settings = {}) {
  std::map<std::string, std::string> variables;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string text = *each;
    const std::string name = text.substr(0, text.find('='));
    if (name.rfind("REFRAIN_", 0) != 0 && name != "LD_PRELOAD" && name != "OPENCL_LAYERS") {
      variables[name] = text.substr(std::min(text.size(), name.size() + 1));
    }
  }
  for (const auto& [name, value] : apis().at(api).at("plain").items()) {
    variables[name] = value.get<std::string>();
  }
  Words environment;
  for (const auto& [name, value] : variables) {
    environment.push_back(name + "=" + value);
  }
  environment.insert(environment.end(), settings.begin(), settings.end());
  return child::run(std::move(command), environment, 120);
}

Result plain(const std::string& api, const Words& words) {
  Words command{kPrograms.at(api)};
  command.insert(command.end(), words.begin(), words.end());
  return run(api, command);
}

Result refrain(const std::string& api, const Words& options, const Words& words) {
  Words command{REFRAIN, "run"};
  command.insert(command.end(), options.begin(), options.end());
  command.push_back("--");
  command.push_back(kPrograms.at(api));
  command.insert(command.end(), words.begin(), words.end());
  return run(api, command);
}

std::string contents(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::uint64_t captured(const std::string& file) {
  const refrain::capture::Capture capture = refrain::capture::load(file);
  CHECK(capture.cut_short.empty());
  return refrain::capture::submissions(capture);
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t place = text.find(part); place != std::string::npos; place = text.find(part, place + 1)) {
    ++found;
  }
  return found;
}

std::string any_api() {
  static const Words names = [] {
    Words list;
    for (const auto& [name, program] : kPrograms) {
      list.push_back(name);
    }
    return list;
  }();
  return GENERATE(from_range(names));
}

#define SHOW(result)                                   \
  INFO("exit code " << (result).exit_code);            \
  INFO("output: " << (result).output.substr(0, 2000)); \
  INFO("errors: " << (result).errors.substr(0, 4000))

TEST_CASE("files: a program that closes what it inherited has its own files for itself", "[promise-7]") {
  const std::string api = any_api();
  const refrain::test::ScratchFolder folder;
  const Result result =
      refrain(api, {"-o", folder.file("x.rfn"), "--log-file", folder.file("log")}, {"closer", folder.file("csv")});
  CAPTURE(api);
  SHOW(result);
  CHECK(result.exit_code == 0);
  CHECK(contents(folder.file("csv")) == "a,b\n1,2\n");
  CHECK(result.output == "result 7200\n");
  CHECK(result.errors.empty());
  // The files were opened again.
  CHECK(captured(folder.file("x.rfn")) >= 7200);
  CHECK(count(contents(folder.file("log")), "report (") == 1);
}

TEST_CASE("files: with standard error closed nothing is written into what has its number", "[promise-7]") {
  const std::string api = any_api();
  const refrain::test::ScratchFolder folder;
  for (const Words& options : {Words{"-o", folder.file("x.rfn")}, Words{"--log-level", "debug"}}) {
    const Result result = refrain(api, options, {"no-stderr", folder.file("csv")});
    CAPTURE(api);
    SHOW(result);
    CHECK(result.exit_code == 0);
    CHECK(contents(folder.file("csv")) == "a\nb\n");
    CHECK(result.output == "result 2400\n");
  }
  CHECK(captured(folder.file("x.rfn")) >= 2400);
}

TEST_CASE("files: a limit of their size ends the capture, and not the program", "[promise-7]") {
  const std::string api = any_api();
  const refrain::test::ScratchFolder folder;
  const Result result = refrain(api, {"-o", folder.file("x.rfn"), "--report-file", folder.file("json")}, {"limited"});
  CAPTURE(api);
  SHOW(result);
  CHECK(result.exit_code == 0);
  CHECK(result.output == plain(api, {"limited"}).output);
  static_cast<void>(captured(folder.file("x.rfn")));
}

TEST_CASE("files: what is there and not Refrain's is refused before the program starts", "[promise-7]") {
  const std::string api = any_api();
  const refrain::test::ScratchFolder folder;
  const std::string theirs = folder.file("theirs");
  std::ofstream(theirs) << "a,b\n";
  for (const Words& options : {Words{"-o", theirs}, Words{"--report-file", theirs}, Words{"-o", folder.file("no/x")},
                               Words{"--report-file", folder.file("no/x")}, Words{"--log-file", folder.file("no/x")},
                               Words{"-o", folder.file(".")}, Words{"-o", "/proc/x"}}) {
    const Result result = refrain(api, options, {"ending", "exit"});
    SHOW(result);
    CHECK(result.exit_code == 2);
    CHECK(result.output.empty());
    CHECK(result.errors.find("can't write") != std::string::npos);
  }
  CHECK(contents(theirs) == "a,b\n");
}

TEST_CASE("files: they are their owner's alone, unless more is asked for", "[promise-7]") {
  const std::string api = any_api();
  for (const auto& [options, mode] : std::map<Words, mode_t>{{{}, 0600}, {{"--file-mode", "0640"}, 0640}}) {
    const refrain::test::ScratchFolder folder;
    Words all{"-o", folder.file("x.rfn"), "--report-file", folder.file("x.json"), "--log-file", folder.file("log")};
    all.insert(all.end(), options.begin(), options.end());
    const Result result = refrain(api, all, {"ending", "exit"});
    SHOW(result);
    CHECK(result.exit_code == 5);
    const Words files = folder.files();
    CHECK(files.size() == 3);
    for (const std::string& file : files) {
      struct stat status {};
      REQUIRE(::stat(file.c_str(), &status) == 0);
      CAPTURE(file);
      CHECK((status.st_mode & 07777) == mode);
    }
  }
}

TEST_CASE("files: links and FIFOs are refused, descriptors that are named are not", "[promise-7]") {
  const std::string api = any_api();
  const refrain::test::ScratchFolder folder;
  std::ofstream(folder.file("theirs")).flush();
  REQUIRE(::symlink(folder.file("theirs").c_str(), folder.file("link").c_str()) == 0);
  REQUIRE(::mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  for (const char* option : {"-o", "--report-file", "--log-file"}) {
    for (const auto& [name, why] : std::map<std::string, std::string>{{"link", "symbolic link"}, {"pipe", "FIFO"}}) {
      const Result result = refrain(api, {option, folder.file(name)}, {"ending", "exit"});
      SHOW(result);
      CHECK(result.exit_code == 2);
      CHECK(result.output.empty());
      CHECK(result.errors.find(why) != std::string::npos);
    }
  }
  CHECK(contents(folder.file("theirs")).empty());
  const Result result = refrain(api, {"--report-file", "/dev/stderr"}, {"ending", "exit"});
  SHOW(result);
  CHECK(result.exit_code == 5);
  CHECK(result.errors.find("\"share_replayed\"") != std::string::npos);
}

TEST_CASE("files: a run replaces the capture and the report of an earlier one", "[promise-7]") {
  const std::string api = any_api();
  const refrain::test::ScratchFolder folder;
  for (int i = 0; i < 2; ++i) {
    const Result result =
        refrain(api, {"-o", folder.file("x.rfn"), "--report-file", folder.file("x.json")}, {"ending", "exit"});
    SHOW(result);
    CHECK(result.exit_code == 5);
  }
  CHECK(folder.files().size() == 2);
  CHECK(captured(folder.file("x.rfn")) >= 2400);
}

TEST_CASE("files: a counter in their names gives each run one of its own", "[promise-7]") {
  const std::string api = any_api();
  const refrain::test::ScratchFolder folder;
  for (int run = 0; run < 2; ++run) {
    const Result result =
        refrain(api, {"-o", folder.file("x.%i.rfn"), "--log-file", folder.file("%h.%r.%j.%i.log")}, {"ending", "exit"});
    CAPTURE(api);
    SHOW(result);
    CHECK(result.exit_code == 5);
  }
  CHECK(folder.files(".rfn") == Words{folder.file("x.1.rfn"), folder.file("x.2.rfn")});
  CHECK(folder.files("0.0.1.log").size() == 1);
  CHECK(folder.files("0.0.2.log").size() == 1);
  for (const std::string& file : folder.files(".rfn")) {
    CHECK(captured(file) > 0);
  }
}

TEST_CASE("programs: in one that is not chosen it is as if Refrain were not there", "[promise-7]") {
  const std::string api = any_api();
  const refrain::test::ScratchFolder folder;
  const std::string program = std::filesystem::path(kPrograms.at(api)).filename();
  for (const std::string& list : {"!" + program, std::string("python*")}) {
    const Result result = refrain(
        api, {"--programs", list, "-o", folder.file("x.rfn"), "--log-file", folder.file("log")}, {"ending", "exit"});
    CAPTURE(api, list);
    SHOW(result);
    CHECK(result.exit_code == 5);
    CHECK(result.output == plain(api, {"ending", "exit"}).output);
    CHECK(result.errors.empty());
    CHECK_FALSE(result.reported);
    CHECK(folder.files().empty());
  }
  const Result chosen = refrain(api, {"--programs", program + ", !python*"}, {"ending", "exit"});
  SHOW(chosen);
  CHECK(chosen.reported);
}

TEST_CASE("ends: report and capture are whole however the process ends, and it ends as ever", "[promise-7]") {
  const std::string api = any_api();
  std::uint64_t whole = 0;
  for (const char* way :
       {"exit", "_exit", "_Exit", "quick_exit", "abort", "terminate", "interrupt", "hang-up", "handled", "thread"}) {
    CAPTURE(api, way);
    const refrain::test::ScratchFolder folder;
    const Result bare = plain(api, {"ending", way});
    for (const Words& options : {Words{"-o", folder.file("x.rfn")}, Words{}}) {
      Words all{"--report-file", folder.file("x.json")};
      all.insert(all.end(), options.begin(), options.end());
      const Result result = refrain(api, all, {"ending", way});
      SHOW(result);
      CHECK(result.exit_code == bare.exit_code);
      CHECK(result.output == bare.output);
      CHECK(count(result.errors, "report (") == 1);
      const nlohmann::json report = nlohmann::json::parse(contents(folder.file("x.json")), nullptr, false);
      CHECK(report.is_object());
    }
    const std::uint64_t submissions = captured(folder.file("x.rfn"));
    whole = whole == 0 ? submissions : whole;
    CHECK(submissions == whole);
  }
}

TEST_CASE("ends: each forked worker has a capture and a report of its own", "[promise-7]") {
  const std::string api = any_api();
  for (const char* way : {"_exit", "terminate"}) {
    const refrain::test::ScratchFolder folder;
    const Result result =
        refrain(api, {"-o", folder.file("x.rfn"), "--report-file", folder.file("x.json")}, {"workers", way});
    CAPTURE(api, way);
    SHOW(result);
    CHECK(result.exit_code == 0);
    CHECK(result.output == plain(api, {"workers", way}).output);
    CHECK(count(result.errors, "report (") == 3);
    CHECK(folder.files(".json").size() == 3);
    const Words captures = folder.files(".rfn");
    CHECK(captures.size() == 3);
    for (const std::string& file : captures) {
      CHECK(captured(file) >= 2400);
    }
  }
}

TEST_CASE("ends: that of a child which was forked in the middle is not its parent's", "[promise-7]") {
  const std::string api = any_api();
  for (const char* way : {"_exit", "terminate", "abort"}) {
    const refrain::test::ScratchFolder folder;
    const Result result =
        refrain(api, {"-o", folder.file("x.rfn"), "--report-file", folder.file("x.json")}, {"forked", way});
    CAPTURE(api, way);
    SHOW(result);
    CHECK(result.exit_code == 0);
    CHECK(result.output == plain(api, {"forked", way}).output);
    CHECK(count(result.errors, "report (") == 1);
    CHECK(folder.files().size() == 2);
    CHECK(captured(folder.file("x.rfn")) >= 4800);
  }
}

TEST_CASE("signals: the program reads and sets what it would without Refrain", "[promise-7]") {
  const std::string api = any_api();
  const Result bare = plain(api, {"signals"});
  const Result result = refrain(api, {"--observe"}, {"signals"});
  CAPTURE(api);
  SHOW(result);
  CHECK(result.exit_code == 0);
  CHECK(result.output == bare.output);
  CHECK(count(result.errors, "report (") == 1);
}

TEST_CASE("signals: one that the first process of a container does not expect is not delivered", "[promise-7]") {
  const Words alone{"/usr/bin/unshare", "--user", "--map-root-user", "--pid", "--fork"};
  if (child::run(
          [&] {
            Words look = alone;
            look.emplace_back("/bin/true");
            return look;
          }(),
          {"PATH=/usr/bin:/bin"}, 20)
          .exit_code != 0) {
    WARN("process namespaces are not to be had here");
    return;
  }
  const std::string api = any_api();
  Words command = alone;
  command.insert(command.end(), {kPrograms.at(api), "first-process"});
  const Result bare = run(api, command);
  Words with{REFRAIN, "run", "--observe", "--"};
  with.insert(with.end(), command.begin(), command.end());
  const Result result = run(api, with);
  CAPTURE(api);
  SHOW(result);
  CHECK(bare.exit_code == 0);
  CHECK(result.exit_code == 0);
  CHECK(result.output == bare.output);
  const std::string told = "info:   submissions ";
  const std::size_t place = result.errors.find(told);
  REQUIRE(place != std::string::npos);
  CHECK(std::stoul(result.errors.substr(place + told.size())) >= 4800);  // those behind the signal as well
}

TEST_CASE("errors: errno is what the driver leaves there", "[promise-7]") {
  const std::string api = any_api();
  const Result bare = plain(api, {"errors"});
  const refrain::test::ScratchFolder folder;
  for (const Words& options : {Words{}, Words{"--no-gate"}, Words{"--observe"}, Words{"-o", folder.file("x.rfn")},
                               Words{"--profile", folder.file("p")}}) {
    const Result result = refrain(api, options, {"errors"});
    CAPTURE(api, options);
    SHOW(result);
    CHECK(result.output == bare.output);
  }
}

TEST_CASE("signals: one that would end the program ends it, unless the user wants reports by it", "[promise-7]") {
  const std::string api = any_api();
  for (const char* number : {"usr1", "usr2"}) {
    const Result bare = plain(api, {number});
    const Result result = refrain(api, {"--observe"}, {number});
    CAPTURE(api, number);
    SHOW(result);
    CHECK(result.exit_code == bare.exit_code);
    CHECK(result.output == bare.output);
    const Result asked = refrain(api, {"--observe", "--report-signal", number}, {number});
    CHECK(asked.exit_code == 0);
    CHECK(asked.output == "result 4800\n");
    CHECK(count(asked.errors, "report (") == 2);
  }
}

}  // namespace

TEST_CASE("names: a program may have functions of its own with the C library's names", "[promise-7]") {
  const std::string api = any_api();
  const std::string program = kNamesPrograms.at(api);
  const Result bare = run(api, {program});
  CAPTURE(api);
  SHOW(bare);
  CHECK(bare.exit_code == 5);
  const refrain::test::ScratchFolder folder;
  for (const Words& options : {Words{"--no-gate"}, Words{"--verify"}, Words{"-o", folder.file("x.rfn")}}) {
    Words command{REFRAIN, "run"};
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), {"--", program});
    const Result result = run(api, command);
    CAPTURE(options);
    SHOW(result);
    CHECK(result.exit_code == bare.exit_code);
    CHECK(result.output == bare.output);
    CHECK(result.reported);
  }
  CHECK(captured(folder.file("x.rfn")) >= 3200);
}

TEST_CASE("names: where a program's clocks stand still, held work leaves all the same", "[promise-3]") {
  // An OpenCL program may not look at what a device uses.
  const std::string api = GENERATE("cuda", "hip", "level_zero");
  if (kLookingPrograms.count(api) == 0) {
    return;
  }
  const Result bare = run(api, {kLookingPrograms.at(api), "looks"}, {"LD_PRELOAD=" FROZEN_CLOCK});
  CAPTURE(api);
  SHOW(bare);
  REQUIRE(bare.exit_code == 5);
  const Result result =
      run(api, {REFRAIN, "run", "--no-gate", "--", kLookingPrograms.at(api), "looks"}, {"LD_PRELOAD=" FROZEN_CLOCK});
  SHOW(result);
  CHECK(result.exit_code == bare.exit_code);
  CHECK(result.output == bare.output);
  CHECK(result.replayed > 0);
}
