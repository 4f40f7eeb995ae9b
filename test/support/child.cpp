#include "test/support/child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "test/support/hang.h"
#include "test/support/scratch_folder.h"

namespace child {
namespace {

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  for (std::string& word : words) {
    list.push_back(word.data());
  }
  list.push_back(nullptr);
  return list;
}

std::string text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// A number of the report.
long number_of(const nlohmann::json& report, const char* name) {
  const auto found = report.find(name);
  return found != report.end() && found->is_number() ? found->get<long>() : 0;
}

/// How it ended; -1000 and where its threads were, if it ran out of time or hangs.
int wait_for(pid_t process, double seconds, std::string* stacks) {
  const refrain::test::NotWatched by_its_thread;
  refrain::test::IdleWatch idle(process);
  const auto begin = std::chrono::steady_clock::now();
  auto next_look = begin + std::chrono::seconds(1);
  int status = 0;
  while (waitpid(process, &status, WNOHANG) == 0) {
    const auto now = std::chrono::steady_clock::now();
    const bool too_long = now > begin + std::chrono::duration<double>(seconds);
    if (too_long || (now > next_look && idle.hangs())) {
      *stacks = (too_long ? "It took too long:\n" : "It hangs:\n") + refrain::test::stacks_of(process);
      kill(process, SIGKILL);
      waitpid(process, &status, 0);
      return -1000;
    }
    next_look = now > next_look ? now + std::chrono::seconds(1) : next_look;
    usleep(2000);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace

Result run_until(const std::function<bool(const Result&)>& enough, const std::function<Result()>& run) {
  constexpr int kTries = 30;  // where a program frees memory all the time, two in five runs get no graph in time
  Result result = run();
  for (int i = 1; i < kTries && !enough(result); ++i) {
    result = run();
  }
  return result;
}

Result run_until_replayed(long least, const std::string& output, const std::function<Result()>& run) {
  const auto clean = [&](const Result& result) {
    return result.exit_code == 0 && result.output == output && result.differences == 0 &&
           result.errors.find("violation") == std::string::npos &&
           result.errors.find("[refrain] error") == std::string::npos;
  };
  return run_until([&](const Result& result) { return !clean(result) || result.replayed >= least; }, run);
}

bool nightly() {
  return getenv("TEST_NIGHTLY") != nullptr;
}

std::vector<Way> ways() {
  if (!nightly()) {
    return {{1, "plain"}, {1, "observe"}, {1, "capture"}, {0, "replay"}, {1, "replay"}, {1, "gate"}};
  }
  std::vector<Way> all;
  for (const int seed : {0, 1, 2, 5}) {
    for (const char* mode : {"plain", "observe", "capture", "replay", "gate"}) {
      all.push_back({seed, mode});
    }
  }
  return all;
}

std::string scratch(const std::string& name) {
  static const refrain::test::ScratchFolder folder;
  return folder.file(name);
}

Result run(std::vector<std::string> command, std::vector<std::string> environment, double seconds) {
  const std::string output = scratch("output");
  const std::string errors = scratch("errors");
  const std::string report = scratch("report.json");
  std::error_code ignored;
  std::filesystem::remove(report, ignored);
  environment.push_back("REFRAIN_REPORT_FILE=" + report);
  if (std::none_of(environment.begin(), environment.end(),
                   [](const std::string& variable) { return variable.starts_with("REFRAIN_CONFIG="); })) {
    environment.emplace_back("REFRAIN_CONFIG=/dev/null");  // not this machine's
  }

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, errors.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  // Whatever signals the test runner ignores, the program starts like one from a shell.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t all;
  sigset_t none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  pid_t process = 0;
  const int started = posix_spawn(&process, command.front().c_str(), &actions, &attributes, pointers(command).data(),
                                  pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (started != 0) {
    throw std::runtime_error("cannot start " + command.front() + ": " + std::strerror(started));
  }

  Result result;
  std::string stacks;
  result.exit_code = wait_for(process, seconds, &stacks);
  result.output = text_of(output);
  result.errors = text_of(errors) + stacks;
  const nlohmann::json parsed = nlohmann::json::parse(text_of(report), nullptr, false);
  if (parsed.is_object()) {
    result.reported = true;
    result.submissions = number_of(parsed, "submissions");
    result.replayed = number_of(parsed, "replayed");
    result.dormant = number_of(parsed, "dormant");
    result.launches = number_of(parsed, "launches");
    result.cuts = number_of(parsed, "cuts");
    result.followed = number_of(parsed, "followed");
    result.taken_back = number_of(parsed, "taken_back");
    result.differences = number_of(parsed, "differences");
    result.verified = number_of(parsed, "verified");
    result.unverified = number_of(parsed, "unverified");
  }
  return result;
}

}  // namespace child
