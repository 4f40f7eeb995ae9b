#include "env/cli/doctor_checks.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "env/cli/options.h"
#include "env/cli/process.h"
#include "env/cli/program_check.h"
#include "layer/opencl/probe.h"

namespace refrain::layer::opencl {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OpenClDevice, name, type, version, driver, extensions, command_buffer,
                                   command_buffer_capabilities, mutable_dispatch, mutable_capabilities, mutable_use)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OpenClPlatform, name, vendor, version, devices, error)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OpenClDriver, file, library, error)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OpenClProbe, headers, loader, loader_name, loader_layers, error, drivers, platforms)
}  // namespace refrain::layer::opencl

namespace refrain::env {
namespace {

using nlohmann::json;

// A driver that compiles or wakes up a GPU for its first call takes a while.
constexpr int kProbeSeconds = 60;

std::string to_text(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string why_library_fails(const std::string& layer) {
  const ChildResult opened = in_child(
      [&layer]() -> std::string {
        if (::dlopen(layer.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return "opens";
        const char* const error = ::dlerror();
        return error == nullptr ? "unknown error" : error;
      },
      kProbeSeconds);
  if (!opened.failure.empty()) return "opening it " + opened.failure;
  return opened.text == "opens" ? std::string() : opened.text;
}

// Why the layer did not answer in a process that made an OpenCL call; `probe` is what is known of the
// machine.
std::string why_not_hooked(const json& probe, const std::string& layer, const std::string& call_error) {
  if (const std::string error = why_library_fails(layer); !error.empty()) {
    return "the layer can't be loaded: " + error;
  }
  if (probe.value("loader", "").empty()) return "there is no OpenCL loader (Debian: ocl-icd-libopencl1)";
  if (!probe.value("loader_layers", false)) {
    return "the loader " + probe.value("loader", "") +
           " knows no layers; ocl-icd does from 2.3, Khronos' loader from 2020.12.06 on";
  }
  if (!call_error.empty()) return call_error + "; loaders ask for layers only if there is a platform";
  return "the loader loaded the layer, but the layer did not answer; see its log (--log-level debug)";
}

}  // namespace

// "refrain layer active 0.1.0 …", or "off" where settings switch it off.
bool is_active(const std::string& line) {
  return line.starts_with("refrain layer active ");
}
bool is_off(const std::string& line) {
  return line.starts_with("refrain layer off ");
}

const char* const kSwitchedOff =
    "the layer is loaded, but switched off: by mode, by opencl, cuda, hip or level_zero, by programs, or because this "
    "is "
    "a child and children are not followed";

json check_opencl(const std::string& layer, const std::string& missing, const std::vector<Variable>& activation) {
  json result{{"api", "OpenCL"}, {"route", "OPENCL_LAYERS"}, {"layer", layer}, {"hooked", false}, {"why", ""}};
  const ChildResult probed = in_child([] { return to_text(json(layer::opencl::probe_opencl())); }, kProbeSeconds);
  result["found"] = json::parse(probed.text, nullptr, false);
  if (!probed.failure.empty() || result["found"].is_discarded()) {
    result["found"] = json(layer::opencl::OpenClProbe());
    result["found"]["error"] = "asking the OpenCL drivers " + probed.failure;
  }
  if (layer.empty()) {
    result["why"] = missing;
    return result;
  }
  const SharedDescriptor proof;
  const ChildResult touched = in_child(
      [&proof, &activation] {
        apply(activation);
        apply({{"REFRAIN_DOCTOR_FD", proof.name()}});
        return layer::opencl::touch_opencl();
      },
      kProbeSeconds);
  const std::vector<std::string> lines = proof.lines();
  if (!lines.empty() && is_active(lines.front())) {
    result["hooked"] = true;
    result["proof"] = lines.front();
  } else if (!lines.empty() && is_off(lines.front())) {
    result["why"] = kSwitchedOff;
  } else if (!touched.failure.empty()) {
    result["why"] = "a process with the layer " + touched.failure;
  } else {
    result["why"] = why_not_hooked(result["found"], layer, touched.text);
  }
  return result;
}

namespace {

// Of the child, or -1 if it had to be ended: first asked to, then killed.
int wait_for(pid_t child, unsigned seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kGrace{2};
  constexpr std::chrono::milliseconds kStep{5};
  const Clock::time_point end = Clock::now() + std::chrono::seconds(seconds);
  bool asked = false;
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(child, &status, seconds == 0 ? 0 : WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) return asked ? -1 : status;
    if (ended < 0) continue;
    if (Clock::now() > end + kGrace) {
      ::kill(child, SIGKILL);
    } else if (Clock::now() > end && !asked) {
      ::kill(child, SIGTERM);
      asked = true;
    }
    std::this_thread::sleep_for(kStep);
  }
}

// Runs the command with the dynamic linker's account of it written into `folder`. Its status, or -1: see wait_for().
int run_traced(const std::vector<std::string>& command, const std::vector<Variable>& activation,
               const std::string& proof, const std::string& folder, bool keep_output_free, unsigned seconds) {
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error(std::string("fork: ") + ::strerror(errno));
  if (child == 0) {
    apply(activation);
    apply({{"REFRAIN_DOCTOR_FD", proof},
           {"REFRAIN_ROOT_PID", std::to_string(::getpid())},
           {"LD_DEBUG", "files"},
           {"LD_DEBUG_OUTPUT", folder + "/trace"}});
    if (keep_output_free) ::dup2(STDERR_FILENO, STDOUT_FILENO);
    std::vector<std::string> words = command;
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    ::execvp(pointers[0], pointers.data());
    ::_exit(errno == ENOENT ? kNotFound : kNotExecutable);
  }
  // Ctrl-C ends the command, and the diagnosis is still printed.
  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGINT, &ignore, &before);
  const int status = wait_for(child, seconds);
  ::sigaction(SIGINT, &before, nullptr);
  return status;
}

std::string who(const ProcessTrace& trace) {
  return trace.program + " (process " + trace.process + ")";
}

// The most telling of the reasons why no process of the command has the layer.
std::string why_command_has_no_layer(const std::vector<ProcessTrace>& traces, const ProgramFile& program,
                                     const std::string& layer) {
  if (!program.obstacle.empty()) return program.obstacle;
  for (const ProcessTrace& trace : traces) {
    if (!trace.layer_found || trace.layer_ready) continue;
    const std::string error = why_library_fails(layer);
    return "the layer was found by " + who(trace) + " but not loaded" + (error.empty() ? "" : ": " + error);
  }
  for (const ProcessTrace& trace : traces) {
    if (trace.loader.empty()) continue;
    if (!layer::opencl::loader_has_layers(trace.loader)) {
      return who(trace) + " uses the OpenCL loader " + trace.loader +
             ", which knows no layers; put the system's loader first (LD_LIBRARY_PATH) or replace it";
    }
    return who(trace) + " has the OpenCL loader " + trace.loader +
           " but made no OpenCL call, or OPENCL_LAYERS was changed before the first one, or no platform was "
           "found";
  }
  for (const ProcessTrace& trace : traces) {
    if (!trace.driver.empty()) {
      return who(trace) + " opens the driver " + trace.driver + " itself, without a loader that knows layers";
    }
  }
  if (traces.empty()) return "no process of it loads libraries in the usual way (statically linked, or set-user-id)";
  return "no process of it loads an OpenCL loader (libOpenCL.so.1) or makes a CUDA or HIP call";
}

// Where the dynamic linker writes; removed with its contents.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "refrain-doctor-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error("can't create " + name + ": " + ::strerror(errno));
    }
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

json check_command(const std::vector<std::string>& command, const std::string& layer,
                   const std::vector<Variable>& activation, bool keep_output_free, unsigned seconds) {
  const ProgramFile program = check_program(command.front());
  json result{{"command", command}, {"file", program.path},  {"note", program.note}, {"hooked", false},
              {"why", ""},          {"proof", json::array()}};
  if (program.path.empty()) {
    result["why"] = program.obstacle;
    return result;
  }
  const SharedDescriptor proof;
  const TemporaryFolder folder;
  const int status = run_traced(command, activation, proof.name(), folder.path(), keep_output_free, seconds);
  result["status"] =
      status < 0 ? "it ran for " + std::to_string(seconds) + " s and was ended (--seconds)" : describe_status(status);
  bool off = false;
  for (const std::string& line : proof.lines()) {
    if (is_active(line)) result["proof"].push_back(line);
    off = off || is_off(line);
  }
  const std::vector<ProcessTrace> traces = read_traces(folder.path(), layer);
  if (result["proof"].empty() && !off) {
    // A program that closed the descriptor can't tell; the dynamic linker saw the layer all the same.
    for (const ProcessTrace& trace : traces) {
      if (trace.layer_ready) result["proof"].push_back("the dynamic linker initialised it in " + who(trace));
    }
  }
  result["hooked"] = !result["proof"].empty();
  if (!result["hooked"]) result["why"] = off ? kSwitchedOff : why_command_has_no_layer(traces, program, layer);
  return result;
}

}  // namespace refrain::env
