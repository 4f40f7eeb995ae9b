// `refrain doctor`: what is here, which route hooks it, and proof that it does.
#include <iostream>
#include <utility>

#include "env/aside.h"
#include "env/cli/commands.h"
#include "env/cli/doctor_checks.h"
#include "env/cli/options.h"
#include "env/cli/program_check.h"
#include "env/escape.h"

namespace refrain::env {
namespace {

using nlohmann::json;

std::string text(const json& object, const char* key) {
  return object.value(key, std::string());
}

void print(const std::string& label, const std::string& content, int indent = 2) {
  std::string line(static_cast<std::size_t>(indent), ' ');
  line += label;
  line.resize(std::max<std::size_t>(line.size() + 1, 14), ' ');
  std::cout << line << escaped(content) << "\n";
}

std::string list(const json& items) {
  std::string result;
  for (const json& item : items) result += (result.empty() ? "" : ", ") + item.get<std::string>();
  return result.empty() ? "none" : result;
}

void print_device(std::size_t number, const json& device) {
  print("device " + std::to_string(number),
        text(device, "name") + " (" + text(device, "type") + "), " + text(device, "version") + ", driver " +
            text(device, "driver"),
        4);
  if (const std::string version = text(device, "command_buffer"); version.empty()) {
    print("", "no cl_khr_command_buffer: submissions pass through, nothing can be replayed");
  } else {
    print("", "cl_khr_command_buffer " + version + ", capabilities: " + list(device["command_buffer_capabilities"]));
    const std::string updates = text(device, "mutable_dispatch");
    print("", updates.empty() ? "no cl_khr_command_buffer_mutable_dispatch: changed arguments need a new recording"
                              : "cl_khr_command_buffer_mutable_dispatch " + updates + ", capabilities: " +
                                    list(device["mutable_capabilities"]) + "; " + text(device, "mutable_use"));
  }
}

void print_opencl(const json& opencl) {
  const json& found = opencl["found"];
  std::cout << "OpenCL\n";
  if (const std::string loader = text(found, "loader"); !loader.empty()) {
    const std::string name = text(found, "loader_name");
    print("loader", loader + (name.empty() ? "" : " (" + name + ")") +
                        (found.value("loader_layers", false) ? ", knows layers" : ", knows no layers"));
  }
  for (const json& driver : found["drivers"]) {
    const std::string error = text(driver, "error");
    print("driver", text(driver, "file") + " names " + text(driver, "library") + (error.empty() ? "" : ": " + error));
  }
  if (found["drivers"].empty() && text(found, "error").empty())
    print("driver", "none in /etc/OpenCL/vendors (Debian: pocl-opencl-icd has one)");
  // With the numbers that `refrain bench` takes.
  for (std::size_t index = 0; index < found["platforms"].size(); ++index) {
    const json& platform = found["platforms"][index];
    print("platform " + std::to_string(index), text(platform, "name") + ", " + text(platform, "version"));
    for (std::size_t device = 0; device < platform["devices"].size(); ++device) {
      print_device(device, platform["devices"][device]);
    }
    if (const std::string error = text(platform, "error"); !error.empty()) print("", error);
  }
  if (const std::string error = text(found, "error"); !error.empty()) print("problem", error);
  print("route", "OPENCL_LAYERS, " + (text(opencl, "layer").empty() ? "no layer" : text(opencl, "layer")));
  print("hooked", opencl["hooked"].get<bool>() ? "yes: " + text(opencl, "proof") : "no: " + text(opencl, "why"));
}

void print_preloaded(const json& cuda) {
  const std::string name = text(cuda, "api");
  std::cout << name << "\n";
  const std::string driver = text(cuda, "driver");
  const std::string version = text(cuda, "driver_version");
  print("driver", driver.empty() ? "not found" : driver + (version.empty() ? "" : ", for " + name + " " + version));
  const std::string shim = text(cuda, "layer");
  print("route", text(cuda, "route") + ", " + (shim.empty() ? "no library" : shim));
  for (const json& interposer : cuda["interposers"]) {
    const json& functions = interposer["functions"];
    const std::string more = functions.size() == 1 ? "" : " and " + std::to_string(functions.size() - 1) + " more";
    print("in front", text(interposer, "file") + ", which has " + functions[0].get<std::string>() + more);
  }
  print("hooked", cuda["hooked"].get<bool>() ? "yes: " + text(cuda, "proof") : "no: " + text(cuda, "why"));
  if (const std::string note = text(cuda, "note"); !note.empty()) print("replay", "no: " + note);
}

void print_level_zero(const json& found) {
  std::cout << "Level Zero\n";
  const std::string loader = text(found, "loader");
  print("loader", loader.empty() ? "not found" : loader + ", " + text(found, "drivers"));
  const std::string layer = text(found, "layer");
  print("route", text(found, "route") + ", " + (layer.empty() ? "no library" : layer));
  print("hooked", found["hooked"].get<bool>() ? "yes: " + text(found, "proof") : "no: " + text(found, "why"));
}

/// Why nothing will be held of an API, as "aside" of its findings.
void add_aside(json& findings, const Settings& settings) {
  constexpr std::pair<const char*, Api> kApis[] = {
      {"opencl", Api::kOpenCl}, {"cuda", Api::kCuda}, {"hip", Api::kHip}, {"level_zero", Api::kLevelZero}};
  for (const auto& [name, api] : kApis) {
    const std::string why = settings.stand_aside ? why_aside(api) : std::string();
    findings[name]["aside"] = why.empty() ? why : why + kAsideConsequence;
  }
}

void print_aside(const json& api) {
  if (const std::string why = text(api, "aside"); !why.empty()) print("aside", why);
}

void print_command(const json& command) {
  std::cout << "Command\n";
  const std::string note = text(command, "note");
  print("file", (text(command, "file").empty() ? command["command"][0].get<std::string>() : text(command, "file")) +
                    (note.empty() ? "" : " (" + note + ")"));
  if (command.contains("status")) print("ended", text(command, "status"));
  for (const json& line : command["proof"]) print("hooked", "yes: " + line.get<std::string>());
  if (!command["hooked"].get<bool>()) print("hooked", "no: " + text(command, "why"));
}

}  // namespace

int doctor_command(const CommandArguments& arguments) {
  Arguments split = split_arguments(arguments);
  CLI::App app(
      "Says which APIs, drivers, devices and extensions are here, which route hooks them, and proves that\n"
      "the layer gets in: into a process of its own and, if one is given, into a command.",
      "refrain doctor");
  set_usage(app, "refrain doctor [OPTIONS] [-- COMMAND [ARGUMENTS...]]");
  app.footer("The exit status is 0 if the layer gets in everywhere it was tried, 1 if not, 2 for wrong usage.");
  bool as_json = false;
  app.add_flag("--json", as_json, "Print the findings as JSON");
  unsigned seconds = 60;
  app.add_option("--seconds", seconds, "End the command after so many seconds; 0: never")
      ->type_name("N")
      ->check(CLI::Range(0U, 1'000'000U))
      ->capture_default_str();
  const SettingOptions options(app);
  std::vector<std::string> rest;
  if (const auto status = parse(app, split.own, split.separated ? nullptr : &rest)) return *status;
  if (!split.separated) split.command = rest;
  if (split.separated && split.command.empty()) throw UsageError("no command behind --");

  std::string layer;
  std::string missing;
  try {
    layer = find_layer();
  } catch (const std::runtime_error& error) {
    missing = error.what();
  }
  std::vector<Variable> variables = options.variables();
  apply(variables);
  if (!layer.empty()) {
    for (Variable& variable : activate_opencl(layer, process_variable)) variables.push_back(std::move(variable));
  }
  const std::string program = split.command.empty() ? std::string() : check_program(split.command.front()).path;
  std::vector<SettingProblem> problems;
  const Settings settings = configured_settings(problems);
  // One after the other: they lengthen the same lists.
  for (auto* activate : {+[](const Settings&all, const std::string&) { return activate_cuda(all); },
                         +[](const Settings&all, const std::string&name) { return activate_hip(all, name); },
                         +[](const Settings&all, const std::string&) { return activate_level_zero(all); }}) {
    std::vector<Variable> more = activate(settings, program);
    apply(more);
    for (Variable& variable : more) variables.push_back(std::move(variable));
  }

  // Its own processes have names of its own.
  std::vector<Variable> for_probes = variables;
  for_probes.push_back({environment_name("programs"), ""});
  json findings{{"version", REFRAIN_VERSION}, {"settings_problems", json::array()}};
  for (const SettingProblem& problem : problems) {
    findings["settings_problems"].push_back(problem.source + ": " + problem.message);
  }
  findings["opencl"] = check_opencl(layer, missing, for_probes);
  findings["cuda"] = check_cuda(settings, for_probes);
  findings["hip"] = check_hip(settings, program, for_probes);
  findings["level_zero"] = check_level_zero(settings, for_probes);
  add_aside(findings, settings);
  bool hooked = findings["opencl"]["hooked"].get<bool>();
  for (const char* api : {"cuda", "hip", "level_zero"}) {
    hooked = hooked && (findings[api]["hooked"].get<bool>() || !findings[api]["tried"].get<bool>());
  }
  if (!split.command.empty()) {
    std::cout.flush();
    findings["command"] = check_command(split.command, layer, variables, as_json, seconds);
    hooked = hooked && findings["command"]["hooked"].get<bool>();
  }

  if (as_json) {
    std::cout << findings.dump(2, ' ', true, json::error_handler_t::replace) << "\n";
  } else {
    std::cout << "Refrain " REFRAIN_VERSION "\n";
    for (const json& problem : findings["settings_problems"]) print("setting", problem.get<std::string>());
    print_opencl(findings["opencl"]);
    print_aside(findings["opencl"]);
    print_preloaded(findings["cuda"]);
    print_aside(findings["cuda"]);
    print_preloaded(findings["hip"]);
    print_aside(findings["hip"]);
    print_level_zero(findings["level_zero"]);
    print_aside(findings["level_zero"]);
    if (findings.contains("command")) print_command(findings["command"]);
  }
  return hooked ? kSuccess : kFailure;
}

}  // namespace refrain::env
