#include "env/config_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "env/settings.h"
#include "test/support/scratch_folder.h"

namespace refrain::env {
namespace {

using Catch::Contains;
using Names = std::vector<std::string>;

/// A home with config files: of the system, of the user, and in another folder for them.
class Home {
 public:
  Home() {
    write("system.conf", "hold_limit_us = 100\nmode = observe\nlog_level = debug\n");
    write(".config/refrain.conf", "hold_limit_us = 200\nmode = verify\n");
    write("xdg/refrain.conf", "hold_limit_us = 300\n");
    write("named.conf", "hold_limit_us = 400\n");
  }
  std::string file(const std::string& name) const { return folder_.file(name); }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(file(name)).parent_path());
    std::ofstream(file(name)) << text;
    ::chmod(file(name).c_str(), 0644);
  }
  /// With HOME and these variables.
  Settings load(Names variables = {}) {
    variables.push_back("HOME=" + folder_.path());
    std::vector<const char*> environment;
    for (const std::string& variable : variables) environment.push_back(variable.c_str());
    environment.push_back(nullptr);
    problems.clear();
    return load_settings(environment.data(), problems, file("system.conf"));
  }
  /// The only problem.
  std::string problem(const Names& variables = {}) {
    load(variables);
    REQUIRE(problems.size() == 1);
    return problems.front().source + ": " + problems.front().message;
  }

  std::vector<SettingProblem> problems;

 private:
  const test::ScratchFolder folder_;
};

TEST_CASE("the user's config file wins over the system's, and the environment over both") {
  Home home;
  Settings settings = home.load({"REFRAIN_MODE=capture"});
  CHECK(home.problems.empty());
  CHECK(settings.log_level == LogLevel::kDebug);
  CHECK(settings.hold_limit_us == 200);
  CHECK(settings.mode == Mode::kCapture);
  settings = home.load({"XDG_CONFIG_HOME=" + home.file("xdg")});
  CHECK(settings.hold_limit_us == 300);
  CHECK(settings.mode == Mode::kObserve);
  CHECK(home.load({"XDG_CONFIG_HOME="}).hold_limit_us == 200);
  CHECK(home.load({"XDG_CONFIG_HOME=xdg"}).hold_limit_us == 200);
}

TEST_CASE("a config file that is named takes the place of the others, and /dev/null is none") {
  Home home;
  const Settings settings = home.load({"REFRAIN_CONFIG=" + home.file("named.conf")});
  CHECK(settings.hold_limit_us == 400);
  CHECK(settings.mode == Mode::kReplay);
  for (const char* none : {"REFRAIN_CONFIG=", "REFRAIN_CONFIG=/dev/null"}) {
    CHECK(home.load({none}).hold_limit_us == Settings().hold_limit_us);
    CHECK(home.problems.empty());
  }
}

TEST_CASE("a default config file need not be there, one that is named must") {
  Home home;
  std::filesystem::remove(home.file("system.conf"));
  CHECK(home.load({"XDG_CONFIG_HOME=/nowhere"}).hold_limit_us == Settings().hold_limit_us);
  CHECK(home.problems.empty());
  home.load({"XDG_CONFIG_HOME=" + home.file("named.conf")});  // not even a folder
  CHECK(home.problems.empty());
  CHECK_THAT(home.problem({"REFRAIN_CONFIG=" + home.file("gone.conf")}), Contains("gone.conf: the config file is not"));
}

TEST_CASE("config files that others may write to are refused, and what is wrong is told") {
  Home home;
  for (const mode_t mode : {0664, 0646, 0666}) {
    ::chmod(home.file(".config/refrain.conf").c_str(), mode);
    CHECK_THAT(home.problem(), Contains(".config/refrain.conf: ") && Contains("others may write to it (chmod go-w"));
    CHECK(home.load().hold_limit_us == 100);
  }
  ::chmod(home.file(".config/refrain.conf").c_str(), 0644);
  ::chmod(home.file("named.conf").c_str(), 0666);
  CHECK_THAT(home.problem({"REFRAIN_CONFIG=" + home.file("named.conf")}), Contains("others may write to it"));
  if (::geteuid() == 0) {
    REQUIRE(::chown(home.file(".config/refrain.conf").c_str(), 12345, 0) == 0);
    CHECK_THAT(home.problem(), Contains("belongs to another user"));
  }
}

TEST_CASE("a config file that can't be read is told of") {
  if (::geteuid() == 0) return;  // who may read everything
  Home home;
  ::chmod(home.file(".config/refrain.conf").c_str(), 0);
  CHECK_THAT(home.problem(), Contains("Permission denied"));
}

TEST_CASE("without a home there is the system's config file alone") {
  ConfigPlaces places;
  places.system = "/etc";
  CHECK(config_files(places) == Names{"/etc"});
  places.system.clear();
  CHECK(config_files(places).empty());
  places.see("HOME", "not/absolute");
  CHECK(config_files(places).empty());
}

}  // namespace
}  // namespace refrain::env
