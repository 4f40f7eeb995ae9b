#include "layer/process.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "capture/file_recorder.h"
#include "env/command_text.h"
#include "env/log.h"
#include "layer/start_up.h"

namespace refrain::layer {
namespace {

/// The words of this process's command line.
std::vector<std::string> command_line() {
  std::string text;
  if (std::FILE* file = std::fopen("/proc/self/cmdline", "re"); file != nullptr) {
    char part[4096];
    std::size_t bytes = 0;
    while (text.size() < sizeof(part) * 4 && (bytes = std::fread(part, 1, sizeof(part), file)) != 0) {
      text.append(part, bytes);
    }
    std::fclose(file);
  }
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    words.emplace_back(text.c_str() + at);  // up to its zero
    at += words.back().size() + 1;
  }
  return words;
}

bool find_namespace() noexcept {
  Dl_info info{};
  link_map* map = nullptr;
  Lmid_t space = LM_ID_BASE;
  return ::dladdr1(reinterpret_cast<const void*>(&find_namespace), &info, reinterpret_cast<void**>(&map),
                   RTLD_DL_LINKMAP) != 0 &&
         ::dlinfo(map, RTLD_DI_LMID, &space) == 0 && space != LM_ID_BASE;
}

}  // namespace

bool in_other_namespace(const char* api) noexcept {
  static const bool other = find_namespace();
  static std::atomic<bool> told{false};
  if (other && !told.exchange(true)) {
    static_cast<void>(start_up(api, [&] {
      if (read_settings().mode != env::Mode::kOff) {
        env::log_warning({api, ": a loader in a namespace of its own (dlmopen()) is not watched"});
      }
    }));
  }
  return other;
}

capture::Recorder* open_recorder(const env::Settings& settings) {
  if (settings.mode != env::Mode::kCapture) {
    return nullptr;
  }
  capture::FileRecorderOptions options;
  options.file = settings.capture_file;
  options.older = env::OlderFiles::of_process();
  options.mode = env::permissions(settings.file_mode);
  options.tells = settings.report;
  options.contents = settings.portable;
  options.timed_calls = settings.capture_calls;
  options.skipped_stretches = static_cast<std::uint64_t>(settings.capture_skip);
  options.length = std::chrono::seconds(settings.capture_seconds);
  options.command = env::command_text(command_line(), settings.capture_command);
  std::string error;
  std::unique_ptr<capture::Recorder> recorder = capture::open_file_recorder(options, &error);
  if (recorder == nullptr) {
    env::log_error(error + " (setting capture_file); nothing is captured");
  }
  return recorder.release();
}

}  // namespace refrain::layer
