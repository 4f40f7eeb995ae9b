#include "layer/process.h"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "capture/file_recorder.h"
#include "env/command_text.h"
#include "env/log.h"

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

}  // namespace

capture::Recorder* open_recorder(const env::Settings& settings) {
  if (settings.mode != env::Mode::kCapture) {
    return nullptr;
  }
  capture::FileRecorderOptions options;
  options.file = settings.capture_file;
  options.mode = env::permissions(settings.file_mode);
  options.contents = settings.portable;
  options.timed_calls = settings.capture_calls;
  options.skipped_stretches = static_cast<std::uint64_t>(settings.capture_skip);
  options.length = std::chrono::seconds(settings.capture_seconds);
  options.command = env::command_text(command_line(), settings.capture_command);
  std::string error;
  std::unique_ptr<capture::Recorder> recorder = capture::open_file_recorder(options, &error);
  if (recorder == nullptr) {
    env::log_error(error + "; nothing is captured");
  }
  return recorder.release();
}

}  // namespace refrain::layer
