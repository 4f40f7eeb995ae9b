// `refrain ctl`: asks running processes over their sockets (env/control_address.h, layer/control.h).
#include <errno.h>
#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "env/cli/commands.h"
#include "env/cli/options.h"
#include "env/command_text.h"
#include "env/control_address.h"
#include "env/escape.h"

namespace refrain::env {
namespace {

constexpr int kPatienceSeconds = 5;

struct Answer {
  bool ok = false;
  std::string text;
};

class Connection {
 public:
  explicit Connection(const ControlAddress& address) : address_(address) {}
  ~Connection() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// False if nobody listens there any more.
  bool ask(const std::string& request, int seconds) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    if (address_.socket.size() >= sizeof(name.sun_path)) return false;
    std::memcpy(name.sun_path, address_.socket.c_str(), address_.socket.size() + 1);
    descriptor_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval limit{seconds, 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    if (::connect(descriptor_, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0) {
      if (errno != ECONNREFUSED) return false;
      ::unlink(name.sun_path);  // of a process that was killed
      return false;
    }
    const std::string line = request + "\n";
    return ::send(descriptor_, line.data(), line.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(line.size());
  }

  /// Nothing if there was none in time.
  std::optional<Answer> answer() {
    std::string text;
    for (;;) {
      char part[4096];
      const ssize_t got = ::recv(descriptor_, part, sizeof(part), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return std::nullopt;
      if (got == 0) break;
      text.append(part, static_cast<std::size_t>(got));
    }
    const std::size_t end = text.find('\n');
    if (end == std::string::npos) return std::nullopt;
    return Answer{text.substr(0, end) == "ok", text.substr(end + 1)};
  }

  [[nodiscard]] const ControlAddress& address() const { return address_; }

 private:
  ControlAddress address_;
  int descriptor_ = -1;
};

std::string runtime_dir() {
  const char* const value = std::getenv("XDG_RUNTIME_DIR");
  return value != nullptr ? value : "";
}

std::string program_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return command_text(words, CommandChoice::kFull);
}

int list(bool json) {
  constexpr std::size_t kLongestProgram = 100;
  nlohmann::ordered_json listing = nlohmann::json::array();
  std::string text = fmt::format("{:>8}  {:<11} {:<26} {}\n", "PID", "API", "STATE", "PROGRAM");
  for (const ControlAddress& address : control_addresses(::geteuid(), runtime_dir())) {
    Connection connection(address);
    if (!connection.ask("status", kPatienceSeconds)) continue;
    const auto answer = connection.answer();
    const std::string state = answer ? answer->text : "does not answer";
    const std::string program = program_of(address.process);
    listing.push_back({{"process", address.process}, {"api", address.api}, {"state", state}, {"program", program}});
    text += fmt::format("{:>8}  {:<11} {:<26} {}\n", address.process, escaped(address.api), escaped(state),
                        shortened(escaped(program), kLongestProgram));
  }
  if (json) {
    std::cout << listing.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  } else if (listing.empty()) {
    std::cout << "No process of yours uses a GPU under Refrain.\n";
  } else {
    std::cout << text;
  }
  return kSuccess;
}

/// Text that may have several lines.
std::string escaped_lines(const std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    result += escaped(text.substr(at, end - at)) + "\n";
    at = end + 1;
  }
  return result;
}

std::vector<ControlAddress> addresses_of(pid_t process, const std::string& api) {
  struct stat status {};
  if (::stat(("/proc/" + std::to_string(process)).c_str(), &status) != 0) {
    throw std::runtime_error("there is no process " + std::to_string(process));
  }
  std::vector<ControlAddress> found;
  for (ControlAddress& address : control_addresses(status.st_uid, runtime_dir())) {
    if (address.process == process && (api.empty() || address.api == api)) found.push_back(std::move(address));
  }
  return found;
}

int ask(pid_t process, const std::string& api, const std::string& request, int seconds, bool json) {
  std::vector<std::unique_ptr<Connection>> asked;
  for (const ControlAddress& address : addresses_of(process, api)) {
    auto connection = std::make_unique<Connection>(address);
    if (connection->ask(request, seconds + kPatienceSeconds)) asked.push_back(std::move(connection));
  }
  if (asked.empty() && !api.empty() && !addresses_of(process, "").empty()) {
    throw std::runtime_error("process " + std::to_string(process) + " has not used " + api + ", but other APIs");
  }
  if (asked.empty()) {
    throw std::runtime_error("process " + std::to_string(process) +
                             " can't be reached: it does not run under Refrain, has not used a GPU yet, has `control = "
                             "off`, or is another user's");
  }
  bool all = true;
  for (const auto& connection : asked) {
    const auto answer = connection->answer();
    const std::string& name = connection->address().api;
    if (answer && answer->ok) {
      if (json) {
        std::cout << answer->text << "\n";
      } else {
        std::cout << name << ": " << escaped_lines(answer->text);
      }
      continue;
    }
    all = false;
    std::cerr << "refrain: " << escaped(name) << ": "
              << (answer ? escaped(answer->text) : "there is no answer; the process may hang, or is stopped") << "\n";
  }
  return all ? kSuccess : kFailure;
}

std::optional<int> number_of(const std::string& word) {
  int number = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (problem != std::errc{} || end != word.data() + word.size() || number < 1) return std::nullopt;
  return number;
}

}  // namespace

std::vector<std::string> control_words() {
  return {"status", "start", "stop", "report", "capture"};
}

int ctl_command(const CommandArguments& arguments) {
  CLI::App app(
      "Tells a running process to stop or go on, or asks it for its report. Alone it lists the processes that can be\n"
      "reached. It works over a socket that only the process's user, and root, can use.",
      "refrain ctl");
  set_usage(app, "refrain ctl [OPTIONS] [PID ACTION]");
  app.footer(
      "ACTION is one of\n"
      "  status     whether Refrain is at work in the process\n"
      "  stop       what is held is submitted; from then on every call goes straight to the driver\n"
      "  start      it goes on\n"
      "  report     the report so far; with --json as an object\n"
      "  capture N  captures the next N seconds, for a process that was started with\n"
      "             refrain run --capture --start off\n"
      "\nThe exit status is 0 if all of it was done, 1 if the process can't be reached or refuses, 2 for wrong usage.");
  std::string api;
  bool json = false;
  app.add_option("--api", api, "Only what the process does with this API: cuda, hip, level_zero or opencl")
      ->type_name("API")
      ->check(CLI::IsMember({"cuda", "hip", "level_zero", "opencl"}));
  app.add_flag("--json", json, "The list, or the report, as JSON");
  std::vector<std::string> words;
  app.add_option("PID", words, "The process, what it is to do, and for how many seconds");
  if (const auto status = parse(app, arguments, nullptr)) return *status;
  if (words.empty()) return list(json);

  const auto process = number_of(words[0]);
  if (!process) throw UsageError("'" + words[0] + "' is not the number of a process");
  const std::string action = words.size() > 1 ? words[1] : "status";
  const std::vector<std::string> known = control_words();
  if (std::find(known.begin(), known.end(), action) == known.end()) {
    throw UsageError("there is no action '" + action + "'" + suggestion(action, known));
  }
  const bool captures = action == "capture";
  if (words.size() > (captures ? 3U : 2U)) throw UsageError("'" + words.back() + "' is not expected here");
  if (json && action != "report") throw UsageError("--json goes with report, or with no process at all");
  if (!captures) return ask(*process, api, json ? "report json" : action, 0, json);
  const auto seconds = words.size() == 3 ? number_of(words[2]) : std::nullopt;
  if (!seconds) throw UsageError("capture needs a number of seconds: refrain ctl PID capture 5");
  return ask(*process, api, "capture " + std::to_string(*seconds), *seconds, false);
}

}  // namespace refrain::env
